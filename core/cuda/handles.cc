#include "core/cuda/handles.h"

namespace rondo::cuda {

CurrentContext::CurrentContext(Context context) {
  check(driver().ctx_push_current(context), "cuCtxPushCurrent");
}

CurrentContext::~CurrentContext() {
  Context popped = nullptr;
  driver().ctx_pop_current(&popped);
}

RelaxedCapture::RelaxedCapture() noexcept {
  const Driver* const cuda = find_driver();
  if (cuda == nullptr || cuda->thread_exchange_stream_capture_mode == nullptr) return;
  changed_ = cuda->thread_exchange_stream_capture_mode(&mode_) == success;
}

RelaxedCapture::~RelaxedCapture() {
  if (changed_) find_driver()->thread_exchange_stream_capture_mode(&mode_);
}

Context current_context() noexcept {
  const Driver* const cuda = find_driver();
  Context context = nullptr;
  if (cuda == nullptr || cuda->ctx_get_current(&context) != success) return nullptr;
  return context;
}

Context context_of(Stream stream) {
  Context context = nullptr;
  check(driver().stream_get_ctx(stream, &context), "cuStreamGetCtx");
  return context;
}

std::uint64_t number_of(Stream stream) {
  unsigned long long number = 0;
  if (driver().stream_get_id != nullptr)
    check(driver().stream_get_id(stream, &number), "cuStreamGetId");
  return number;
}

void reach(Context peer) {
  const int status = driver().ctx_enable_peer_access(peer, 0);
  if (status != peer_access_already_enabled) check(status, "cuCtxEnablePeerAccess");
}

void copy(DevicePointer to, DevicePointer from, std::size_t bytes, Stream stream) {
  if (to != from && bytes > 0)
    check(driver().memcpy_async(to, from, bytes, stream), "cuMemcpyAsync");
}

void give_back(DevicePointer memory, Stream stream) {
  if (driver().mem_free_async(memory, stream) != success) driver().mem_free(memory);
}

void write_value(DevicePointer word, unsigned value, Stream stream) {
  check(driver().stream_write_value(stream, word, value, write_value_default),
        "cuStreamWriteValue32");
}

OwnedEvent make_event() {
  Event event = nullptr;
  check(driver().event_create(&event, event_disable_timing), "cuEventCreate");
  return OwnedEvent(event);
}

OwnedStream make_stream() {
  Stream stream = nullptr;
  check(driver().stream_create(&stream, stream_non_blocking), "cuStreamCreate");
  return OwnedStream(stream);
}

std::optional<Capture> capture_of(Stream stream) {
  int status = 0;
  Capture capture;
  check(driver().stream_get_capture_info(stream, &status, &capture.id, &capture.graph, nullptr,
                                         nullptr),
        "cuStreamGetCaptureInfo");
  if (status == 0) return std::nullopt;
  if (status == capture_active) return capture;
  throw Error(ErrorCode::invalid_usage, "this stream's capture into a graph has failed",
              {.remedy = "end the capture and look for the call that is not allowed in one"});
}

void keep_with(Graph graph, void* data, HostFunction let_go) {
  UserObject object = nullptr;
  const int made =
      driver().user_object_create(&object, data, let_go, 1, user_object_no_destructor_sync);
  if (made != success) let_go(data);
  check(made, "cuUserObjectCreate");
  const int kept = driver().graph_retain_user_object(graph, object, 1, graph_user_object_move);
  if (kept != success) driver().user_object_release(object, 1);  // which lets go of the data
  check(kept, "cuGraphRetainUserObject");
}

}  // namespace rondo::cuda
