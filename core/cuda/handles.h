// The driver's objects (memory, streams, events) with owners. Each is for one thread at a time. All
// throw CudaError.
#pragma once

#include <memory>
#include <optional>

#include "core/cuda/driver.h"

namespace rondo::cuda {

/// While it lives this thread may do what a stream's capture elsewhere would forbid, such as taking
/// memory or waiting: nothing of it goes into the stream that is being captured. Where the driver
/// cannot be told so (it is not initialised, say), the calls that follow will say why.
class RelaxedCapture {
 public:
  RelaxedCapture() noexcept;
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  int mode_ = capture_relaxed;
  bool changed_ = false;
};

/// Makes `context` this thread's for a while, with relaxed capture.
class CurrentContext {
 public:
  explicit CurrentContext(Context context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const RelaxedCapture relaxed_{};
};

/// This thread's context; null where it has none, and without the driver.
Context current_context() noexcept;
Context context_of(Stream stream);
/// No other stream of this process ever has the same; 0: the driver does not tell. Throws CudaError.
std::uint64_t number_of(Stream stream);
/// Lets the current context's device reach memory of cuMemAlloc in `peer`.
void reach(Context peer);

/// Put into `stream`: a copy, unless there is nothing to do, and a write of a word, which follows a
/// system-wide fence.
void copy(DevicePointer to, DevicePointer from, std::size_t bytes, Stream stream);
void write_value(DevicePointer word, unsigned value, Stream stream);

/// For memory of cuMemAlloc that nobody needs any more. cuMemFree waits for all of the context's streams,
/// and meanwhile no other thread can put anything into one (seen with driver 580 on an H200). The
/// asynchronous form takes such memory, too (seen there), and does not wait. Where it is refused, the
/// other one will do.
void give_back(DevicePointer memory, Stream stream);

struct DestroyEvent {
  void operator()(Event event) const noexcept { driver().event_destroy(event); }
};
struct DestroyStream {
  void operator()(Stream stream) const noexcept { driver().stream_destroy(stream); }
};
using OwnedEvent = std::unique_ptr<CUevent_st, DestroyEvent>;
using OwnedStream = std::unique_ptr<CUstream_st, DestroyStream>;

/// An event of the current context, without timing.
OwnedEvent make_event();
/// A stream of the current context, which does not wait for the legacy default stream.
OwnedStream make_stream();

/// What a stream's capture into a graph is, while there is one.
struct Capture {
  unsigned long long id = 0;
  Graph graph = nullptr;
};
/// Throws CudaError for a stream that cannot be asked (the legacy one while another one is
/// captured), Error{invalid_usage} for a capture that has failed.
std::optional<Capture> capture_of(Stream stream);

/// `let_go(data)` is called when the graph and all that was made of it are gone, on whatever
/// thread. It may call no function of CUDA. Throws CudaError where the driver refuses. Then, too,
/// it has been called or will be.
void keep_with(Graph graph, void* data, HostFunction let_go);

}  // namespace rondo::cuda
