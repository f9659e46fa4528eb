#include "tests/device/timed_run.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <unordered_map>

#include "tests/device/simulated_teams.h"

namespace rondo::device::test {
namespace {

/// Serves one access after the other.
class Resource {
 public:
  /// When it is done with so many seconds of work that come at `time`. No thread's clock is behind
  /// `earliest`: what a thread books that is ahead of others does not keep them waiting.
  double serve(double time, double seconds, double earliest) {
    free_ = std::max(free_, earliest) + seconds;
    return std::max(free_, time + seconds);
  }

 private:
  double free_ = 0;
};

struct Device {
  Resource memory{};
  Resource out{};
  Resource in{};
};

struct Thread {
  double now = 0;
  double loaded = 0;   ///< when all its loads have their values
  unsigned loads = 0;  ///< since it last waited for their values
  double arrived = 0;  ///< when all that its team wrote over links, as far as it knows, is there
  /// The same for words since the last barrier. On a device they are different threads' stores.
  double words_arrived = 0;
};

class TimedSimulation : public SimulatedTeams {
 public:
  TimedSimulation(const Machine& machine, std::span<const OwnedBytes> memory, std::uint32_t ranks,
                  std::uint32_t threads_of_rank, std::uint32_t threads)
      : machine_(machine),
        memory_(memory.begin(), memory.end()),
        devices_(ranks),
        threads_of_rank_(threads_of_rank),
        each_stands_for_(machine.threads_of_team / threads),
        bandwidth_of_thread_(machine.team_bandwidth / threads),
        threads_(std::size_t{ranks} * threads_of_rank),
        fibers_(threads_.size(),
                [this](std::span<const std::size_t> ready) { return pick(ready); }) {
    std::ranges::sort(memory_, {}, &OwnedBytes::begin);
  }

  Fibers& fibers() override { return fibers_; }

  void read(const std::byte* at, std::span<std::byte> to, Ordering ordering,
            const Site& /*site*/) override {
    give_way();
    Thread& thread = current();
    std::memcpy(to.data(), at, to.size());
    const double seconds = thread_seconds(to.size());
    if (ordering == Ordering::ordinary) {
      if (thread.loads++ == machine_.loads_at_once) {
        wait_for_loads(thread);
        give_way();
      }
      thread.loaded = std::max(thread.loaded, fetched(at, to.size()));
      thread.now += seconds;
      return;
    }
    // A new value is seen once it is there. Looks at several words wait together.
    const auto stored = visible_.find(at);
    if (stored != visible_.end()) thread.now = std::max(thread.now, stored->second);
    thread.loaded = std::max(thread.loaded, thread.now + machine_.word_latency);
    thread.now += seconds;
  }

  void write(std::byte* at, std::span<const std::byte> from, Ordering ordering,
             const Site& /*site*/) override {
    Thread& thread = current();
    wait_for_loads(thread);
    // A fence waits for the last word of what has arrived.
    if (ordering == Ordering::ordered && thread.arrived > 0)
      thread.now = std::max(thread.now, thread.arrived + machine_.link_latency);
    give_way();  // nothing is booked before its time has come
    std::memcpy(at, from.data(), from.size());
    const bool is_word = ordering != Ordering::ordinary;
    const double there = stored(at, from.size(), is_word ? thread.words_arrived : thread.arrived);
    if (is_word) visible_[at] = there;
    thread.now += thread_seconds(from.size());
  }

  bool exchange_if(std::uint64_t* word, std::uint64_t expected, std::uint64_t value) override {
    if (*word != expected) return false;
    *word = value;
    return true;
  }

  /// A fence, then there and back. The word lies in the cache.
  std::uint64_t count_up(std::uint64_t* word, const Site& /*site*/) override {
    Thread& thread = current();
    wait_for_loads(thread);
    if (thread.arrived > 0)
      thread.now = std::max(thread.now, thread.arrived + machine_.link_latency);
    thread.now += machine_.word_latency;
    give_way();
    return (*word)++;
  }

  void pause() override {
    Thread& thread = current();
    thread.now = std::max(thread.now, thread.loaded) + machine_.look;
    fibers_.yield();
  }

  void meet(std::span<const std::size_t> fibers) override {
    Thread latest;
    for (const std::size_t fiber : fibers) {
      const Thread& thread = threads_[fiber];
      latest.now = std::max({latest.now, thread.now, thread.loaded});
      latest.arrived = std::max({latest.arrived, thread.arrived, thread.words_arrived});
    }
    latest.now += machine_.barrier;
    for (const std::size_t fiber : fibers) threads_[fiber] = latest;
  }

  double end() const {
    double end = 0;
    for (const Thread& thread : threads_) end = std::max({end, thread.now, thread.loaded});
    return end;
  }

 private:
  /// How far a thread may be ahead of the others. Resources take turns a little unfairly then.
  static constexpr double ahead = 0.01e-6;
  /// Stores under way over a link, in seconds of its work. With more, threads wait.
  static constexpr double under_way = 1e-6;

  static void wait_for_loads(Thread& thread) {
    thread.now = std::max(thread.now, thread.loaded);
    thread.loads = 0;
  }
  Thread& current() { return threads_[fibers_.current()]; }
  std::uint32_t here() const {
    return static_cast<std::uint32_t>(fibers_.current()) / threads_of_rank_;
  }
  double thread_seconds(std::size_t bytes) const {
    return static_cast<double>(bytes) / bandwidth_of_thread_;
  }

  std::uint32_t owner(const std::byte* at) const {
    const auto next = std::ranges::upper_bound(memory_, at, {}, &OwnedBytes::begin);
    if (next == memory_.begin()) return here();
    const OwnedBytes& before = *std::prev(next);
    return at < before.begin + before.bytes ? before.rank : here();
  }

  /// Booked when the access is made, wherever it waits first: what comes later in time never keeps
  /// others waiting.
  double in_memory(std::uint32_t rank, std::size_t bytes) {
    return devices_[rank].memory.serve(
        current().now, static_cast<double>(bytes) / machine_.memory_bandwidth, earliest_);
  }
  /// Between the memory of one GPU and another.
  double over_links(std::uint32_t from, std::uint32_t to, std::size_t bytes) {
    const double seconds = static_cast<double>(bytes) / machine_.link_bandwidth;
    return std::max(devices_[from].out.serve(current().now, seconds, earliest_),
                    devices_[to].in.serve(current().now, seconds, earliest_));
  }

  /// When a load has its value.
  double fetched(const std::byte* at, std::size_t bytes) {
    const std::uint32_t from = owner(at);
    const double served = in_memory(from, bytes);
    if (from == here()) return served + machine_.memory_latency / each_stands_for_;
    return std::max(served, over_links(from, here(), bytes)) +
           (machine_.memory_latency + 2 * machine_.link_latency) / each_stands_for_;
  }

  /// When a store is there. Then all in `arrived` is, if it goes over links.
  double stored(const std::byte* at, std::size_t bytes, double& arrived) {
    Thread& thread = current();
    const std::uint32_t to = owner(at);
    double done = in_memory(to, bytes);
    if (to != here()) {
      done = std::max(done, over_links(here(), to, bytes));
      arrived = std::max(arrived, done + machine_.link_latency);
    }
    const double there = to == here() ? thread.now : done + machine_.link_latency;
    thread.now = std::max(thread.now, done - under_way);
    return there;
  }

  void give_way() {
    if (current().now > horizon_) fibers_.yield();
  }
  /// The one whose clock is behind all others.
  std::size_t pick(std::span<const std::size_t> ready) {
    double first = std::numeric_limits<double>::infinity(), second = first;
    std::size_t earliest = ready.front();
    for (const std::size_t fiber : ready) {
      const double now = threads_[fiber].now;
      if (now < first) {
        second = first;
        first = now;
        earliest = fiber;
      } else {
        second = std::min(second, now);
      }
    }
    earliest_ = first;
    horizon_ = second + ahead;
    return earliest;
  }

  const Machine& machine_;
  std::vector<OwnedBytes> memory_;
  std::vector<Device> devices_;
  std::uint32_t threads_of_rank_;
  double each_stands_for_;
  double bandwidth_of_thread_;
  std::vector<Thread> threads_;
  std::unordered_map<const std::byte*, double>
      visible_{};        ///< when the last store of a word is there
  double earliest_ = 0;  ///< of all clocks, when this thread went on
  double horizon_ = 0;   ///< it gives way to others from here on
  Fibers fibers_;
};

}  // namespace

double run_timed(const Machine& machine, std::span<const OwnedBytes> memory, std::uint32_t ranks,
                 std::uint32_t teams_of_rank, std::uint32_t threads,
                 const std::function<void(HostTeam&, std::uint32_t)>& work) {
  TimedSimulation simulation(machine, memory, ranks, teams_of_rank * threads, threads);
  if (!simulation.run(ranks * teams_of_rank, threads, work))
    throw std::runtime_error("teams wait for each other for ever");
  return simulation.end();
}

}  // namespace rondo::device::test
