// A rank that does what its arguments say, one after another. The tests of whole jobs start it.
//
//   argument = [RANK,RANK...:]ACTION[=DETAILS]      "^2:" means all ranks but 2
//
// Ends with status 0; 3 after a rondo::Error, which it prints; 4 after a wrong element.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "core/base/text.h"
#include "core/schedule/layout.h"
#include "tests/job/checked_calls.h"

namespace {

using namespace rondo;
using namespace rondo::test;
using Clock = std::chrono::steady_clock;

struct Rank {
  int number = 0;
  Communicator world{};
  unsigned calls = 0;
  std::vector<int> hoard{};  ///< descriptors taken away from the library

  void say(const std::string& text) const {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }
  std::string name() const { return "rank " + std::to_string(number); }
};

std::size_t number(const std::string& text) { return std::stoul(text); }

long descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

// ---- becoming a communicator and ceasing to be one

void join(Rank& rank, const std::string&) { rank.world = Communicator::from_environment(); }

/// Rank `maker` leaves the id in a file, whole at once; the others wait for it.
void join_by_id(Rank& rank, const std::string& details) {
  const auto comma = details.find(',');
  const std::string file = details.substr(comma + 1);
  const int ranks = std::stoi(std::getenv("WORLD_SIZE"));
  UniqueId id;
  if (rank.number == std::stoi(details.substr(0, comma))) {
    id = make_unique_id();
    std::ofstream(file + ".part", std::ios::binary).write(id.bytes.data(), id.bytes.size());
    std::filesystem::rename(file + ".part", file);
  } else {
    while (!std::filesystem::exists(file))
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::ifstream(file, std::ios::binary).read(id.bytes.data(), id.bytes.size());
  }
  rank.world = Communicator::from_unique_id(id, rank.number, ranks);
}

void finalize(Rank& rank, const std::string&) { rank.world.finalize(); }
void drop(Rank& rank, const std::string&) { rank.world = {}; }

Call sum_of(std::size_t count) {
  return {.count = count, .collective = Collective::all_reduce, .type = DataType::float32};
}

/// Joins, works, leaves; afterwards not one descriptor more is open.
void leak_check(Rank& rank, const std::string& details) {
  const long before = descriptors();
  {
    Communicator world = Communicator::from_environment();
    for (unsigned salt = 0; salt < 2; ++salt) checked_call(world, sum_of(number(details)), salt);
    Communicator half = world.split(world.rank() % 2);
    checked_call(half, sum_of(number(details)));
  }
  rank.say(rank.name() + " keeps " + std::to_string(descriptors() - before) + " descriptors");
}

// ---- calls

void call(Rank& rank, const std::string& details) {
  checked_call(rank.world, parse_call(details), rank.calls++);
}

void exchange(Rank& rank, const std::string& details) {
  checked_exchange(rank.world, number(details), rank.calls++);
}

/// Every collective. Where there is a block for each rank, the whole has about `details` elements.
void every_collective(Rank& rank, const std::string& details) {
  const std::size_t count = number(details);
  const auto ranks = static_cast<std::size_t>(rank.world.size());
  const std::size_t block = count == 0 ? 0 : std::max<std::size_t>(1, count / ranks);
  for (const CollectiveInfo& row : collectives) {
    const bool whole = is_vector(row.collective);
    const int last = rank.world.size() - 1;
    for (const int root : {0, last}) {
      checked_call(rank.world,
                   {.count = whole ? count : block,
                    .collective = row.collective,
                    .type = DataType::float32,
                    .root = root},
                   rank.calls++);
      if (!row.has_root) break;
    }
  }
}

void every_operator(Rank& rank, const std::string& details) {
  for (const ReduceOperatorInfo& row : reduce_operators)
    checked_call(rank.world,
                 {.count = number(details),
                  .collective = Collective::all_reduce,
                  .type = DataType::int32,
                  .op = row.op},
                 rank.calls++);
}

void overlap(Rank& rank, const std::string& details) {
  checked_overlap(rank.world, number(details));
}

/// Splits odd from even ranks, in reverse order, and copies the world.
void split(Rank& rank, const std::string& details) {
  Communicator half = rank.world.split(rank.number % 2, -rank.number);
  const int same = (rank.world.size() - rank.number % 2 + 1) / 2;
  if (half.size() != same || half.rank() != same - 1 - rank.number / 2)
    throw WrongElement("split made rank " + std::to_string(half.rank()) + " of " +
                       std::to_string(half.size()));
  Communicator copy = rank.world.dup();
  for (const std::size_t count : {std::size_t{1}, number(details)}) {
    checked_call(half, sum_of(count), rank.calls++);
    checked_call(copy, {.count = count, .collective = Collective::all_gather}, rank.calls++);
  }
  if (rank.world.split(rank.number == 0 ? 0 : -1)) {
    if (rank.number != 0) throw WrongElement("a negative color is in a communicator");
  } else if (rank.number == 0) {
    throw WrongElement("color 0 is in no communicator");
  }
}

/// From now on this rank's world is its half, odd or even, or a copy.
void keep_half(Rank& rank, const std::string&) { rank.world = rank.world.split(rank.number % 2); }
void keep_copy(Rank& rank, const std::string&) { rank.world = rank.world.dup(); }

/// Repeats a call for ever, and says so after three calls.
template <class Call>
void repeat(Rank& rank, const std::string& details, Call&& call) {
  for (;;) {
    call(rank, details);
    if (rank.calls == 3) rank.say("turning " + std::to_string(rank.number));
  }
}
void loop(Rank& rank, const std::string& details) { repeat(rank, details, call); }
void loop_exchange(Rank& rank, const std::string& details) { repeat(rank, details, exchange); }

/// Calls, and goes on with the ranks that live when some are lost, until no more than the second
/// number are left. They make three more calls.
void survive(Rank& rank, const std::string& details) {
  const auto comma = details.find(',');
  const auto least = static_cast<int>(number(details.substr(comma + 1)));
  for (unsigned done = 0; done < 3;) {
    try {
      checked_call(rank.world, sum_of(number(details.substr(0, comma))), rank.calls++);
      if (rank.calls == 3) rank.say("turning " + std::to_string(rank.number));
      if (rank.world.size() <= least) ++done;
    } catch (const Error& error) {
      rank.say(rank.name() + " goes on after: " + error.what());
      rank.world = rank.world.shrink();
      rank.calls = 1000;  // the others may have failed in another call
    }
  }
  rank.say(std::to_string(rank.world.size()) + " ranks go on");
}

/// "FILE:all_reduce,1000" or "FILE:exchange,1000": repeats the call until the file is there. Rank 0
/// looks, and tells the others after every eighth call. Each rank says how far it is.
void loop_until(Rank& rank, const std::string& details) {
  const auto colon = details.rfind(':');
  const std::string file = details.substr(0, colon);
  constexpr std::string_view unequal = "exchange,";
  const bool exchanges = details.compare(colon + 1, unequal.size(), unequal) == 0;
  const std::string work = details.substr(colon + 1 + (exchanges ? unequal.size() : 0));
  const unsigned begun = rank.calls;
  Clock::time_point told{};
  for (int there = 0; there == 0;) {
    for (int i = 0; i < 8; ++i) exchanges ? exchange(rank, work) : call(rank, work);
    there = rank.number == 0 && std::filesystem::exists(file) ? 1 : 0;
    rank.world.broadcast(&there, &there, 1, DataType::int32, 0);
    if (Clock::now() - told < std::chrono::milliseconds(200)) continue;
    told = Clock::now();
    rank.say(rank.name() + " has made " + std::to_string(rank.calls - begun) + " calls");
  }
}

void describe(Rank& rank, const std::string& details) {
  rank.say(rank.name() + " uses " +
           rank.world.describe(Collective::all_reduce, number(details), DataType::float32));
}

/// Makes this rank's data differ from what the others expect.
void stray(Rank& rank, const std::string&) { ++rank.calls; }

void abort_world(Rank& rank, const std::string& details) { rank.world.abort(details); }

// ---- everything else a process may do

void say(Rank& rank, const std::string& details) {
  rank.say(details + " " + std::to_string(rank.number));
}
void up(Rank& rank, const std::string&) {
  rank.say("up " + std::to_string(rank.number) + " " + std::to_string(::getpid()));
}
void set(Rank&, const std::string& details) {
  const auto equals = details.find('=');
  ::setenv(details.substr(0, equals).c_str(), details.c_str() + equals + 1, 1);
}
void unset(Rank&, const std::string& details) { ::unsetenv(details.c_str()); }

/// rondorun gives ranks a second to say what they saw, and then sends SIGTERM: too short on a
/// machine that stands still. So a rank heeds the signal only while it waits or computes.
void heed_termination(bool heed) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(heed ? SIG_UNBLOCK : SIG_BLOCK, &signals, nullptr);
}

void compute(Rank&, const std::string& details) {
  heed_termination(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(number(details)));
  heed_termination(false);
}
void wait_for_ever(Rank&, const std::string&) {
  heed_termination(true);
  for (;;) ::pause();
}
void wait_for_file(Rank&, const std::string& details) {
  heed_termination(true);
  while (!std::filesystem::exists(details))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  heed_termination(false);
}
void set_patience(Rank& rank, const std::string& details) {
  rank.world.set_timeout(std::chrono::milliseconds(number(details)));
}
void raise_signal(Rank&, const std::string& details) { ::raise(std::stoi(details)); }
void throw_exception(Rank&, const std::string& details) { throw std::runtime_error(details); }
void leave(Rank&, const std::string& details) { std::exit(std::stoi(details)); }
void end_at_once(Rank&, const std::string& details) { ::_exit(std::stoi(details)); }

/// No file, and so no shared memory, may grow beyond this many bytes. It ignores the signal, which
/// would otherwise kill.
void limit_file_size(Rank&, const std::string& details) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{number(details), RLIM_INFINITY};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}
/// Leaves the library no more than this many descriptors.
void limit_descriptors(Rank& rank, const std::string& details) {
  std::vector<int> spare;
  for (std::size_t i = 0; i <= number(details); ++i) spare.push_back(::open("/dev/null", O_RDONLY));
  const rlimit limit{static_cast<rlim_t>(spare.back()) + 1, RLIM_INFINITY};
  ::setrlimit(RLIMIT_NOFILE, &limit);
  for (int taken = 0; (taken = ::dup(0)) >= 0;) rank.hoard.push_back(taken);
  rank.hoard.push_back(spare.front());
  for (const int descriptor : spare)
    if (descriptor != spare.front()) ::close(descriptor);
}

struct Action {
  std::string_view name;
  void (*act)(Rank&, const std::string& details);
};
constexpr std::array actions{
    Action{"join", join},
    Action{"join_by_id", join_by_id},
    Action{"finalize", finalize},
    Action{"drop", drop},
    Action{"leak_check", leak_check},
    Action{"call", call},
    Action{"exchange", exchange},
    Action{"every_collective", every_collective},
    Action{"every_operator", every_operator},
    Action{"overlap", overlap},
    Action{"split", split},
    Action{"keep_half", keep_half},
    Action{"keep_copy", keep_copy},
    Action{"loop", loop},
    Action{"loop_exchange", loop_exchange},
    Action{"survive", survive},
    Action{"loop_until", loop_until},
    Action{"describe", describe},
    Action{"stray", stray},
    Action{"abort", abort_world},
    Action{"say", say},
    Action{"up", up},
    Action{"set", set},
    Action{"unset", unset},
    Action{"compute", compute},
    Action{"timeout", set_patience},
    Action{"wait", wait_for_ever},
    Action{"wait_for_file", wait_for_file},
    Action{"raise", raise_signal},
    Action{"throw", throw_exception},
    Action{"exit", leave},
    Action{"_exit", end_at_once},
    Action{"limit_file_size", limit_file_size},
    Action{"limit_descriptors", limit_descriptors},
};

/// Takes "0,2:" off the front and tells whether this rank is meant.
bool concerns(std::string& argument, int rank) {
  const auto colon = argument.find(':');
  if (colon == std::string::npos || argument.find_first_not_of("^,0123456789") != colon)
    return true;
  const bool except = argument.front() == '^';
  bool named = false;
  for (const std::string& one : rondo::split(argument.substr(except ? 1 : 0, colon), ','))
    named |= std::stoi(one) == rank;
  argument.erase(0, colon + 1);
  return named != except;
}

void perform(Rank& rank, const std::string& argument) {
  const auto equals = std::min(argument.find('='), argument.size());
  const std::string word = argument.substr(0, equals);
  for (const Action& action : actions) {
    if (action.name != word) continue;
    return action.act(rank, equals < argument.size() ? argument.substr(equals + 1) : "");
  }
  throw std::invalid_argument("no action '" + word + "'");
}

/// "rank 2 fails peer_lost 1 after 0.2 s: text"
void tell(const Rank& rank, const Error& error, Clock::duration after) {
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.3f",
                std::chrono::duration<double>(after).count());
  rank.say(rank.name() + " fails " + std::string(name(error.code())) + " " +
           std::to_string(error.peer()) + " after " + seconds.data() + " s: " + error.what());
}

int run(Rank& rank, const std::vector<std::string>& arguments) {
  Clock::time_point begin{};
  try {
    for (std::string argument : arguments) {
      if (!concerns(argument, rank.number)) continue;
      begin = Clock::now();
      perform(rank, argument);
    }
    return 0;
  } catch (const Error& error) {
    tell(rank, error, Clock::now() - begin);
    return 3;
  } catch (const WrongElement& wrong) {
    rank.say(rank.name() + " is WRONG: " + wrong.what());
    return 4;
  }
}

}  // namespace

int main(int argc, char** argv) {
  heed_termination(false);  // before there are threads, which inherit it
  Rank rank;
  if (const char* const variable = std::getenv("RANK")) rank.number = std::atoi(variable);
  return run(rank, {argv + 1, argv + argc});
}
