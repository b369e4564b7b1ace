package org.memferry.cases;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.deeplearning4j.nn.api.Model;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.Chromium;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.Needs;
import org.memferry.device.Device;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Span;
import org.memferry.plan.Strategy;
import org.memferry.plan.Timeline;
import org.nd4j.linalg.learning.config.Adam;

import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;

/** Recorded iterations, and the pictures made of them. */
class TimelineTest {

    private static final int RECORDED = 3;
    /** Below this row of the picture there are charts: the legend is above. */
    private static final int CHARTS = 330;
    /** Colours of the page's style sheet, light and dark. */
    private static final int[] FORWARD = {0x2f6fc0, 0x7fb2f5};
    private static final int[] BACKWARD = {0xc8641b, 0xf0a05c};
    private static final int[] TO_DEVICE = {0x0b8577, 0x5fcabb};
    private static final int[] TO_HOST = {0x8b4fb8, 0xcf9df2};

    @TempDir
    private Path directory;

    @ParameterizedTest
    @EnumSource(Setup.class)
    void aTimelineHoldsEveryVisitCopyAndStepOfItsIterationAndTrainingIsTheSame(Setup setup) {
        Model stock = Nets.Kind.GRAPH.create(new Adam(1e-2));
        Model net = Nets.Kind.GRAPH.create(new Adam(1e-2));
        Nets.train(stock, 0, RECORDED + 4);
        try (Device device = setup.open(); MemFerry ferry = MemFerry.attach(net, setup.config(device))) {
            Nets.train(net, 0, 2);
            assertThat(ferry.timelines()).isEmpty();
            ferry.recordTimeline(RECORDED);
            Nets.train(net, 2, RECORDED + 2);
            Numbers.assertSame(stock, net, "the recorded network");
            assertThat(ferry.timelines()).hasSize(RECORDED);
            ferry.timelines().forEach(t -> check(t, ferry.plan().network(), setup));
            checkCopiesToDevice(ferry.timelines(), ferry.plan().network(), setup);
        }
    }

    private static void check(Timeline t, NetworkDescription network, Setup setup) {
        List<Integer> visited = new ArrayList<>();
        for (int layer : network.forwardOrder()) {
            visited.add(layer);
        }
        for (int layer : network.backwardOrder()) {
            visited.add(layer);
        }
        List<Span> visits = of(t, Span.Kind.FORWARD, Span.Kind.BACKWARD);
        assertThat(visits).map(Span::layer).isEqualTo(visited);
        for (int i = 1; i < visits.size(); i++) {
            assertThat(visits.get(i).startNanos()).isGreaterThanOrEqualTo(visits.get(i - 1).endNanos());
        }
        assertThat(t.spans()).allSatisfy(span -> {
            assertThat(span.endNanos()).isBetween(Math.max(1, span.startNanos()), t.nanos());
            assertThat(span.waitedNanos()).isBetween(0L, span.nanos());
        });
        assertThat(t.dropped()).isZero();
        assertThat(of(t, Span.Kind.UPDATE)).isNotEmpty();
        boolean slots = setup != Setup.HOST;
        List<Integer> gradients = of(t, Span.Kind.TO_HOST).stream().map(Span::layer).sorted().collect(Collectors.toList());
        // MIXED writes the last layer's in place.
        assertThat(gradients).isEqualTo(!slots ? List.of() : setup == Setup.MIXED ? List.of(0, 1, 2) : List.of(0, 1, 2, 3));
        assertThat(of(t, Span.Kind.TO_HOST)).allSatisfy(
                copy -> assertThat(copy.bytes()).isEqualTo(network.layers().get(copy.layer()).gradientBytes()));
    }

    /**
     * A copy counts where it ends, which may be before or after the next iteration opens: one iteration may have the copies of two, or none.
     * But between a layer's backward visit and its next forward one its parameters came to the device.
     */
    private static void checkCopiesToDevice(List<Timeline> timelines, NetworkDescription network, Setup setup) {
        long opened = 0;
        List<long[]> copies = new ArrayList<>();
        long[] readUntil = new long[network.layers().size()];
        for (int i = 0; i < timelines.size(); i++) {
            Timeline t = timelines.get(i);
            for (Span copy : of(t, Span.Kind.TO_DEVICE)) {
                assertThat(copy.bytes()).isEqualTo(network.layers().get(copy.layer()).parameterBytes());
                copies.add(new long[] {copy.layer(), opened + copy.startNanos(), opened + copy.endNanos()});
            }
            for (Span visit : of(t, Span.Kind.FORWARD, Span.Kind.BACKWARD)) {
                long from = readUntil[visit.layer()];
                long until = opened + visit.endNanos();
                if (visit.kind() == Span.Kind.FORWARD && i > 0) {
                    assertThat(copies.stream().anyMatch(c -> c[0] == visit.layer() && c[1] >= from && c[2] <= until))
                            .as("a copy of layer %d for iteration %d", visit.layer(), i).isEqualTo(setup != Setup.HOST);
                }
                readUntil[visit.layer()] = until;
            }
            opened += t.nanos();
        }
        assertThat(copies.isEmpty()).isEqualTo(setup == Setup.HOST);
    }

    private static List<Span> of(Timeline t, Span.Kind... kinds) {
        return t.spans().stream().filter(span -> List.of(kinds).contains(span.kind())).collect(Collectors.toList());
    }

    @Test
    void recordingEndsByItselfAndBeginsAnewWhenAskedAgain() {
        Model net = Nets.Kind.LAYERS.create(new Adam(1e-2));
        try (MemFerry ferry = MemFerry.attach(net, Setup.PREFETCH.config())) {
            ferry.recordTimeline(1);
            Nets.train(net, 0, 6);
            List<Timeline> first = ferry.timelines();
            assertThat(first).hasSize(1);
            Nets.train(net, 6, 3);
            assertThat(ferry.timelines()).hasSize(1);
            assertThat(ferry.timelines().get(0).spans()).isEqualTo(first.get(0).spans());
            ferry.recordTimeline(2);
            Nets.train(net, 9, 1);
            // The last iteration so far ends where it was closed.
            assertThat(ferry.timelines()).hasSize(1);
            Nets.train(net, 10, 4);
            assertThat(ferry.timelines()).hasSize(2);
        }
    }

    @Test
    void theTraceIsOneThatChromeAndPerfettoOpen() throws IOException {
        JsonNode events = new ObjectMapper().readTree(picture(true)).get("traceEvents");
        List<String> phases = new ArrayList<>();
        events.forEach(event -> {
            phases.add(event.get("ph").asText());
            assertThat(event.has("name") && event.has("pid")).isTrue();
            if (event.get("ph").asText().equals("X")) {
                assertThat(event.get("dur").asDouble()).isNotNegative();
                assertThat(event.get("ts").isNumber() && event.get("tid").isInt()).isTrue();
            }
        });
        assertThat(phases).contains("X", "M", "C").doesNotContain("B", "E");
        List<String> processes = new ArrayList<>();
        events.forEach(event -> {
            if (event.get("name").asText().equals("process_name")) {
                processes.add(event.get("args").get("name").asText());
            }
        });
        assertThat(processes).containsExactly("predicted", "measured");
    }

    @Test
    void thePageNeedsNothingBesideItAndIsDrawnInLightAndDarkWithoutErrors() throws Exception {
        String page = picture(false);
        assertThat(page).contains("predicted: ", "measured: ", "budget 1.00 MB", "<td>Dense").doesNotContain("http://", "https://", "src=", "@import");
        Needs.that(Chromium.isThere(), "no chromium on the path");
        for (int scheme = 0; scheme < 2; scheme++) {
            Chromium.Screen screen = Chromium.open(page, directory.resolve("screen" + scheme + ".png"), scheme == 1);
            assertThat(screen.consoleLines()).isEmpty();
            BufferedImage image = screen.image();
            assertThat(Chromium.brightness(image, 2, 2)).as("the ground").isBetween(scheme == 1 ? 0 : 200, scheme == 1 ? 60 : 255);
            for (int[] colour : List.of(FORWARD, BACKWARD, TO_DEVICE, TO_HOST)) {
                assertThat(Chromium.count(image, colour[scheme], CHARTS)).as("pixels of colour %06x", colour[scheme]).isGreaterThan(40);
            }
            assertThat(Chromium.count(image, FORWARD[1 - scheme], 0)).as("pixels of the other scheme").isZero();
        }
    }

    @Test
    void thePageAnswersToKeys() throws Exception {
        Needs.that(Chromium.isThere(), "no chromium on the path");
        String script = "<script>window.addEventListener('load', () => {"
                + "const press = key => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));"
                + "const seen = []; const note = () => seen.push(document.getElementById('detail').textContent);"
                + "document.querySelector('.bar[tabindex=\"0\"]').focus(); note();"
                + "for (const key of ['ArrowRight', 'ArrowLeft', 'End', 'Home', 'ArrowDown', 'ArrowUp']) { press(key); note(); }"
                + "press('+'); seen.push('zoom ' + getComputedStyle(document.getElementById('gantt')).getPropertyValue('--zoom'));"
                + "document.body.setAttribute('data-seen', seen.join('|')); });</script>";
        String dom = Chromium.dom(picture(false).replace("</body>", script + "</body>"), directory);
        String[] seen = dom.replaceAll("(?s).*data-seen=\"([^\"]*)\".*", "$1").split("\\|");
        assertThat(seen).hasSize(8);
        assertThat(seen[0]).startsWith("predicted, compute: layer 0, forward");
        assertThat(seen[1]).startsWith("predicted, compute: layer 1, forward");
        assertThat(seen[2]).isEqualTo(seen[0]);
        assertThat(seen[3]).startsWith("predicted, compute: layer 0, backward");
        assertThat(seen[4]).isEqualTo(seen[0]);
        assertThat(seen[5]).startsWith("predicted, to device: ");
        assertThat(seen[6]).startsWith("predicted, compute: ");
        assertThat(seen[7]).isEqualTo("zoom 2");
    }

    /** An iteration with everything in it, on a link that is slow enough for it to be seen. */
    private static String picture(boolean trace) {
        Model net = Nets.Kind.LAYERS.create(new Adam(1e-2));
        MemFerryConfig config = MemFerryConfig.builder().device("emulated:1MB,h2d=0.0005,d2h=0.0005").strategy(Strategy.STREAM).build();
        try (MemFerry ferry = MemFerry.attach(net, config)) {
            for (int i = 0; i < 30 && ferry.profile() == null; i++) {
                Nets.train(net, i, 1);
            }
            ferry.recordTimeline(1);
            Nets.train(net, 50, 2);
            Timeline timeline = ferry.timelines().get(0);
            return trace ? ferry.timelineTrace(timeline) : ferry.timelinePage(timeline);
        }
    }
}
