// Copies from another process's memory by the kernel, and whether it allows them.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace rondo::shm {

/// Where a process can be reached, as it reports itself: its pid namespace (another one numbers
/// processes differently), its pid, and the address of a random number that only it has.
struct ReachAddress {
  std::uint64_t pid_namespace = 0;
  pid_t pid = 0;
  std::uint64_t probe = 0;
  std::uint64_t value = 0;
};

/// While it lives, other processes can test whether they reach this one.
class ReachProbe {
 public:
  ReachProbe();
  const ReachAddress& address() const { return address_; }

 private:
  std::unique_ptr<std::uint64_t> number_;
  ReachAddress address_;
};

/// Blank-separated hexadecimal numbers, and back; all zero where the text is something else.
std::string to_text(const ReachAddress& address);
ReachAddress parse_reach(const std::string& text);

/// Reads that number. False when the kernel refuses, or when the pid names another process here.
bool reaches(const ReachAddress& from, const ReachAddress& to);

/// Copies from address `there` of process `pid`. Throws Error{peer_lost} when there is no such
/// process, Error{system} when the kernel refuses. `rank` and `peer` are for these errors.
struct Reached {
  pid_t pid = 0;
  int rank = -1;
  int peer = -1;
};
void read_from(const Reached& process, std::uint64_t there, std::span<std::byte> into);

}  // namespace rondo::shm
