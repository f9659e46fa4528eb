// Streams, events and what is put into them.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/fake_driver/state.h"

namespace rondo::test {
namespace {

/// While it lives, and where the context works, memory may be reached for a stream of it.
class Touch {
 public:
  explicit Touch(cuda::Context context) : context_(context) { ++context_->touching; }
  ~Touch() { --context_->touching; }
  Touch(const Touch&) = delete;
  Touch& operator=(const Touch&) = delete;
  bool works() const { return !context_->broken; }

 private:
  cuda::Context context_;
};

/// Does a stream's work until it is closed, and goes with it.
void serve(const std::shared_ptr<CUstream_st>& stream) {
  std::unique_lock lock(stream->mutex);
  for (;;) {
    stream->changed.wait(lock, [&] {
      return !stream->context->broken && (!stream->work.empty() || stream->closed);
    });
    if (stream->work.empty()) return;
    Work work = std::move(stream->work.front());
    stream->work.pop();
    stream->idle = false;
    stream->room.notify_one();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    stream->idle = true;
  }
}

/// All that were made. Never destroyed, as the contexts.
struct Streams {
  std::mutex mutex{};
  std::vector<std::weak_ptr<CUstream_st>> all{};
};

Streams& streams() {
  static Streams& streams = *std::make_unique<Streams>().release();
  return streams;
}

cuda::Stream make_stream(cuda::Context context) {
  auto stream = std::make_shared<CUstream_st>();
  stream->context = context;
  stream->self = stream;
  {
    const std::scoped_lock lock(streams().mutex);
    std::erase_if(streams().all, [](const auto& each) { return each.expired(); });
    streams().all.push_back(stream);
  }
  std::thread(serve, stream).detach();
  return stream.get();
}

std::array<CUctx_st, 8>& contexts() {
  static std::array<CUctx_st, 8>& contexts = *std::make_unique<std::array<CUctx_st, 8>>().release();
  return contexts;
}

std::vector<cuda::Context>& current() {
  thread_local std::vector<cuda::Context> stack{nullptr};
  return stack;
}

std::atomic_ref<unsigned> word(cuda::DevicePointer address) {
  return std::atomic_ref<unsigned>(*reinterpret_cast<unsigned*>(reachable(address, 4)));
}

void wait_for_value(cuda::Context context, cuda::DevicePointer address, unsigned value) {
  const Touch touch(context);
  while (touch.works() && word(address).load(std::memory_order_acquire) != value)
    std::this_thread::sleep_for(std::chrono::microseconds(5));
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

}  // namespace

cuda::Stream resolve(cuda::Stream stream) {
  if (stream != nullptr) return stream;
  const cuda::Context context = current().back();
  return context != nullptr ? context->legacy : nullptr;
}

void put(cuda::Stream stream, const Node& node) {
  if (stream->capture != nullptr) {
    stream->capture->body->nodes.emplace_back(stream->index, node);
    stream->capture->joined[stream->index] = false;
    return;
  }
  Launch once;
  Work work = node(once);
  const std::scoped_lock lock(stream->mutex);
  stream->work.push(std::move(work));
  state().longest_queue = std::max(state().longest_queue, stream->work.size());
  stream->changed.notify_one();
}

void keep_for_streams(int device, const std::shared_ptr<void>& memory) {
  std::vector<std::shared_ptr<CUstream_st>> theirs;
  {
    const std::scoped_lock lock(streams().mutex);
    for (const auto& each : streams().all) {
      auto stream = each.lock();
      if (stream && stream->context->device == device) theirs.push_back(std::move(stream));
    }
  }
  for (const auto& stream : theirs) {
    const std::scoped_lock lock(stream->mutex);
    if (stream->work.empty() && stream->idle) continue;
    stream->work.push([memory] {});
    stream->changed.notify_one();
  }
}

}  // namespace rondo::test

using namespace rondo::test;
using rondo::cuda::Context;
using rondo::cuda::DevicePointer;
using rondo::cuda::Event;
using rondo::cuda::Stream;
using rondo::cuda::success;

extern "C" {

int cuInit(unsigned /*flags*/) { return success; }

int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(contexts().size());
  return success;
}

int cuDevicePrimaryCtxRetain(Context* context, int device) {
  if (const int status = enter("cuDevicePrimaryCtxRetain")) return status;
  if (device < 0 || device >= static_cast<int>(contexts().size())) return invalid_value;
  *context = &contexts()[static_cast<std::size_t>(device)];
  const std::scoped_lock lock(state().mutex);
  if ((*context)->device != device) (*context)->device = device;  // others may be reading it
  if ((*context)->legacy == nullptr) (*context)->legacy = make_stream(*context);
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
  if (context->broken) return illegal_address;
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

int cuCtxEnablePeerAccess(Context peer, unsigned flags) {
  if (const int status = enter("cuCtxEnablePeerAccess")) return status;
  const Context mine = current().back();
  if (mine == nullptr || mine == peer || flags != 0) return invalid_value;
  const std::scoped_lock lock(state().mutex);
  const bool fresh = state().peers.insert({mine->device, peer->device}).second;
  return fresh ? success : rondo::cuda::peer_access_already_enabled;
}

int cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  if (const int status = enter("cuDeviceGetAttribute")) return status;
  if (attribute != rondo::cuda::attribute_multiprocessors) return invalid_value;
  *value = 3;
  return success;
}

int cuStreamCreate(Stream* stream, unsigned /*flags*/) {
  if (const int status = enter("cuStreamCreate")) return status;
  if (current().back() == nullptr) return rondo::cuda::invalid_context;
  *stream = make_stream(current().back());
  return success;
}

int cuStreamDestroy_v2(Stream stream) {
  if (const int status = enter("cuStreamDestroy")) return status;
  const std::shared_ptr<CUstream_st> last = std::move(stream->self);
  const std::scoped_lock lock(stream->mutex);
  stream->closed = true;  // what is in it is done first
  stream->changed.notify_one();
  return success;
}

int cuStreamGetCtx(Stream stream, Context* context) {
  if (const int status = enter("cuStreamGetCtx")) return status;
  const Stream real = resolve(stream);
  if (real == nullptr) return rondo::cuda::invalid_context;
  *context = real->context;
  return success;
}

int cuStreamSynchronize(Stream stream) {
  if (const int status = enter_unsafe("cuStreamSynchronize")) return status;
  const Stream real = resolve(stream);
  if (real == nullptr) return rondo::cuda::invalid_context;
  const auto end = std::make_shared<Token>();
  put(real, [end] { end->set(); });
  end->wait();
  return success;
}

int cuMemcpyAsync(DevicePointer to, DevicePointer from, std::size_t bytes, Stream stream) {
  std::unique_lock<std::mutex> entry;
  if (const int status = enter_stream("cuMemcpyAsync", stream, entry)) return status;
  std::byte* const target = reachable(to, bytes);
  const std::byte* const source = reachable(from, bytes);
  if (target == nullptr || source == nullptr || bytes == 0) return invalid_value;
  return put_touching(resolve(stream), [=] { std::memcpy(target, source, bytes); });
}

int cuStreamWaitValue32_v2(Stream stream, DevicePointer address, unsigned value, unsigned flags) {
  std::unique_lock<std::mutex> entry;
  if (const int status = enter_stream("cuStreamWaitValue32", stream, entry)) return status;
  if (reachable(address, 4) == nullptr || flags != rondo::cuda::wait_value_equal)
    return invalid_value;
  const Stream real = resolve(stream);
  return put(real, [=, context = real->context] { wait_for_value(context, address, value); });
}

int cuStreamWriteValue32_v2(Stream stream, DevicePointer address, unsigned value,
                            unsigned /*flags*/) {
  std::unique_lock<std::mutex> entry;
  if (const int status = enter_stream("cuStreamWriteValue32", stream, entry)) return status;
  if (reachable(address, 4) == nullptr) return invalid_value;
  return put_touching(resolve(stream),
                      [=] { word(address).store(value, std::memory_order_release); });
}

int cuStreamBatchMemOp_v2(Stream stream, unsigned count, rondo::cuda::MemoryOperation* operations,
                          unsigned flags) {
  std::unique_lock<std::mutex> entry;
  if (const int status = enter_stream("cuStreamBatchMemOp", stream, entry)) return status;
  if (count == 0 || count > rondo::cuda::most_operations || flags != 0) return invalid_value;
  const std::vector<rondo::cuda::MemoryOperation> all(operations, operations + count);
  for (const auto& each : all) {
    const bool waits = each.operation == rondo::cuda::operation_wait_value;
    if (!waits && each.operation != rondo::cuda::operation_write_value) return invalid_value;
    const unsigned known = waits ? rondo::cuda::wait_value_equal : rondo::cuda::write_value_default;
    if (each.flags != known || reachable(each.address, 4) == nullptr) return invalid_value;
  }
  const Stream real = resolve(stream);
  return put(real, [all, context = real->context] {
    for (const auto& each : all) {
      const auto value = static_cast<unsigned>(each.value);
      if (each.operation == rondo::cuda::operation_wait_value) {
        wait_for_value(context, each.address, value);
        continue;
      }
      const Touch touch(context);
      if (touch.works()) word(each.address).store(value, std::memory_order_release);
    }
  });
}

int cuLaunchHostFunc(Stream stream, rondo::cuda::HostFunction function, void* data) {
  std::unique_lock<std::mutex> entry;
  if (const int status = enter_stream("cuLaunchHostFunc", stream, entry)) return status;
  return put(resolve(stream), [=] { run_host_function(function, data); });
}

void fake_break_context(Context context) {
  context->broken = true;
  while (context->touching > 0) std::this_thread::yield();
}
}
