#include "core/trace/recorder.h"

#include <algorithm>
#include <limits>
#include <new>

#include "core/base/log.h"

namespace rondo::trace {
namespace {

constexpr std::uint32_t unknown_form = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Recorder::Recorder(Origin origin, std::size_t limit)
    : origin_(std::move(origin)),
      most_pages_(std::max<std::size_t>(1, limit / page_events)),
      stream_log_(std::make_shared<StreamLog>(limit / events_per_stream_call)) {
  pages_.push_back(std::make_unique<Event[]>(page_events));
  next_ = pages_.front().get();
  page_end_ = next_ + page_events;
  write_file();
}

std::uint32_t Recorder::begin(const Form& form, std::uint64_t sequence) {
  const auto known = by_call_.find(form.prepared.get());
  const std::uint32_t number = known != by_call_.end() ? known->second : number_of(form);
  if (number == unknown_form) {
    ++left_out_;
    return 0;
  }
  add(++calls_, EventKind::begin, number, sequence & 0xffffffffU, 0);
  return calls_;
}

/// A call that was forgotten and prepared anew takes the place of its like.
std::uint32_t Recorder::number_of(const Form& form) {
  const Call& call = form.prepared->call;
  const Key key{form.peer >= 0 ? nullptr : form.prepared->plan.get(),
                call.collective,
                call.count,
                call.blocks,
                call.type,
                call.op,
                call.operator_code,
                call.root,
                form.prepared->shared != nullptr};
  const auto alike = by_key_.find(key);
  if (alike == by_key_.end() && forms_.size() == most_forms) return unknown_form;
  const auto number =
      alike != by_key_.end() ? alike->second : static_cast<std::uint32_t>(forms_.size());
  if (alike == by_key_.end()) {
    by_key_.emplace(key, number);
    forms_.push_back(form);
  } else {
    by_call_.erase(forms_[number].prepared.get());
    forms_[number] = form;
  }
  by_call_.emplace(form.prepared.get(), number);
  return number;
}

/// New pages while there may be more, then the oldest one again.
void Recorder::turn_page() {
  if (pages_.size() < most_pages_) {
    std::unique_ptr<Event[]> fresh(new (std::nothrow) Event[page_events]);
    if (fresh)
      pages_.push_back(std::move(fresh));
    else
      most_pages_ = pages_.size();
  }
  ++page_;
  if (page_ >= pages_.size()) page_ = 0;
  if (turns_++ >= most_pages_) overwritten_ += page_events;
  next_ = pages_[page_].get();
  page_end_ = next_ + page_events;
}

void Recorder::write() noexcept {
  try {
    complete_ = true;
    write_file();
  } catch (const std::exception& error) {
    log(LogLevel::warn, origin_.rank, error.what());
  }
}

}  // namespace rondo::trace
