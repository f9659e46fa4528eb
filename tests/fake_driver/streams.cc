// Streams, events and what is put into them.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <system_error>
#include <thread>

#include "tests/fake_driver/accesses.h"
#include "tests/fake_driver/clock.h"
#include "tests/fake_driver/resident_kernels.h"
#include "tests/fake_driver/state.h"

namespace rondo::test {
namespace {

/// All streams that were not destroyed. Those of contexts that are gone never are, nor is this.
struct Streams {
  std::mutex mutex{};
  std::map<cuda::Stream, std::unique_ptr<CUstream_st>> all{};  ///< under mutex
};

Streams& streams() {
  static Streams& streams = *std::make_unique<Streams>().release();
  return streams;
}

cuda::Stream make_stream(cuda::Context context, std::shared_ptr<Queue> queue, bool blocks = true) {
  auto made = std::make_unique<CUstream_st>();
  made->blocks = blocks;
  made->context = context;
  made->queue = std::move(queue);
  const cuda::Stream stream = made.get();
  const std::scoped_lock lock(streams().mutex);
  streams().all.emplace(stream, std::move(made));
  return stream;
}

std::unique_ptr<CUstream_st> take(cuda::Stream stream) {
  const std::scoped_lock lock(streams().mutex);
  return std::move(streams().all.extract(stream).mapped());
}

std::array<CUctx_st, device_count>& contexts() {
  static auto& contexts = *std::make_unique<std::array<CUctx_st, device_count>>().release();
  return contexts;
}

std::vector<cuda::Context>& current() {
  thread_local std::vector<cuda::Context> stack{nullptr};
  return stack;
}

std::atomic_ref<unsigned> word(cuda::DevicePointer address) {
  return std::atomic_ref<unsigned>(*reinterpret_cast<unsigned*>(reachable(address, 4)));
}

void wait_for_value(cuda::Context context, cuda::DevicePointer address, unsigned value,
                    unsigned flags) {
  const Touch touch(context);
  const auto is_there = [&] {
    const unsigned now = word(address).load(std::memory_order_acquire);
    return flags == cuda::wait_value_equal ? now == value : static_cast<int>(now - value) >= 0;
  };
  while (touch.works() && !is_there()) std::this_thread::sleep_for(std::chrono::microseconds(5));
}

/// FAKE_MEMORY_OPERATIONS. For callers' threads: a stream's could look while a test changes the environment.
bool memory_operations_are(const char* what) {
  const char* const set = std::getenv("FAKE_MEMORY_OPERATIONS");
  return set != nullptr && std::string(set) == what;
}

constexpr int not_supported = 801;

void write_value(cuda::Context context, cuda::DevicePointer address, unsigned value) {
  const Touch touch(context);
  if (touch.works()) word(address).store(value, std::memory_order_release);
}

/// Whether the driver takes the operation.
bool is_known(const cuda::MemoryOperation& operation) {
  const auto& [what, address, value, flags, alias, unused] = operation;
  const bool waits = what == cuda::operation_wait_value &&
                     (flags == cuda::wait_value_equal || flags == cuda::wait_value_reached);
  const bool writes = what == cuda::operation_write_value && flags == cuda::write_value_default;
  return (waits || writes) && address % 4 == 0 && reachable_by_device(address, 4) != nullptr;
}

/// From here on this is another context. With the driver's mutex held.
void renew(CUctx_st& context) {
  context.number.store(++state().contexts, std::memory_order_relaxed);
  context.failure = 0;
}

/// What is put into the legacy stream waits for what is in the streams that block, and the other way
/// round.
std::vector<SharedToken> implicit_waits(cuda::Stream stream) {
  std::vector<SharedToken> waits;
  const auto wait_for = [&](const CUstream_st& other) {
    if (SharedToken end = end_of(*other.queue)) waits.push_back(std::move(end));
  };
  const cuda::Stream legacy = stream->context->legacy;
  if (stream != legacy) {
    if (stream->blocks && legacy != nullptr) wait_for(*legacy);
    return waits;
  }
  const std::scoped_lock lock(streams().mutex);
  for (const auto& [other, owned] : streams().all) {
    if (other != legacy && other->context == stream->context && other->blocks) wait_for(*owned);
  }
  return waits;
}

Work after(std::vector<SharedToken> waits, cuda::Context context, Work work) {
  if (waits.empty()) return work;
  return [waits = std::move(waits), context, work = std::move(work)] {
    for (const SharedToken& wait : waits) {
      if (wait_in(context, *wait) != cuda::success) return;
    }
    work();
  };
}

/// The same work at every launch.
Node always(Work work) {
  return [work = std::move(work)](Launch&) { return work; };
}

int put(cuda::Stream stream, Work work) {
  const std::scoped_lock lock(state().mutex);
  put(stream, always(std::move(work)));
  return cuda::success;
}

/// Work that reaches memory, unless the context has broken.
int put_touching(cuda::Stream stream, Work work) {
  return put(stream, [context = stream->context, work = std::move(work)] {
    const Touch touch(context);
    if (touch.works()) work();
  });
}

int put_operations(cuda::Stream stream, const std::vector<cuda::MemoryOperation>& all) {
  if (memory_operations_are("refused")) return not_supported;
  if (!std::ranges::all_of(all, is_known)) return invalid_value;
  note_operations(stream, all);
  return put(stream, [all, context = stream->context, lost = memory_operations_are("lost")] {
    for (const auto& [what, address, value, flags, alias, unused] : all) {
      const auto number = static_cast<unsigned>(value);
      if (what == cuda::operation_wait_value) {
        wait_for_value(context, address, number, flags);
      } else if (!lost) {
        write_value(context, address, number);
      }
    }
  });
}

}  // namespace

cuda::Context current_context() { return current().back(); }

void break_context(cuda::Context context, int failure) {
  context->failure = failure;
  state().has_broken_context = true;
  end_resident_kernels(context);
}

cuda::Stream resolve(cuda::Stream stream) {
  constexpr std::uintptr_t per_thread = 2;  // CU_STREAM_PER_THREAD
  const bool of_this_thread = reinterpret_cast<std::uintptr_t>(stream) == per_thread;
  if (stream != nullptr && !of_this_thread) return stream;
  const cuda::Context context = current().back();
  if (context == nullptr) return nullptr;
  if (!of_this_thread) return context->legacy;
  thread_local std::map<cuda::Context, cuda::Stream> ours;
  cuda::Stream& mine = ours[context];
  if (mine == nullptr) mine = make_stream(context, own_queue(context));
  return mine;
}

void put(cuda::Stream stream, const Node& node) {
  if (stream->capture != nullptr) {
    stream->capture->body->nodes.emplace_back(stream->index, node);
    stream->capture->joined[stream->index] = false;
    return;
  }
  Launch once;
  Work work = after(implicit_waits(stream), stream->context, node(once));
  Queue& queue = *stream->queue;
  const std::scoped_lock lock(queue.mutex);
  queue.work.push(std::move(work));
  state().longest_queue = std::max(state().longest_queue, queue.work.size());
  queue.changed.notify_one();
}

}  // namespace rondo::test

using namespace rondo::test;
using rondo::cuda::Context;
using rondo::cuda::DevicePointer;
using rondo::cuda::Event;
using rondo::cuda::Stream;
using rondo::cuda::success;

extern "C" {

int cuDevicePrimaryCtxRetain(Context* context, int device) {
  if (const int status = enter("cuDevicePrimaryCtxRetain")) return status;
  if (device < 0 || device >= static_cast<int>(contexts().size())) return invalid_value;
  *context = &contexts()[static_cast<std::size_t>(device)];
  const std::scoped_lock lock(state().mutex);
  if (state().retained[device]++ == 0) renew(**context);
  if ((*context)->device != device) (*context)->device = device;  // others may be reading it
  if ((*context)->legacy == nullptr)
    (*context)->legacy = make_stream(*context, own_queue(*context));
  return success;
}

int cuCtxSetCurrent(Context context) {
  current().back() = context;
  return success;
}

int cuCtxGetCurrent(Context* context) {
  if (const int status = enter("cuCtxGetCurrent")) return status;
  *context = current().back();
  return success;
}

int cuCtxPushCurrent_v2(Context context) {
  if (const int status = enter("cuCtxPushCurrent")) return status;
  if (context == nullptr) return rondo::cuda::invalid_context;
  if (context->failure != 0) return context->failure;
  current().push_back(context);
  return success;
}

int cuCtxPopCurrent_v2(Context* context) {
  if (const int status = enter("cuCtxPopCurrent")) return status;
  if (current().size() < 2) return rondo::cuda::invalid_context;
  *context = current().back();
  current().pop_back();
  return success;
}

int cuCtxGetDevice(int* device) {
  if (const int status = enter("cuCtxGetDevice")) return status;
  if (current().back() == nullptr) return rondo::cuda::invalid_context;
  *device = current().back()->device;
  return success;
}

int cuCtxGetId(Context context, unsigned long long* number) {
  if (const int status = enter("cuCtxGetId")) return status;
  const Context asked = context != nullptr ? context : current().back();
  if (asked == nullptr) return rondo::cuda::invalid_context;
  *number = asked->number.load(std::memory_order_relaxed);
  return success;
}

int cuCtxEnablePeerAccess(Context peer, unsigned flags) {
  if (const int status = enter("cuCtxEnablePeerAccess")) return status;
  const Context mine = current().back();
  if (mine == nullptr || mine == peer || flags != 0) return invalid_value;
  if (link_of(mine->device, peer->device) == FakeLink::none) return peer_access_unsupported;
  const std::scoped_lock lock(state().mutex);
  const bool fresh = state().peers.insert({mine->device, peer->device}).second;
  return fresh ? success : rondo::cuda::peer_access_already_enabled;
}

int cuStreamCreate(Stream* stream, unsigned flags) {
  if (const int status = enter("cuStreamCreate")) return status;
  if (current().back() == nullptr) return rondo::cuda::invalid_context;
  try {
    const bool blocks = (flags & rondo::cuda::stream_non_blocking) == 0;
    *stream = make_stream(current().back(), queue_of_next(current().back()), blocks);
    return success;
  } catch (const std::system_error&) {
    return out_of_memory;  // no thread is left for it
  }
}

int cuStreamDestroy_v2(Stream stream) {
  if (const int status = enter("cuStreamDestroy")) return status;
  const std::unique_ptr<CUstream_st> last = take(stream);
  Queue& queue = *stream->queue;
  const std::scoped_lock lock(queue.mutex);
  queue.closed = !queue.is_shared;  // what is in it is done first
  queue.changed.notify_one();
  return success;
}

int cuStreamGetCtx(Stream stream, Context* context) {
  if (const int status = enter("cuStreamGetCtx")) return status;
  const Stream real = resolve(stream);
  if (real == nullptr) return rondo::cuda::invalid_context;
  *context = real->context;
  return success;
}

int cuStreamGetId(Stream stream, unsigned long long* number) {
  if (const int status = enter("cuStreamGetId")) return status;
  const Stream real = resolve(stream);
  *number = real == nullptr ? 0 : real->number;
  return real == nullptr ? rondo::cuda::invalid_context : success;
}

int cuStreamSynchronize(Stream stream) {
  const Stream real = resolve(stream);
  if (real == nullptr) return rondo::cuda::invalid_context;
  if (const int status = enter_unsafe("cuStreamSynchronize", real->context)) return status;
  const auto end = std::make_shared<Token>();
  put(real, [end] { end->set(); });
  return wait_in(real->context, *end);
}

int cuMemcpyAsync(DevicePointer to, DevicePointer from, std::size_t bytes, Stream stream) {
  std::unique_lock<std::mutex> entry;
  if (const int status = enter_stream("cuMemcpyAsync", stream, entry)) return status;
  std::byte* const target = reachable(to, bytes);
  const std::byte* const source = reachable(from, bytes);
  if (target == nullptr || source == nullptr || bytes == 0) return invalid_value;
  note_copy(resolve(stream), to, from, bytes);
  return put_touching(resolve(stream), [=] {
    copy_in_pieces(target, source, bytes);
    state().copied_bytes += bytes;
  });
}

int cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t bytes, Stream stream) {
  std::unique_lock<std::mutex> entry;
  if (const int status = enter_stream("cuMemsetD8Async", stream, entry)) return status;
  std::byte* const target = reachable(to, bytes);
  if (target == nullptr || bytes == 0) return invalid_value;
  note_unknown("a memset");
  return put_touching(resolve(stream), [=] {
    const Access access("a memset", {{target, bytes, true}});
    std::memset(target, value, bytes);
  });
}

int cuStreamWaitValue32_v2(Stream stream, DevicePointer address, unsigned value, unsigned flags) {
  std::unique_lock<std::mutex> entry;
  if (const int status = enter_stream("cuStreamWaitValue32", stream, entry)) return status;
  return put_operations(resolve(stream), {{.operation = rondo::cuda::operation_wait_value,
                                           .address = address,
                                           .value = value,
                                           .flags = flags}});
}

int cuStreamWriteValue32_v2(Stream stream, DevicePointer address, unsigned value, unsigned flags) {
  std::unique_lock<std::mutex> entry;
  if (const int status = enter_stream("cuStreamWriteValue32", stream, entry)) return status;
  return put_operations(resolve(stream), {{.operation = rondo::cuda::operation_write_value,
                                           .address = address,
                                           .value = value,
                                           .flags = flags}});
}

int cuStreamBatchMemOp_v2(Stream stream, unsigned count, rondo::cuda::MemoryOperation* operations,
                          unsigned flags) {
  std::unique_lock<std::mutex> entry;
  if (const int status = enter_stream("cuStreamBatchMemOp", stream, entry)) return status;
  if (memory_operations_are("unbatched")) return not_supported;
  constexpr unsigned too_many = 256;  // the manual: "must be less than 256"
  if (count == 0 || count >= too_many || flags != 0) return invalid_value;
  return put_operations(resolve(stream), {operations, operations + count});
}

int cuLaunchHostFunc(Stream stream, rondo::cuda::HostFunction function, void* data) {
  std::unique_lock<std::mutex> entry;
  if (const int status = enter_stream("cuLaunchHostFunc", stream, entry)) return status;
  note_unknown("a host function");
  return put(resolve(stream), [=] { run_host_function(function, data); });
}

std::size_t fake_copied_bytes() { return state().copied_bytes; }

void fake_renew_context(Context context) {
  if (context->failure != 0) forget_work(context);
  const std::scoped_lock lock(state().mutex);
  renew(*context);
}

void fake_break_context(Context context, int status) {
  break_context(context, status);
  while (context->touching > 0) {
    end_resident_kernels(context);
    std::this_thread::yield();
  }
}
}
