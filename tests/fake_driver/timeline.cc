#include "tests/fake_driver/timeline.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/device/machine.h"

namespace rondo::test {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// A stream, and its step that is next or under way.
struct Head {
  enum class State { ahead, blocked, busy, moving };
  const Steps* steps = nullptr;
  std::size_t next = 0;
  State state = State::ahead;
  double until = 0;  ///< end of the state; blocked: never
  double left = 0;   ///< part of the bytes that have not moved
  double alone = 0;  ///< such parts in a second, with nothing else under way
  double rate = 0;   ///< the same now

  const Step& step() const { return (*steps)[next]; }
  bool is_over() const { return next == steps->size(); }
};

struct Word {
  unsigned value = 0;
  double since = -never;
  const Head* by = nullptr;
};

class Timeline {
 public:
  Timeline(const std::vector<Steps>& streams, const Words& words);
  double run();

 private:
  void begin(Head& head);
  /// Ends the head's state, whose time has come.
  void go_on(Head& head);
  void finish_step(Head& head);
  /// The time from which the head's step need not wait; never, as far as is known.
  double seen(const Head& head);
  void share();

  std::vector<Head> heads_{};
  std::map<const void*, Word> words_{};
  std::vector<double> bandwidths_{};  ///< by resource
  double now_ = 0;
};

Timeline::Timeline(const std::vector<Steps>& streams, const Words& words) {
  std::size_t resources = 0;
  for (const Steps& steps : streams) {
    for (const Step& step : steps) {
      for (const Use& use : step.uses) resources = std::max(resources, use.resource + 1);
    }
    heads_.push_back({.steps = &steps});
  }
  const device::test::Machine machine;
  for (std::size_t i = 0; i < resources; ++i) {
    const bool of_memory = i % paths == static_cast<std::size_t>(Path::memory);
    bandwidths_.push_back(of_memory ? machine.memory_bandwidth : machine.link_bandwidth);
  }
  for (const auto& [word, value] : words) words_[word].value = value;
}

void Timeline::begin(Head& head) {
  head.state = Head::State::ahead;
  head.until = head.is_over() ? never : std::max(now_, head.step().issued);
}

double Timeline::seen(const Head& head) {
  const Step& step = head.step();
  if (step.waits == nullptr) return now_;
  const Word& word = words_[step.waits];
  const auto ahead = static_cast<int>(word.value - step.value);
  if (step.or_more ? ahead < 0 : ahead != 0) return never;
  return word.by == &head ? word.since : word.since + StreamCosts{}.word;
}

void Timeline::go_on(Head& head) {
  const Step& step = head.step();
  switch (head.state) {
    case Head::State::ahead:
    case Head::State::blocked: {
      const double from = seen(head);
      head.state = from == never ? Head::State::blocked : Head::State::busy;
      head.until = from == never ? never : std::max(now_, from) + step.cost;
      return;
    }
    case Head::State::busy:
      if (step.uses.empty()) return finish_step(head);
      head.state = Head::State::moving;
      head.left = 1;
      head.alone = never;
      for (const Use& use : step.uses)
        head.alone = std::min(head.alone, bandwidths_[use.resource] / use.bytes);
      return;
    case Head::State::moving:
      return finish_step(head);
  }
}

void Timeline::finish_step(Head& head) {
  const Step& step = head.step();
  if (step.writes != nullptr) {
    words_[step.writes] = {step.value, now_, &head};
    for (Head& other : heads_) {
      if (other.state == Head::State::blocked && other.step().waits == step.writes)
        other.until = now_;
    }
  }
  ++head.next;
  begin(head);
}

/// Sets when each move ends at the rates that it has from now on.
void Timeline::share() {
  std::vector<double> free = bandwidths_;
  std::vector<Head*> open;
  for (Head& head : heads_) {
    if (head.state == Head::State::moving) open.push_back(&head);
  }
  while (!open.empty()) {
    std::vector<double> wanted(free.size());
    for (const Head* const head : open) {
      for (const Use& use : head->step().uses) wanted[use.resource] += head->alone * use.bytes;
    }
    std::size_t tightest = free.size();
    double factor = 1;
    for (std::size_t i = 0; i < free.size(); ++i) {
      if (wanted[i] * factor <= free[i]) continue;
      tightest = i;
      factor = free[i] / wanted[i];
    }
    std::erase_if(open, [&](Head* head) {
      const auto& uses = head->step().uses;
      if (tightest < free.size() && !std::ranges::count(uses, tightest, &Use::resource))
        return false;
      head->rate = factor * head->alone;
      head->until = now_ + head->left / head->rate;
      for (const Use& use : uses) free[use.resource] -= head->rate * use.bytes;
      return true;
    });
  }
}

double Timeline::run() {
  for (Head& head : heads_) begin(head);
  for (;;) {
    share();
    const auto first = std::ranges::min_element(heads_, {}, &Head::until);
    if (first == heads_.end() || first->until == never) break;
    const double before = std::exchange(now_, std::max(now_, first->until));
    for (Head& head : heads_) {
      if (head.state == Head::State::moving)
        head.left = std::max(0.0, head.left - head.rate * (now_ - before));
    }
    go_on(*first);
  }
  for (const Head& head : heads_) {
    if (!head.is_over())
      throw std::runtime_error("a stream waits for ever at its step " + std::to_string(head.next));
  }
  return now_;
}

void add(std::vector<Use>& uses, Path path, int device, double bytes) {
  const std::size_t resource =
      paths * static_cast<std::size_t>(device) + static_cast<std::size_t>(path);
  const auto found = std::ranges::find(uses, resource, &Use::resource);
  if (found != uses.end()) {
    found->bytes += bytes;
  } else {
    uses.push_back({resource, bytes});
  }
}

}  // namespace

void add_read(std::vector<Use>& uses, int by, int at, double bytes) {
  add(uses, Path::memory, at, bytes);
  if (by == at) return;
  add(uses, Path::link_out, at, bytes);
  add(uses, Path::link_in, by, bytes);
}

void add_write(std::vector<Use>& uses, int by, int at, double bytes) {
  add(uses, Path::memory, at, bytes);
  if (by == at) return;
  add(uses, Path::link_out, by, bytes);
  add(uses, Path::link_in, at, bytes);
}

double seconds_of(const std::vector<Steps>& streams, const Words& words) {
  return Timeline(streams, words).run();
}

}  // namespace rondo::test
