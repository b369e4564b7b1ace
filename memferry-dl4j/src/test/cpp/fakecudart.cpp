// A CUDA runtime without a GPU, so that the class that drives one runs where there is none. Streams are threads, device memory is host memory.
// It is stricter than a card: whatever is undefined there (a copy of freed memory, a wrong direction, a stream that was destroyed, an order that
// only luck enforces) is reported here. It holds the functions that MemFerry calls and a few beside them; calling another one ends the process,
// as the dynamic linker then does not find it.
//
// Order is checked when work is submitted, by vector clocks: component 0 is the host (its threads are ordered by Java's locks, which cannot be
// seen from here, so that all of them count as one), and each stream has one. Every copy, fill and announced access of the host must be ordered
// behind each earlier one that touches the same bytes, unless both read. So a missing wait is found whatever the threads' pace happens to be.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <jni.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using Address = uintptr_t;
using Handle = uintptr_t;
using Clock = std::vector<uint64_t>;
using Time = std::chrono::steady_clock::time_point;

enum Code {
    SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DIRECTION = 21, INSUFFICIENT_DRIVER = 35, NO_DEVICE = 100, INVALID_DEVICE = 101,
    INVALID_HANDLE = 400, NOT_READY = 600, ALREADY_REGISTERED = 712, NOT_REGISTERED = 713
};

enum Kind { HOST_TO_HOST = 0, TO_DEVICE = 1, TO_HOST = 2, DEVICE_TO_DEVICE = 3, BY_ADDRESS = 4 };

const int HOST = 0;
const unsigned NON_BLOCKING = 1;
const unsigned NO_TIMING = 2;
const size_t QUARANTINED_BLOCKS = 64;
const size_t MAX_REPORTS = 50;

struct Access {
    Address from;
    Address to;
    bool write;
    int component;
    uint64_t at;
    std::string what;
};

enum class Memory { DEVICE, PINNED, REGISTERED, FREED, PAGEABLE };

struct Block {
    Memory memory;
    Address from;
    Address to;
    size_t mapped;
    int underWay = 0;
    std::vector<Access> accesses;
};

// What an event stands for: a point in a stream.
struct Record {
    bool done = false;
    Clock clock;
    Time at;
};

struct Event {
    bool timed;
    std::shared_ptr<Record> last;
};

struct Work {
    std::function<void()> run;
    std::shared_ptr<Record> wait;
    std::shared_ptr<Record> record;
    // Copies are delayed, throttled and held by direction: 0 to the device, 1 to the host, 2 within the device; -1 for other work.
    int direction = -1;
    size_t bytes = 0;
    std::vector<Address> blocks;
};

struct Stream {
    int component;
    bool blocking;
    Clock clock;
    std::deque<Work> queue;
    uint64_t submitted = 0;
    uint64_t completed = 0;
    bool stopping = false;
    std::thread thread;
};

struct Fault {
    int index = 0;
    int code = 0;
    bool every = false;
};

struct Settings {
    size_t deviceLimit = size_t(8) << 30;
    size_t pinnedLimit = size_t(64) << 30;
    size_t registeredLimit = size_t(64) << 30;
    double rate[3] = {0, 0, 0};
    int64_t maxDelayMicros = 0;
    bool held[3] = {false, false, false};
    // Device memory as a card has it: the host cannot touch it. Copies cannot either, in this process.
    bool outOfReach = false;
    int devices = 1;
    int runtimeVersion = RUNTIME_VERSION;
    int driverVersion = RUNTIME_VERSION;
    std::map<int, int> attributes;
    std::map<std::string, Fault> faults;
};

// Never destroyed: a stream that a failed test left behind must not hold up the end of the process.
std::mutex& lock = *new std::mutex;
std::condition_variable& changed = *new std::condition_variable;
std::map<Address, Block>& blocks = *new std::map<Address, Block>;
std::map<Handle, std::shared_ptr<Stream>>& streams = *new std::map<Handle, std::shared_ptr<Stream>>;
std::map<Handle, Event>& events = *new std::map<Handle, Event>;
Settings& settings = *new Settings;
std::mt19937_64 randomness;
Time linkFree[3];

std::deque<Address> quarantine;
Block pageable{Memory::PAGEABLE, 0, UINTPTR_MAX, 0, 0, {}};
std::vector<int> freeComponents;
int components = 1;
Handle nextHandle = 0x10000;
Clock host(1, 0);

std::map<std::string, int> calls;
int faultsHit = 0;
std::vector<std::string> reports;
size_t inUse[3] = {0, 0, 0};
thread_local int lastError = SUCCESS;
thread_local int currentDevice = 0;

using Guard = std::unique_lock<std::mutex>;

void report(const std::string& text) {
    if (reports.size() < MAX_REPORTS) {
        reports.push_back(text);
    }
}

int keep(int code) {
    if (code != SUCCESS) {
        lastError = code;
    }
    return code;
}

// Counts a call; returns the error that it is to fail with, or success.
int entered(const char* name) {
    int index = ++calls[name];
    auto found = settings.faults.find(name);
    if (found == settings.faults.end()) {
        return SUCCESS;
    }
    bool hit = found->second.every ? index >= found->second.index : index == found->second.index;
    faultsHit += hit;
    return hit ? keep(found->second.code) : SUCCESS;
}

#define ENTER(name) \
    Guard guard(lock); \
    if (int injected = entered(name)) { \
        return injected; \
    }

int misuse(int code, const std::string& text) {
    report(text);
    return keep(code);
}

std::string hex(Address address) {
    std::ostringstream text;
    text << "0x" << std::hex << address;
    return text.str();
}

// ------------------------------------------------------------------------------------------------------------------------ order

void join(Clock& clock, const Clock& other) {
    if (clock.size() < other.size()) {
        clock.resize(other.size(), 0);
    }
    for (size_t i = 0; i < other.size(); i++) {
        clock[i] = std::max(clock[i], other[i]);
    }
}

uint64_t& at(Clock& clock, int component) {
    if (clock.size() <= size_t(component)) {
        clock.resize(component + 1, 0);
    }
    return clock[component];
}

Block* blockOf(Address address) {
    auto next = blocks.upper_bound(address);
    if (next == blocks.begin()) {
        return nullptr;
    }
    Block& block = std::prev(next)->second;
    return address < block.to ? &block : nullptr;
}

Block& blockOrPageable(Address address) {
    Block* block = blockOf(address);
    return block == nullptr ? pageable : *block;
}

// Checks an access against all before it and keeps it. The clock's own component has been advanced for it.
void touch(Address from, size_t bytes, bool write, int component, Clock& clock, const std::string& what) {
    if (bytes == 0) {
        return;
    }
    Address to = from + bytes;
    std::vector<Access>& before = blockOrPageable(from).accesses;
    for (const Access& a : before) {
        if (a.from < to && from < a.to && (write || a.write) && a.at > at(clock, a.component)) {
            report("order: " + what + " of " + std::to_string(bytes) + " bytes at " + hex(from) + " is not ordered behind " + a.what + " of "
                    + std::to_string(a.to - a.from) + " bytes at " + hex(a.from));
            break;
        }
    }
    // What this access covers need not be kept: whoever is ordered behind this one is ordered behind that one too.
    before.erase(std::remove_if(before.begin(), before.end(), [&](const Access& a) {
        return from <= a.from && a.to <= to && (write || !a.write) && a.at <= at(clock, a.component);
    }), before.end());
    before.push_back({from, to, write, component, clock[component], what});
}

void hostTouches(const void* from, size_t bytes, bool write, const std::string& what) {
    at(host, HOST)++;
    touch(Address(from), bytes, write, HOST, host, what);
}

// -------------------------------------------------------------------------------------------------------------------- streams

void occupyLink(Guard& guard, const Work& work) {
    int direction = work.direction;
    if (settings.maxDelayMicros > 0) {
        auto delay = std::chrono::microseconds(randomness() % (settings.maxDelayMicros + 1));
        guard.unlock();
        std::this_thread::sleep_for(delay);
        guard.lock();
    }
    changed.wait(guard, [&] { return !settings.held[direction]; });
    if (settings.rate[direction] > 0) {
        Time start = std::max(linkFree[direction], std::chrono::steady_clock::now());
        Time end = start + std::chrono::nanoseconds(int64_t(work.bytes / settings.rate[direction] * 1e9));
        linkFree[direction] = end;
        guard.unlock();
        std::this_thread::sleep_until(end);
        guard.lock();
    }
}

void serve(std::shared_ptr<Stream> stream) {
    Guard guard(lock);
    while (true) {
        changed.wait(guard, [&] { return stream->stopping || !stream->queue.empty(); });
        if (stream->queue.empty()) {
            return;
        }
        Work work = std::move(stream->queue.front());
        stream->queue.pop_front();
        if (work.wait) {
            changed.wait(guard, [&] { return work.wait->done; });
        }
        if (work.direction >= 0) {
            occupyLink(guard, work);
        }
        if (work.run) {
            guard.unlock();
            work.run();
            guard.lock();
        }
        if (work.record) {
            work.record->done = true;
            work.record->at = std::chrono::steady_clock::now();
        }
        for (Address block : work.blocks) {
            blocks.at(block).underWay--;
        }
        stream->completed++;
        changed.notify_all();
    }
}

Stream* streamOf(void* handle) {
    auto found = streams.find(Handle(handle));
    return found == streams.end() ? nullptr : found->second.get();
}

void submit(Stream& stream, Work work) {
    stream.queue.push_back(std::move(work));
    stream.submitted++;
    changed.notify_all();
}

// The next piece of a stream's work is submitted by the host.
void advance(Stream& stream) {
    at(host, HOST)++;
    join(stream.clock, host);
    at(stream.clock, stream.component)++;
}

void drain(Guard& guard, Stream& stream) {
    uint64_t last = stream.submitted;
    changed.wait(guard, [&] { return stream.completed >= last; });
    join(host, stream.clock);
}

// Work of the null stream runs after all that streams made without the non-blocking flag hold, and at once.
void awaitBlockingStreams(Guard& guard) {
    std::vector<std::shared_ptr<Stream>> present;
    for (auto& entry : streams) {
        if (entry.second->blocking) {
            present.push_back(entry.second);
        }
    }
    for (auto& stream : present) {
        drain(guard, *stream);
    }
}

int createStream(void** handle, bool blocking) {
    auto stream = std::make_shared<Stream>();
    if (freeComponents.empty()) {
        stream->component = components++;
    } else {
        stream->component = freeComponents.back();
        freeComponents.pop_back();
    }
    stream->blocking = blocking;
    // A component that was used before goes on counting where it was.
    join(stream->clock, host);
    Handle made = nextHandle += 16;
    streams[made] = stream;
    stream->thread = std::thread(serve, stream);
    *handle = reinterpret_cast<void*>(made);
    return SUCCESS;
}

// --------------------------------------------------------------------------------------------------------------------- memory

size_t& inUseOf(Memory memory) {
    return inUse[int(memory)];
}

int allocate(void** pointer, size_t bytes, Memory memory, size_t limit) {
    if (pointer == nullptr) {
        return keep(INVALID_VALUE);
    }
    if (bytes == 0) {
        *pointer = nullptr;
        return SUCCESS;
    }
    size_t page = sysconf(_SC_PAGESIZE);
    size_t mapped = (bytes + page - 1) / page * page;
    if (bytes > limit || inUseOf(memory) + bytes > limit) {
        return keep(OUT_OF_MEMORY);
    }
    bool hidden = memory == Memory::DEVICE && settings.outOfReach;
    void* made = mmap(nullptr, mapped, hidden ? PROT_NONE : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) {
        return keep(OUT_OF_MEMORY);
    }
    if (!hidden) {
        // Neither kind of memory is zero on a card.
        memset(made, 0xAB, bytes);
    }
    inUseOf(memory) += bytes;
    blocks[Address(made)] = Block{memory, Address(made), Address(made) + bytes, mapped, 0, {}};
    *pointer = made;
    return SUCCESS;
}

void awaitUnused(Guard& guard, Block& block, const std::string& call) {
    if (block.underWay > 0) {
        report(call + ": " + hex(block.from) + " is given back while work that uses it is under way");
        Address from = block.from;
        changed.wait(guard, [&] { return blocks.at(from).underWay == 0; });
    }
    at(host, HOST)++;
    touch(block.from, block.to - block.from, true, HOST, host, call);
}

int release(Guard& guard, void* pointer, Memory memory, const std::string& call) {
    if (pointer == nullptr) {
        return SUCCESS;
    }
    auto found = blocks.find(Address(pointer));
    if (found == blocks.end() || found->second.memory != memory) {
        bool again = found != blocks.end() && found->second.memory == Memory::FREED;
        return misuse(INVALID_VALUE, call + ": " + hex(Address(pointer)) + (again ? " was given back before" : " was not taken so"));
    }
    awaitUnused(guard, found->second, call);
    Block& block = blocks.at(Address(pointer));
    inUseOf(memory) -= block.to - block.from;
    block.memory = Memory::FREED;
    block.accesses.clear();
    // For a while nobody gets these addresses again, and whoever still uses them crashes, as he would on a card.
    mmap(pointer, block.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    quarantine.push_back(block.from);
    if (quarantine.size() > QUARANTINED_BLOCKS) {
        Block& oldest = blocks.at(quarantine.front());
        munmap(reinterpret_cast<void*>(oldest.from), oldest.mapped);
        blocks.erase(quarantine.front());
        quarantine.pop_front();
    }
    return SUCCESS;
}

bool isDevice(const Block& block) {
    return block.memory == Memory::DEVICE;
}

// Returns null and reports if the part cannot be used.
Block* part(const void* pointer, size_t bytes, const std::string& call) {
    Address from = Address(pointer);
    Block& block = blockOrPageable(from);
    if (block.memory == Memory::FREED) {
        report(call + ": use after free of " + std::to_string(bytes) + " bytes at " + hex(from));
        return nullptr;
    }
    if (bytes > block.to - from) {
        report(call + ": " + std::to_string(bytes) + " bytes at " + hex(from) + " reach beyond what was taken at " + hex(block.from));
        return nullptr;
    }
    return &block;
}

bool fits(const Block& target, const Block& source, int kind) {
    switch (kind) {
        case HOST_TO_HOST:
            return !isDevice(target) && !isDevice(source);
        case TO_DEVICE:
            return isDevice(target) && !isDevice(source);
        case TO_HOST:
            return !isDevice(target) && isDevice(source);
        case DEVICE_TO_DEVICE:
            return isDevice(target) && isDevice(source);
        default:
            return kind == BY_ADDRESS;
    }
}

void use(Work& work, Block* block) {
    if (block->memory != Memory::PAGEABLE) {
        block->underWay++;
        work.blocks.push_back(block->from);
    }
}

int copy(Guard& guard, void* target, const void* source, size_t bytes, int kind, void* handle, const std::string& call, bool synchronous) {
    if (bytes == 0) {
        return SUCCESS;
    }
    Block* to = part(target, bytes, call);
    Block* from = part(source, bytes, call);
    if (to == nullptr || from == nullptr) {
        return keep(INVALID_VALUE);
    }
    if (!fits(*to, *from, kind)) {
        return misuse(INVALID_DIRECTION, call + ": kind " + std::to_string(kind) + " does not fit the memory of target and source");
    }
    if (synchronous) {
        awaitBlockingStreams(guard);
        hostTouches(source, bytes, false, call + " reading");
        hostTouches(target, bytes, true, call + " writing");
        memmove(target, source, bytes);
        return SUCCESS;
    }
    Stream* stream = streamOf(handle);
    if (stream == nullptr) {
        return misuse(INVALID_HANDLE, call + ": there is no stream " + hex(Address(handle)));
    }
    advance(*stream);
    int way = !isDevice(*to) ? 1 : isDevice(*from) ? 2 : 0;
    std::string direction = way == 0 ? "a copy to the device" : way == 1 ? "a copy to the host" : "a copy within the device";
    touch(Address(source), bytes, false, stream->component, stream->clock, direction + " (reading)");
    touch(Address(target), bytes, true, stream->component, stream->clock, direction + " (writing)");
    Work work;
    work.direction = way;
    work.bytes = bytes;
    work.run = [=] { memmove(target, source, bytes); };
    use(work, to);
    use(work, from);
    bool staged = to->memory == Memory::PAGEABLE || from->memory == Memory::PAGEABLE;
    submit(*stream, std::move(work));
    if (staged) {
        drain(guard, *stream);
    }
    return SUCCESS;
}

int fill(Guard& guard, void* target, int value, size_t bytes, void* handle, const std::string& call) {
    if (bytes == 0) {
        return SUCCESS;
    }
    Block* to = part(target, bytes, call);
    if (to == nullptr) {
        return keep(INVALID_VALUE);
    }
    if (handle == nullptr) {
        awaitBlockingStreams(guard);
        hostTouches(target, bytes, true, "a fill by the host");
        memset(target, value, bytes);
        return SUCCESS;
    }
    Stream* stream = streamOf(handle);
    if (stream == nullptr) {
        return misuse(INVALID_HANDLE, call + ": there is no stream " + hex(Address(handle)));
    }
    advance(*stream);
    touch(Address(target), bytes, true, stream->component, stream->clock, "a fill by a stream");
    Work work;
    work.run = [=] { memset(target, value, bytes); };
    use(work, to);
    submit(*stream, std::move(work));
    return SUCCESS;
}

int deviceAttribute(int attribute) {
    auto found = settings.attributes.find(attribute);
    if (found != settings.attributes.end()) {
        return found->second;
    }
    switch (attribute) {
        case 10: return 32;    // warpSize
        case 16: return 1;     // multiProcessorCount
        case 19: return 1;     // canMapHostMemory
        case 40: return 2;     // asyncEngineCount
        case 41: return 1;     // unifiedAddressing
        case 75: return 8;     // computeCapabilityMajor
        case 76: return 6;     // computeCapabilityMinor
        case 91: return 1;     // canUseHostPointerForRegisteredMem
        case 99: return 1;     // hostRegisterSupported
        default: return 0;
    }
}

const char* errorName(int code) {
    switch (code) {
        case SUCCESS: return "cudaSuccess";
        case INVALID_VALUE: return "cudaErrorInvalidValue";
        case OUT_OF_MEMORY: return "cudaErrorMemoryAllocation";
        case INVALID_DIRECTION: return "cudaErrorInvalidMemcpyDirection";
        case INSUFFICIENT_DRIVER: return "cudaErrorInsufficientDriver";
        case NO_DEVICE: return "cudaErrorNoDevice";
        case INVALID_DEVICE: return "cudaErrorInvalidDevice";
        case INVALID_HANDLE: return "cudaErrorInvalidResourceHandle";
        case NOT_READY: return "cudaErrorNotReady";
        case 700: return "cudaErrorIllegalAddress";
        case ALREADY_REGISTERED: return "cudaErrorHostMemoryAlreadyRegistered";
        case NOT_REGISTERED: return "cudaErrorHostMemoryNotRegistered";
        case 801: return "cudaErrorNotSupported";
        case 999: return "cudaErrorUnknown";
        default: return "unrecognized error code";
    }
}

}  // namespace

// ------------------------------------------------------------------------------------------------------------- the CUDA runtime

extern "C" {

int cudaGetLastError() {
    int code = lastError;
    lastError = SUCCESS;
    return code;
}

int cudaPeekAtLastError() {
    return lastError;
}

const char* cudaGetErrorName(int code) {
    return errorName(code);
}

const char* cudaGetErrorString(int code) {
    return errorName(code);
}

int cudaRuntimeGetVersion(int* version) {
    ENTER("cudaRuntimeGetVersion");
    *version = settings.runtimeVersion;
    return SUCCESS;
}

int cudaDriverGetVersion(int* version) {
    ENTER("cudaDriverGetVersion");
    *version = settings.driverVersion;
    return SUCCESS;
}

int cudaGetDeviceCount(int* count) {
    ENTER("cudaGetDeviceCount");
    // Within one major version a driver serves later runtimes too.
    if (settings.driverVersion / 1000 < settings.runtimeVersion / 1000) {
        return keep(INSUFFICIENT_DRIVER);
    }
    if (settings.devices == 0) {
        return keep(NO_DEVICE);
    }
    *count = settings.devices;
    return SUCCESS;
}

int cudaSetDevice(int device) {
    ENTER("cudaSetDevice");
    if (device < 0 || device >= settings.devices) {
        return keep(INVALID_DEVICE);
    }
    currentDevice = device;
    return SUCCESS;
}

int cudaGetDevice(int* device) {
    ENTER("cudaGetDevice");
    *device = currentDevice;
    return SUCCESS;
}

int cudaDeviceGetAttribute(int* value, int attribute, int device) {
    ENTER("cudaDeviceGetAttribute");
    if (device < 0 || device >= settings.devices) {
        return keep(INVALID_DEVICE);
    }
    *value = deviceAttribute(attribute);
    return SUCCESS;
}

int cudaMemGetInfo(size_t* free, size_t* total) {
    ENTER("cudaMemGetInfo");
    *total = settings.deviceLimit;
    *free = settings.deviceLimit - inUseOf(Memory::DEVICE);
    return SUCCESS;
}

int cudaMalloc(void** pointer, size_t bytes) {
    ENTER("cudaMalloc");
    return allocate(pointer, bytes, Memory::DEVICE, settings.deviceLimit);
}

int cudaFree(void* pointer) {
    ENTER("cudaFree");
    return release(guard, pointer, Memory::DEVICE, "cudaFree");
}

int cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
    ENTER("cudaHostAlloc");
    return allocate(pointer, bytes, Memory::PINNED, settings.pinnedLimit);
}

int cudaMallocHost(void** pointer, size_t bytes) {
    ENTER("cudaMallocHost");
    return allocate(pointer, bytes, Memory::PINNED, settings.pinnedLimit);
}

int cudaFreeHost(void* pointer) {
    ENTER("cudaFreeHost");
    return release(guard, pointer, Memory::PINNED, "cudaFreeHost");
}

int cudaHostRegister(void* pointer, size_t bytes, unsigned) {
    ENTER("cudaHostRegister");
    if (pointer == nullptr || bytes == 0) {
        return keep(INVALID_VALUE);
    }
    Block* present = blockOf(Address(pointer));
    if (present != nullptr && present->memory != Memory::FREED) {
        return keep(ALREADY_REGISTERED);
    }
    if (inUseOf(Memory::REGISTERED) + bytes > settings.registeredLimit) {
        return keep(OUT_OF_MEMORY);
    }
    inUseOf(Memory::REGISTERED) += bytes;
    blocks[Address(pointer)] = Block{Memory::REGISTERED, Address(pointer), Address(pointer) + bytes, 0, 0, {}};
    return SUCCESS;
}

int cudaHostUnregister(void* pointer) {
    ENTER("cudaHostUnregister");
    auto found = blocks.find(Address(pointer));
    if (found == blocks.end() || found->second.memory != Memory::REGISTERED) {
        return misuse(NOT_REGISTERED, "cudaHostUnregister: " + hex(Address(pointer)) + " is not registered");
    }
    awaitUnused(guard, found->second, "cudaHostUnregister");
    Block& block = blocks.at(Address(pointer));
    inUseOf(Memory::REGISTERED) -= block.to - block.from;
    blocks.erase(Address(pointer));
    return SUCCESS;
}

int cudaHostGetDevicePointer(void** pointer, void* pinned, unsigned) {
    ENTER("cudaHostGetDevicePointer");
    Block* block = blockOf(Address(pinned));
    if (block == nullptr || (block->memory != Memory::PINNED && block->memory != Memory::REGISTERED)) {
        return keep(INVALID_VALUE);
    }
    *pointer = pinned;
    return SUCCESS;
}

int cudaStreamCreate(void** stream) {
    ENTER("cudaStreamCreate");
    return createStream(stream, true);
}

int cudaStreamCreateWithFlags(void** stream, unsigned flags) {
    ENTER("cudaStreamCreateWithFlags");
    return createStream(stream, (flags & NON_BLOCKING) == 0);
}

int cudaStreamDestroy(void* handle) {
    ENTER("cudaStreamDestroy");
    auto found = streams.find(Handle(handle));
    if (found == streams.end()) {
        return misuse(INVALID_HANDLE, "cudaStreamDestroy: there is no stream " + hex(Address(handle)));
    }
    std::shared_ptr<Stream> stream = found->second;
    streams.erase(found);
    // As on a card: what was submitted is still done.
    stream->stopping = true;
    changed.notify_all();
    guard.unlock();
    stream->thread.join();
    guard.lock();
    freeComponents.push_back(stream->component);
    // Whoever gets the component next must not seem to be behind what this stream did.
    at(host, HOST)++;
    join(host, stream->clock);
    return SUCCESS;
}

int cudaStreamSynchronize(void* handle) {
    ENTER("cudaStreamSynchronize");
    if (handle == nullptr) {
        awaitBlockingStreams(guard);
        return SUCCESS;
    }
    Stream* stream = streamOf(handle);
    if (stream == nullptr) {
        return misuse(INVALID_HANDLE, "cudaStreamSynchronize: there is no stream " + hex(Address(handle)));
    }
    drain(guard, *stream);
    return SUCCESS;
}

int cudaStreamQuery(void* handle) {
    ENTER("cudaStreamQuery");
    Stream* stream = streamOf(handle);
    if (stream == nullptr) {
        return misuse(INVALID_HANDLE, "cudaStreamQuery: there is no stream " + hex(Address(handle)));
    }
    if (stream->completed < stream->submitted) {
        return keep(NOT_READY);
    }
    join(host, stream->clock);
    return SUCCESS;
}

int cudaDeviceSynchronize() {
    ENTER("cudaDeviceSynchronize");
    std::vector<std::shared_ptr<Stream>> present;
    for (auto& entry : streams) {
        present.push_back(entry.second);
    }
    for (auto& stream : present) {
        drain(guard, *stream);
    }
    return SUCCESS;
}

int cudaStreamWaitEvent(void* handle, void* event, unsigned) {
    ENTER("cudaStreamWaitEvent");
    Stream* stream = streamOf(handle);
    auto found = events.find(Handle(event));
    if (stream == nullptr || found == events.end()) {
        return misuse(INVALID_HANDLE, "cudaStreamWaitEvent: there is no stream " + hex(Address(handle)) + " or event " + hex(Address(event)));
    }
    std::shared_ptr<Record> last = found->second.last;
    if (last) {
        advance(*stream);
        join(stream->clock, last->clock);
        Work work;
        work.wait = last;
        submit(*stream, std::move(work));
    }
    return SUCCESS;
}

int cudaEventCreateWithFlags(void** event, unsigned flags) {
    ENTER("cudaEventCreateWithFlags");
    Handle made = nextHandle += 16;
    events[made] = Event{(flags & NO_TIMING) == 0, nullptr};
    *event = reinterpret_cast<void*>(made);
    return SUCCESS;
}

int cudaEventCreate(void** event) {
    ENTER("cudaEventCreate");
    Handle made = nextHandle += 16;
    events[made] = Event{true, nullptr};
    *event = reinterpret_cast<void*>(made);
    return SUCCESS;
}

int cudaEventDestroy(void* event) {
    ENTER("cudaEventDestroy");
    if (events.erase(Handle(event)) == 0) {
        return misuse(INVALID_HANDLE, "cudaEventDestroy: there is no event " + hex(Address(event)));
    }
    return SUCCESS;
}

int cudaEventRecord(void* event, void* handle) {
    ENTER("cudaEventRecord");
    Stream* stream = streamOf(handle);
    auto found = events.find(Handle(event));
    if (stream == nullptr || found == events.end()) {
        return misuse(INVALID_HANDLE, "cudaEventRecord: there is no stream " + hex(Address(handle)) + " or event " + hex(Address(event)));
    }
    advance(*stream);
    auto record = std::make_shared<Record>();
    record->clock = stream->clock;
    found->second.last = record;
    Work work;
    work.record = record;
    submit(*stream, std::move(work));
    return SUCCESS;
}

int cudaEventQuery(void* event) {
    ENTER("cudaEventQuery");
    auto found = events.find(Handle(event));
    if (found == events.end()) {
        return misuse(INVALID_HANDLE, "cudaEventQuery: there is no event " + hex(Address(event)));
    }
    std::shared_ptr<Record> last = found->second.last;
    if (last && !last->done) {
        return keep(NOT_READY);
    }
    if (last) {
        join(host, last->clock);
    }
    return SUCCESS;
}

int cudaEventSynchronize(void* event) {
    ENTER("cudaEventSynchronize");
    auto found = events.find(Handle(event));
    if (found == events.end()) {
        return misuse(INVALID_HANDLE, "cudaEventSynchronize: there is no event " + hex(Address(event)));
    }
    std::shared_ptr<Record> last = found->second.last;
    if (last) {
        changed.wait(guard, [&] { return last->done; });
        join(host, last->clock);
    }
    return SUCCESS;
}

int cudaEventElapsedTime(float* milliseconds, void* start, void* end) {
    ENTER("cudaEventElapsedTime");
    auto first = events.find(Handle(start));
    auto second = events.find(Handle(end));
    if (first == events.end() || second == events.end() || !first->second.timed || !second->second.timed || !first->second.last
            || !second->second.last) {
        return misuse(INVALID_HANDLE, "cudaEventElapsedTime: not two timed events that were recorded");
    }
    if (!first->second.last->done || !second->second.last->done) {
        return keep(NOT_READY);
    }
    *milliseconds = std::chrono::duration<float, std::milli>(second->second.last->at - first->second.last->at).count();
    return SUCCESS;
}

int cudaMemcpy(void* target, const void* source, size_t bytes, int kind) {
    ENTER("cudaMemcpy");
    return copy(guard, target, source, bytes, kind, nullptr, "cudaMemcpy", true);
}

int cudaMemcpyAsync(void* target, const void* source, size_t bytes, int kind, void* stream) {
    ENTER("cudaMemcpyAsync");
    return copy(guard, target, source, bytes, kind, stream, "cudaMemcpyAsync", stream == nullptr);
}

int cudaMemset(void* target, int value, size_t bytes) {
    ENTER("cudaMemset");
    return fill(guard, target, value, bytes, nullptr, "cudaMemset");
}

int cudaMemsetAsync(void* target, int value, size_t bytes, void* stream) {
    ENTER("cudaMemsetAsync");
    return fill(guard, target, value, bytes, stream, "cudaMemsetAsync");
}

int cudaLaunchHostFunc(void* handle, void (*function)(void*), void* argument) {
    ENTER("cudaLaunchHostFunc");
    Stream* stream = streamOf(handle);
    if (stream == nullptr) {
        return misuse(INVALID_HANDLE, "cudaLaunchHostFunc: there is no stream " + hex(Address(handle)));
    }
    advance(*stream);
    Work work;
    work.run = [=] { function(argument); };
    submit(*stream, std::move(work));
    return SUCCESS;
}

// --------------------------------------------------------------------------------------------- what tests set and ask: FakeCuda.java

JNIEXPORT void JNICALL Java_org_memferry_device_cuda_FakeCuda_reset(JNIEnv*, jclass) {
    Guard guard(lock);
    settings = Settings();
    calls.clear();
    faultsHit = 0;
    reports.clear();
    pageable.accesses.clear();
    std::fill(linkFree, linkFree + 3, Time());
    changed.notify_all();
}

JNIEXPORT void JNICALL Java_org_memferry_device_cuda_FakeCuda_limits(JNIEnv*, jclass, jlong device, jlong pinned, jlong registered) {
    Guard guard(lock);
    settings.deviceLimit = device;
    settings.pinnedLimit = pinned;
    settings.registeredLimit = registered;
}

JNIEXPORT void JNICALL Java_org_memferry_device_cuda_FakeCuda_rates(JNIEnv*, jclass, jdouble toDevice, jdouble toHost) {
    Guard guard(lock);
    settings.rate[0] = toDevice;
    settings.rate[1] = toHost;
}

JNIEXPORT void JNICALL Java_org_memferry_device_cuda_FakeCuda_delays(JNIEnv*, jclass, jlong seed, jlong maxMicros) {
    Guard guard(lock);
    randomness.seed(seed);
    settings.maxDelayMicros = maxMicros;
}

JNIEXPORT void JNICALL Java_org_memferry_device_cuda_FakeCuda_hold(JNIEnv*, jclass, jboolean toDevice, jboolean toHost) {
    Guard guard(lock);
    settings.held[0] = toDevice;
    settings.held[1] = toHost;
    changed.notify_all();
}

JNIEXPORT void JNICALL Java_org_memferry_device_cuda_FakeCuda_machine(JNIEnv*, jclass, jint devices, jint runtime, jint driver) {
    Guard guard(lock);
    settings.devices = devices;
    settings.runtimeVersion = runtime;
    settings.driverVersion = driver;
}

JNIEXPORT void JNICALL Java_org_memferry_device_cuda_FakeCuda_deviceMemoryOutOfReach(JNIEnv*, jclass) {
    Guard guard(lock);
    settings.outOfReach = true;
}

JNIEXPORT void JNICALL Java_org_memferry_device_cuda_FakeCuda_attribute(JNIEnv*, jclass, jint attribute, jint value) {
    Guard guard(lock);
    settings.attributes[attribute] = value;
}

JNIEXPORT void JNICALL Java_org_memferry_device_cuda_FakeCuda_fail(JNIEnv* env, jclass, jstring call, jint index, jint code, jboolean every) {
    const char* name = env->GetStringUTFChars(call, nullptr);
    {
        Guard guard(lock);
        settings.faults[name] = Fault{index, code, every == JNI_TRUE};
    }
    env->ReleaseStringUTFChars(call, name);
}

JNIEXPORT jint JNICALL Java_org_memferry_device_cuda_FakeCuda_faultsHit(JNIEnv*, jclass) {
    Guard guard(lock);
    return faultsHit;
}

JNIEXPORT jstring JNICALL Java_org_memferry_device_cuda_FakeCuda_callCounts(JNIEnv* env, jclass) {
    std::ostringstream text;
    {
        Guard guard(lock);
        for (const auto& entry : calls) {
            text << entry.first << ' ' << entry.second << '\n';
        }
    }
    return env->NewStringUTF(text.str().c_str());
}

JNIEXPORT jstring JNICALL Java_org_memferry_device_cuda_FakeCuda_takeReports(JNIEnv* env, jclass) {
    std::ostringstream text;
    {
        Guard guard(lock);
        for (const std::string& line : reports) {
            text << line << '\n';
        }
        reports.clear();
    }
    return env->NewStringUTF(text.str().c_str());
}

JNIEXPORT jlong JNICALL Java_org_memferry_device_cuda_FakeCuda_bytesHeld(JNIEnv*, jclass) {
    Guard guard(lock);
    return inUse[0] + inUse[1] + inUse[2];
}

JNIEXPORT jint JNICALL Java_org_memferry_device_cuda_FakeCuda_handlesHeld(JNIEnv*, jclass) {
    Guard guard(lock);
    return jint(streams.size() + events.size());
}

JNIEXPORT void JNICALL Java_org_memferry_device_cuda_FakeCuda_hostReads(JNIEnv*, jclass, jlong address, jlong bytes) {
    Guard guard(lock);
    hostTouches(reinterpret_cast<void*>(address), bytes, false, "a read by the host");
}

JNIEXPORT void JNICALL Java_org_memferry_device_cuda_FakeCuda_hostWrites(JNIEnv*, jclass, jlong address, jlong bytes) {
    Guard guard(lock);
    hostTouches(reinterpret_cast<void*>(address), bytes, true, "a write by the host");
}

}  // extern "C"
