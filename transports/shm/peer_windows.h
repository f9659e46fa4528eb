// A peer's windows as this process has them: mapped, asked for, or refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/unique_fd.h"
#include "core/memory/shared_memory.h"
#include "core/transport/direct_access.h"
#include "transports/shm/handshake.h"

namespace rondo::shm {

class PeerWindows {
 public:
  PeerWindows(int rank, int peer) : rank_(rank), peer_(peer) {}

  /// Where the place lies in this process; null while its window is not mapped. No system call.
  /// Throws Error{invalid_argument} when it reaches beyond the window.
  std::byte* find(const Exposed& place, std::size_t bytes) const;

  /// Notes that a window is asked for.
  void ask(std::uint64_t number) { asked_.push_back(number); }
  bool is_asked(std::uint64_t number) const;
  /// True while an answer is outstanding.
  bool waits() const { return !asked_.empty(); }
  /// The peer's answer or offer: maps the window, or remembers why there is none.
  void settle(const Note& note, const UniqueFd& memory);
  /// Throws the reason why a window could not be had, once. The next call asks again.
  void check_refused(std::uint64_t number);

  /// Forgets what was asked: no answer will come any more.
  void give_up() { asked_.clear(); }
  /// Unmaps a window that the peer has freed.
  void drop(std::uint64_t number);

 private:
  struct Mapped {
    std::uint64_t number = 0;
    std::uint64_t base = 0;  ///< in the owner's address space
    Mapping memory{};
  };
  struct Refused {
    std::uint64_t number = 0;
    Verdict verdict = Verdict::refused;
  };

  int rank_;
  int peer_;
  std::vector<Mapped> mapped_{};
  std::vector<std::uint64_t> asked_{};
  std::vector<Refused> refused_{};
};

}  // namespace rondo::shm
