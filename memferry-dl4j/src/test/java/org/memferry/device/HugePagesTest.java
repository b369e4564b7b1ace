package org.memferry.device;

import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.Test;
import org.memferry.Needs;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/** Read from the system's own account of this process's memory, one entry for each mapping. */
class HugePagesTest {

    private static final Path MAPPINGS = Path.of("/proc/self/smaps");
    private static final Path SETTING = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
    private static final long LARGE = 64 << 20;

    /** The flags of the mapping that an address is in; {@code hg} is the wish for huge pages. */
    private static String flagsAt(long address) throws IOException {
        boolean within = false;
        for (String line : Files.readAllLines(MAPPINGS, StandardCharsets.US_ASCII)) {
            if (line.matches("[0-9a-f]+-[0-9a-f]+ .*")) {
                String[] ends = line.substring(0, line.indexOf(' ')).split("-");
                within = Long.compareUnsigned(Long.parseUnsignedLong(ends[0], 16), address) <= 0
                        && Long.compareUnsigned(Long.parseUnsignedLong(ends[1], 16), address) > 0;
            } else if (within && line.startsWith("VmFlags:")) {
                return line;
            }
        }
        return "";
    }

    private static void needWishes() {
        Needs.that(NativeLibrary.isLoaded(), "no native library: " + NativeLibrary.load());
        Needs.that(Files.isReadable(MAPPINGS) && Files.isReadable(SETTING), "this system has no huge pages to ask for");
    }

    @Test
    void largeBlocksAreAskedForInHugePagesAndSmallOnesAreNot() throws IOException {
        needWishes();
        NativeMemory large = NativeMemory.zeroed(LARGE, "large");
        NativeMemory small = NativeMemory.zeroed(4 << 20, "small");
        assertThat(flagsAt(large.address() + LARGE / 2)).contains(" hg");
        assertThat(flagsAt(small.address() + (2 << 20))).contains("VmFlags").doesNotContain(" hg");
        large.free();
        small.free();
    }

    @Test
    void onlyWholeHugePagesWithinABlockAreAskedFor() throws IOException {
        needWishes();
        // Any block will do that is a mapping of its own and has not been asked for.
        Pointer block = Pointer.calloc(1, LARGE);
        long first = block.address() + HugePages.BYTES & -HugePages.BYTES;
        HugePages.ask(first + 1, 2 * HugePages.BYTES);
        assertThat(flagsAt(first)).doesNotContain(" hg");
        assertThat(flagsAt(first + HugePages.BYTES)).contains(" hg");
        assertThat(flagsAt(first + 2 * HugePages.BYTES)).doesNotContain(" hg");
        Pointer.free(block);
    }

    @Test
    void blocksShorterThanAHugePageAreLeftAlone() {
        for (long bytes : List.of(0L, 1L, HugePages.BYTES - 1)) {
            HugePages.ask(HugePages.BYTES + 1, bytes);
        }
    }

    @Test
    void aWishThatTheSystemDoesNotKnowIsAnsweredAndThrowsNothing() {
        Needs.that(NativeLibrary.isLoaded(), "no native library: " + NativeLibrary.load());
        assertThat(HugePages.advise(0, 0)).isZero();
        assertThat(HugePages.advise(1, 4096)).as("an address that is no page's").isNotZero();
    }

    @Test
    void askingTouchesNothing() {
        long before = Pointer.physicalBytes();
        NativeMemory memory = NativeMemory.zeroed(4L << 30, "lazy");
        Pointer.memset(new Address().at(memory.address() + (1L << 30)), 1, 1);
        long grown = Pointer.physicalBytes() - before;
        memory.free();
        assertThat(grown).isLessThan(64 << 20);
    }
}
