#include "tests/device/weak_run.h"

#include <cstring>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "tests/device/fibers.h"
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
class Simulation {
 public:
  Simulation(const WeakRun& run, std::uint32_t teams, std::uint32_t threads)
      : run_(run),
        memory_(std::size_t{teams} * threads, run.seed),
        fibers_(std::size_t{teams} * threads, ~run.seed),
        random_(run.seed * 2 + 1) {}

  WeakMemory& memory() { return memory_; }
  Fibers& fibers() { return fibers_; }
  Thread thread() const { return static_cast<Thread>(fibers_.current()); }

  /// Others may go on before an access.
  void step() {
    if (left_-- != 0) return;
    const std::uint64_t luck = random_();
    left_ = (luck >> 8) % (std::uint64_t{1} << (luck % 8));
    fibers_.yield();
  }
  /// False where the run weakens it.
  bool holds(Kind kind, const Site& site) {
    const OrderedPlace* const weakened = run_.weakened;
    if (weakened == nullptr && run_.places == nullptr) return true;
    const OrderedPlace here = place(kind, site);
    if (run_.places != nullptr) run_.places->insert(here);
    return weakened == nullptr || here != *weakened;
  }
  bool tears() const { return run_.tears; }
  Ordering ordering(Kind kind, const Site& site) {
    return holds(kind, site) ? Ordering::ordered : Ordering::relaxed;
  }

 private:
  const WeakRun& run_;
  WeakMemory memory_;
  Fibers fibers_;
  std::mt19937_64 random_;
  std::uint64_t left_ = 0;
};

/// The simulation that runs on this thread.
Simulation*& running() {
  static thread_local Simulation* simulation = nullptr;
  return simulation;
}

class SimulatedMeetingPoint : public MeetingPoint {
 public:
  SimulatedMeetingPoint(Simulation& simulation, std::uint32_t lanes)
      : simulation_(simulation), lanes_(lanes) {}

  void meet(std::uint32_t /*lane*/, bool votes, const std::source_location& site) override {
    if (!simulation_.holds(votes ? Kind::vote : Kind::barrier, site))
      return simulation_.fibers().yield();
    here_.push_back(simulation_.thread());
    if (here_.size() < lanes_) return simulation_.fibers().block();
    simulation_.memory().meet(here_);
    for (const Thread thread : here_) {
      if (thread != simulation_.thread()) simulation_.fibers().unblock(thread);
    }
    here_.clear();
    simulation_.fibers().yield();
  }

 private:
  Simulation& simulation_;
  std::size_t lanes_;
  std::vector<Thread> here_{};
};

/// An access by a thread of the simulation, or else by one of the host.
template <class Simulated, class Real>
auto access(const Simulated& simulated, const Real& real) {
  Simulation* const simulation = running();
  if (simulation == nullptr) return real();
  simulation->step();
  return simulated(*simulation);
}

std::uint64_t load(const std::uint64_t* word, Simulation& simulation, Ordering ordering) {
  std::uint64_t value = 0;
  const auto* const at = reinterpret_cast<const std::byte*>(word);
  const std::span<std::byte> to = std::as_writable_bytes(std::span(&value, 1));
  const std::size_t piece = simulation.tears() ? to.size() / 2 : to.size();
  for (std::size_t done = 0; done < to.size(); done += piece)
    simulation.memory().read(simulation.thread(), at + done, to.subspan(done, piece), ordering);
  return value;
}
void store(std::uint64_t* word, std::uint64_t value, Simulation& simulation, Ordering ordering) {
  simulation.memory().write(simulation.thread(), reinterpret_cast<std::byte*>(word),
                            std::as_bytes(std::span(&value, 1)), ordering);
}

}  // namespace

std::string OrderedPlace::words() const {
  constexpr const char* kinds[] = {"acquire", "release", "barrier", "vote"};
  return file + " " + function + ": " + kinds[static_cast<std::size_t>(kind)];
}

std::string run_weakly(const WeakRun& run, std::uint32_t teams, std::uint32_t threads,
                       const std::function<void(HostTeam&, std::uint32_t)>& work) {
  Simulation simulation(run, teams, threads);
  std::vector<std::unique_ptr<HostTeamState>> states;
  for (std::uint32_t number = 0; number < teams; ++number) {
    states.push_back(std::make_unique<HostTeamState>(
        threads, std::make_unique<SimulatedMeetingPoint>(simulation, threads)));
  }
  running() = &simulation;
  const std::shared_ptr<void> ended(nullptr, [](void*) { running() = nullptr; });
  const bool all_ended = simulation.fibers().run([&](std::size_t fiber) {
    const auto number = static_cast<std::uint32_t>(fiber) / threads;
    HostTeam team(*states[number], static_cast<std::uint32_t>(fiber) % threads);
    work(team, number);
  });
  simulation.memory().settle();
  return all_ended ? simulation.memory().race() : "threads wait for each other for ever";
}

void load_ordinary(const std::byte* at, std::byte* to, std::size_t bytes) {
  access(
      [&](Simulation& simulation) {
        simulation.memory().read(simulation.thread(), at, {to, bytes}, Ordering::ordinary);
      },
      [&] { std::memcpy(to, at, bytes); });
}
void store_ordinary(std::byte* at, const std::byte* from, std::size_t bytes) {
  access(
      [&](Simulation& simulation) {
        simulation.memory().write(simulation.thread(), at, {from, bytes}, Ordering::ordinary);
      },
      [&] { std::memcpy(at, from, bytes); });
}

}  // namespace rondo::device::test

namespace rondo::device {

using test::access;
using test::Kind;
using test::Ordering;
using test::Simulation;

// One thread has no need of atomics: nothing else runs in tests that are simulated.

std::uint64_t load_acquire(const std::uint64_t* word, Site site) {
  return access(
      [&](Simulation& simulation) {
        return test::load(word, simulation, simulation.ordering(Kind::acquire, site));
      },
      [&] { return *word; });
}
void store_release(std::uint64_t* word, std::uint64_t value, Site site) {
  access(
      [&](Simulation& simulation) {
        test::store(word, value, simulation, simulation.ordering(Kind::release, site));
      },
      [&] { *word = value; });
}
std::uint64_t load_relaxed(const std::uint64_t* word) {
  return access(
      [&](Simulation& simulation) { return test::load(word, simulation, Ordering::relaxed); },
      [&] { return *word; });
}
void store_relaxed(std::uint64_t* word, std::uint64_t value) {
  access([&](Simulation& simulation) { test::store(word, value, simulation, Ordering::relaxed); },
         [&] { *word = value; });
}
bool exchange_if(std::uint64_t* word, std::uint64_t expected, std::uint64_t value) {
  return access(
      [&](Simulation& simulation) {
        return simulation.memory().exchange_if(simulation.thread(), word, expected, value);
      },
      [&] {
        const bool equal = *word == expected;
        if (equal) *word = value;
        return equal;
      });
}
void pause() {
  if (test::running() != nullptr) test::running()->fibers().yield();
}

}  // namespace rondo::device
