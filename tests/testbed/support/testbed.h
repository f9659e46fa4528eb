// Several hosts for a test, made by tests/testbed/testbed.
#pragma once

#include <string>
#include <vector>

#include "tests/job/support/job.h"

namespace rondo::test {

/// Hosts h0, h1, ... that last as long as the object, and not longer than this process. Any number
/// may exist at once. Throws std::runtime_error with the script's words when it cannot be made.
class Testbed {
 public:
  explicit Testbed(int hosts, int interfaces = 1);
  ~Testbed();
  Testbed(const Testbed&) = delete;
  Testbed& operator=(const Testbed&) = delete;

  /// The command that runs `words` on a host.
  Words on(int host, const Words& words) const;
  /// The program for rondorun's --ssh.
  std::string agent() const;
  /// Pulls the host's cable out of the switch; all of them unless one interface is named.
  void cut(int host, int interface = -1) const;
  void mend(int host) const;

  /// The number of a host's established connections in the kernel's table: "tcp" for IPv4, "tcp6"
  /// for IPv6.
  int connections(int host, const std::string& table) const;

  /// Bytes that a host has sent from an interface.
  long sent(int host, int interface) const;

  /// The address of host `host` on network `interface`.
  static std::string address(int host, int interface = 0);
  /// Empty, or why this machine has no testbeds: a reason to skip.
  static std::string obstacle();

 private:
  std::string name_;
};

/// rondorun on this machine: ranks on each of `hosts` hosts, reached over network `interface`.
Command job_on(const Testbed& testbed, int hosts, int interface, const Words& options,
               const Words& script, int ranks_per_host = 1);

}  // namespace rondo::test
