#include "core/stream/order.h"

namespace rondo::stream {

using cuda::check;
using cuda::driver;

void Order::follow(cuda::Stream stream, const std::optional<cuda::Capture>& capture) {
  // A replay follows calls that are made after its capture, so a capture always waits.
  if (!capture && !used()) return;
  const std::scoped_lock lock(mutex_);
  if (!capture && newest_number_ != 0 && stream == newest_in_ &&
      cuda::number_of(stream) == newest_number_)
    return;
  const bool within = capture && capture->id == captured_in_;
  const unsigned flags = capture && !within ? cuda::event_wait_external : 0;
  check(driver().stream_wait_event(stream, (within ? captured_last_ : last_).get(), flags),
        "cuStreamWaitEvent");
}

void Order::record(cuda::Stream stream, const std::optional<cuda::Capture>& capture) {
  const std::uint64_t number = capture ? 0 : cuda::number_of(stream);
  const std::scoped_lock lock(mutex_);
  used_.store(true, std::memory_order_relaxed);
  newest_in_ = stream;
  newest_number_ = captured_in_ == 0 ? number : 0;
  if (!capture) return check(driver().event_record(last_.get(), stream), "cuEventRecord");
  check(driver().event_record(captured_last_.get(), stream), "cuEventRecord");
  captured_in_ = capture->id;
  check(driver().event_record_with_flags(last_.get(), stream, cuda::event_record_external),
        "cuEventRecordWithFlags");
}

void Order::finish() {
  if (!used()) return;
  cuda::Event last = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    last = last_.get();
  }
  if (last == nullptr) return;  // abandoned by calls on another path
  check(driver().event_synchronize(last), "cuEventSynchronize");
}

void Order::abandon() {
  const std::scoped_lock lock(mutex_);
  (void)last_.release();
  (void)captured_last_.release();
}

void Orders::follow(cuda::Stream stream, const std::optional<cuda::Capture>& capture) {
  own_->follow(stream, capture);
  for (const auto& other : others_) other->follow(stream, capture);
}

void Orders::finish() const {
  if (!own_->used()) return;
  const cuda::CurrentContext current(context_);
  own_->finish();
}

void Orders::close() {
  own_.reset();
  others_.clear();
}

void Orders::abandon() {
  if (own_) own_->abandon();
  for (const auto& other : others_) other->abandon();
}

void join(cuda::Stream stream, cuda::Stream other, cuda::Event event) {
  if (stream == other) return;
  check(driver().event_record(event, other), "cuEventRecord");
  check(driver().stream_wait_event(stream, event, 0), "cuStreamWaitEvent");
}

}  // namespace rondo::stream
