#include "core/communicator/whole.h"

#include "core/communicator/diagnosis.h"

namespace rondo::detail {
namespace {

constexpr std::chrono::milliseconds for_words{500};
/// For slower ranks to reach their last calls.
constexpr std::chrono::milliseconds for_slower_ranks{200};

/// The whole's log may say it better: of all ranks, and of the calls that the program made.
bool may_be_known(const Error& error) {
  return error.code() == ErrorCode::mismatch || error.code() == ErrorCode::peer_lost ||
         error.code() == ErrorCode::timeout;
}

}  // namespace

Whole::Whole(int rank, std::shared_ptr<ControlChannel> control,
             std::shared_ptr<ControlChannel> calls, std::shared_ptr<std::uint32_t> word)
    : rank_(rank), word_(std::move(word)), control_(std::move(control)), calls_(std::move(calls)) {
  calls_->before_reports([this] { note_complete_now(); });
}

std::uint64_t Whole::begin(Call call, bool writes) {
  const std::scoped_lock lock(mutex_);
  call.sequence = ++begun_;
  calls_->calls().begin(call);
  if (writes) written_last_ = begun_;
  note_complete();
  return begun_;
}

/// With the mutex held.
void Whole::note_complete() {
  // relaxed: only the number counts.
  const std::uint32_t word = std::atomic_ref(*word_).load(std::memory_order_relaxed);
  const auto open = static_cast<std::uint32_t>(written_last_) - word;
  const std::uint64_t complete = open == 0 ? begun_ : written_last_ - open;
  if (complete > calls_->calls().completed()) calls_->calls().complete(complete);
}

void Whole::note_complete_now() {
  const std::scoped_lock lock(mutex_);
  note_complete();
}

void Whole::compare() {
  note_complete_now();
  calls_->compare_calls(for_slower_ranks);
}

void Whole::report_stall(bool expired, std::chrono::milliseconds timeout, bool from_program) {
  note_complete_now();
  if (calls_->calls().completed() == calls_->calls().begun()) return;  // a replay, say
  calls_->set_timeout(timeout, from_program);
  calls_->report_stall(expired);
}

std::optional<Error> Whole::failure() const {
  if (calls_->failed()) return calls_->failure();
  if (control_->failed()) return control_->failure();
  return std::nullopt;
}

void Whole::fail(const Error& error) noexcept {
  try {
    if (may_be_known(error))
      await_diagnosis(
          for_words, [this] { return failure().has_value(); },
          [this] { calls_->report_stall(false); });
    control_->fail(failure().value_or(
        Error(error.code(),
              error.message() + "; this was in a step among some ranks, counted from 0 there",
              {.rank = rank_, .call = error.call(), .remedy = error.remedy()})));
  } catch (const std::exception&) {  // no memory for words
    control_->fail(error);
  }
}

}  // namespace rondo::detail
