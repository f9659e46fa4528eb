#include "bench/floor/team.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace rondo::bench {
namespace {

constexpr unsigned looks_before_yield = 20000;  ///< a fraction of a millisecond

std::vector<int> cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  std::vector<int> list;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) list.push_back(core);
  }
  return list;
}

void bind_to(int core) {
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(core, &own);
  sched_setaffinity(0, sizeof(own), &own);
}

/// What members tell each other, each word on cache lines of its own. A new one is all zero bytes.
struct Board {
  explicit Board(int members) : shares_cores(members > allowed_cores()) {}

  const bool shares_cores;  ///< noted before each member is bound to one
  alignas(128) std::atomic<std::uint32_t> arrived{0};
  alignas(128) std::atomic<std::uint32_t> round{0};
  alignas(128) std::uint64_t agreed = 0;  ///< member 0 alone writes it, between two meetings
  double values[most_members]{};          ///< each member writes its own, between two meetings
};

class MeetingMember final : public Member {
 public:
  MeetingMember(int rank, int size, Board& board)
      : Member(rank, size, board.shares_cores), board_(board) {}
  void meet() override;
  std::uint64_t agree(std::uint64_t value) override;
  double largest(double value) override;

 private:
  Board& board_;
};

void MeetingMember::meet() {
  // acquire: pairs with the last member's release below, so that a member that leaves a meeting
  // cannot count itself into the next one before the counter is zero again.
  const std::uint32_t round = board_.round.load(std::memory_order_acquire);
  // acq_rel: through this chain each member's writes before the meeting reach the last member.
  if (board_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 ==
      static_cast<std::uint32_t>(size())) {
    board_.arrived.store(0, std::memory_order_relaxed);  // published by the next line
    board_.round.store(round + 1, std::memory_order_release);
    return;
  }
  // acquire: pairs with the release of the member that came last.
  for (unsigned looks = 0; board_.round.load(std::memory_order_acquire) == round; ++looks) {
    if (looks > looks_before_yield) ::sched_yield();
  }
}

std::uint64_t MeetingMember::agree(std::uint64_t value) {
  if (rank() == 0) board_.agreed = value;
  meet();
  const std::uint64_t agreed = board_.agreed;
  meet();
  return agreed;
}

double MeetingMember::largest(double value) {
  board_.values[rank()] = value;
  meet();
  const double most = *std::max_element(board_.values, board_.values + size());
  meet();
  return most;
}

/// Whether the body went well. If not, its message is on standard error.
bool runs_well(const char* what, Member& member, const std::function<void(Member&)>& body) {
  try {
    body(member);
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s %d: %s\n", what, member.rank(), error.what());
    return false;
  }
}

/// All that a child process does.
[[noreturn]] void live(Member& member, pid_t parent, const std::function<void(Member&)>& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) std::_Exit(1);  // the parent died before the line above
  const std::vector<int> allowed = cores();
  if (!allowed.empty()) bind_to(allowed[static_cast<std::size_t>(member.rank()) % allowed.size()]);
  const bool well = runs_well("process", member, body);
  std::fflush(nullptr);
  std::_Exit(well ? 0 : 1);  // only the parent destroys what it owns
}

void check_size(int size) {
  if (size < 1 || size > most_members) {
    throw std::invalid_argument("a team has 1 to " + std::to_string(most_members) + " members");
  }
}

void end_all(std::span<const pid_t> children) {
  for (const pid_t child : children) {
    if (child > 0) ::kill(child, SIGKILL);
  }
}

/// Waits for every child, and ends all of them as soon as one fails. True when none failed.
bool await(std::vector<pid_t> children) {
  bool well = true;
  for (std::size_t left = children.size(); left > 0;) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) throw std::system_error(errno, std::system_category(), "waitpid");
    const auto place = std::find(children.begin(), children.end(), ended);
    if (place == children.end()) continue;
    *place = 0;
    --left;
    if (status == 0) continue;
    well = false;
    end_all(children);
  }
  return well;
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
  void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::system_category(),
                            "cannot share " + std::to_string(bytes_) + " bytes of memory");
  }
  memory_ = static_cast<std::byte*>(memory);
}

SharedMemory::~SharedMemory() { ::munmap(memory_, bytes_); }

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

int allowed_cores() { return std::max(1, static_cast<int>(cores().size())); }

void run_team(int size, const std::function<void(Member&)>& body) {
  check_size(size);
  const SharedMemory memory(sizeof(Board));
  auto& board = *new (memory.data()) Board(size);  // goes with the mapping, without a destructor
  const pid_t parent = ::getpid();
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = ::fork();
    if (child < 0) {
      const int reason = errno;
      end_all(children);
      await(children);
      throw std::system_error(reason, std::system_category(), "fork");
    }
    if (child == 0) {
      MeetingMember member(rank, size, board);
      live(member, parent, body);
    }
    children.push_back(child);
  }
  if (!await(children)) throw std::runtime_error("a process failed; see its own message");
}

void run_threads(int size, const std::function<void(Member&)>& body) {
  check_size(size);
  Board board(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      MeetingMember member(rank, size, board);
      if (runs_well("thread", member, body)) return;
      std::fflush(nullptr);
      std::_Exit(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace rondo::bench
