#include "tests/device/weak_run.h"

#include <algorithm>
#include <random>
#include <string_view>
#include <vector>

#include "tests/device/simulated_teams.h"
#include "tests/device/weak_memory.h"

namespace rondo::device::test {
namespace {

using Kind = OrderedPlace::Kind;
using Thread = WeakMemory::Thread;

/// The same for all types that the code is compiled for.
OrderedPlace place(Kind kind, const Site& site) {
  const std::string_view file(site.file_name());
  std::string_view function(site.function_name());
  function = function.substr(0, function.find('('));
  return {std::string(file.substr(file.rfind('/') + 1)),
          std::string(function.substr(function.rfind(':') + 1)), site.line(), site.column(), kind};
}

/// One run: the threads of team t are fibers t * threads and those after it.
class WeakSimulation : public SimulatedTeams {
 public:
  WeakSimulation(const WeakRun& run, std::size_t threads)
      : run_(run),
        memory_(threads, run.seed),
        fibers_(threads, RandomPick(threads, ~run.seed)),
        random_(run.seed * 2 + 1) {}

  WeakMemory& memory() { return memory_; }
  Fibers& fibers() override { return fibers_; }
  Thread thread() const { return static_cast<Thread>(fibers_.current()); }

  bool waits(bool votes, const Site& site) override {
    return holds(votes ? Kind::vote : Kind::barrier, site);
  }
  void meet(std::span<const std::size_t> fibers) override {
    memory_.meet(std::vector<Thread>(fibers.begin(), fibers.end()));
  }
  void prepare(HostTeamState& team) override {
    for (auto& targets : team.memory.targets) std::ranges::fill(targets, nowhere_.data());
  }

  /// False where the run weakens it.
  bool holds(Kind kind, const Site& site) {
    const OrderedPlace* const weakened = run_.weakened;
    if (weakened == nullptr && run_.places == nullptr) return true;
    const OrderedPlace here = place(kind, site);
    if (run_.places != nullptr) run_.places->insert(here);
    return weakened == nullptr || here != *weakened;
  }

  void read(const std::byte* at, std::span<std::byte> to, Ordering ordering,
            const Site& site) override {
    step();
    const bool in_halves = run_.tears && ordering != Ordering::ordinary;
    const std::size_t piece = in_halves ? to.size() / 2 : to.size();
    const Ordering kept = weakened(ordering, Kind::acquire, site);
    for (std::size_t done = 0; done < to.size(); done += piece)
      memory_.read(thread(), at + done, to.subspan(done, piece), kept);
  }
  void write(std::byte* at, std::span<const std::byte> from, Ordering ordering,
             const Site& site) override {
    step();
    memory_.write(thread(), at, from, weakened(ordering, Kind::release, site));
  }
  bool exchange_if(std::uint64_t* word, std::uint64_t expected, std::uint64_t value) override {
    step();
    return memory_.exchange_if(thread(), word, expected, value);
  }
  std::uint64_t count_up(std::uint64_t* word, const Site& site) override {
    step();
    const Ordering acquires = weakened(Ordering::ordered, Kind::acquire, site);
    return memory_.count_up(thread(), word, acquires,
                            weakened(Ordering::ordered, Kind::release, site));
  }
  void pause() override { fibers_.yield(); }

 private:
  /// Others may go on before an access.
  void step() {
    if (left_-- != 0) return;
    const std::uint64_t luck = random_();
    left_ = (luck >> 8) % (std::uint64_t{1} << (luck % 8));
    fibers_.yield();
  }
  Ordering weakened(Ordering ordering, Kind kind, const Site& site) {
    return ordering != Ordering::ordered || holds(kind, site) ? ordering : Ordering::relaxed;
  }

  const WeakRun& run_;
  WeakMemory memory_;
  Fibers fibers_;
  std::mt19937_64 random_;
  std::uint64_t left_ = 0;
  /// For a thread that passes a barrier too early and finds no target there.
  std::vector<std::byte> nowhere_ = std::vector<std::byte>(std::size_t{1} << 16);
};

}  // namespace

std::string OrderedPlace::words() const {
  constexpr const char* kinds[] = {"acquire", "release", "barrier", "vote"};
  return file + " " + function + ": " + kinds[static_cast<std::size_t>(kind)];
}

std::string run_weakly(const WeakRun& run, std::uint32_t teams, std::uint32_t threads,
                       const std::function<void(HostTeam&, std::uint32_t)>& work) {
  WeakSimulation simulation(run, std::size_t{teams} * threads);
  const bool all_ended = simulation.run(teams, threads, work);
  simulation.memory().settle();
  return all_ended ? simulation.memory().race() : "threads wait for each other for ever";
}

}  // namespace rondo::device::test
