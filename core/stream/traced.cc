#include "core/stream/traced.h"

#include <exception>

#include "core/base/log.h"
#include "core/trace/recorder.h"

namespace rondo::stream {

/// Calls that are not captured, by their logs.
struct Traced::Notes {
  struct Note {
    std::shared_ptr<trace::StreamLog> log;
    std::size_t number;
  };
  std::vector<Note> notes{};
};

struct Traced::Moment {
  std::shared_ptr<const Notes> of;
  bool is_end;
};

void Traced::add(const detail::CommunicatorState& state, const Request& request, trace::Way way,
                 bool captured) {
  const std::shared_ptr<trace::StreamLog> log = state.stream_log();
  if (log == nullptr) return;
  const bool message = request.call.collective == Collective::send_recv;
  const std::size_t number = log->add({.call = request.call,
                                       .peer = message ? request.peer : -1,
                                       .sends = message && request.sends,
                                       .way = way,
                                       .captured = captured,
                                       .put = trace::Recorder::now()});
  if (captured) return;  // it happens with every replay, which may outlive the log
  if (notes_ == nullptr) notes_ = std::make_shared<Notes>();
  notes_->notes.push_back({log, number});
}

/// If the driver refuses this, it refuses the call as well, which reports it.
void Traced::put(cuda::Stream stream, bool is_end) const noexcept {
  if (notes_ == nullptr) return;
  try {
    auto moment = std::make_unique<Moment>(Moment{notes_, is_end});
    cuda::check(cuda::driver().launch_host_func(stream, happen, moment.get()), "cuLaunchHostFunc");
    (void)moment.release();  // happen() has it
  } catch (const std::exception& error) {
    log(LogLevel::info, -1, std::string("a call's time is missing in the trace: ") + error.what(),
        LogSubsystem::profile);
  }
}

void Traced::happen(void* data) noexcept {
  const std::unique_ptr<const Moment> moment(static_cast<const Moment*>(data));
  const std::int64_t now = trace::Recorder::now();
  for (const Notes::Note& note : moment->of->notes) {
    if (moment->is_end) {
      note.log->note_completed(note.number, now);
    } else {
      note.log->note_begun(note.number, now);
    }
  }
}

}  // namespace rondo::stream
