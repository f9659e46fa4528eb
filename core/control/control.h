// Control: everything that the ranks of a job tell each other besides data. Bootstrap, exchange of
// small texts, aborts, and finding out why nothing moves.
//
// There is one Control per world (ranks that met once). Communicators split from it share it and
// have different numbers. It has a thread of its own that sleeps in the kernel, so a rank answers
// "which call are you in?" while its program computes or hangs elsewhere.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/address_family.h"
#include "core/base/secret.h"
#include "core/control/call.h"
#include "core/transport/host.h"
#include "rondo/error.h"

namespace rondo {

/// A communicator's channel to the control plane on one rank. `failure` is polled on the data path.
/// Everything here may be called from any thread.
class ControlChannel {
 public:
  virtual ~ControlChannel() = default;

  /// Collective over the communicator: everyone's blob, by rank. Throws at the bootstrap deadline,
  /// naming the ranks that did not come.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;
  /// Collective over the ranks that live, also where the communicator has failed: everyone's blob,
  /// by rank, and nothing where a rank has died, has left or does not come. All get the same, and so
  /// the same view of who is there. The first rank to wait for `longest` ends the wait for all.
  /// Throws Error{timeout} on a rank that the others went on without, and on all where those that came
  /// are too few to go on; Error{peer_lost} where nobody serves the job any more; Error{aborted}
  /// where this rank aborts meanwhile.
  virtual std::vector<std::optional<std::string>> exchange_living(
      const std::string& mine, std::chrono::milliseconds longest) = 0;

  /// True once this communicator has failed or was aborted anywhere. One load; acquire, so that
  /// failure() is there to be read. On x86 that costs what a relaxed load costs.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  /// The failure as an error of this rank. Call only when failed().
  virtual Error failure() const = 0;
  /// Fails the communicator on every rank. The first failure wins. The other ranks get an error of
  /// the same code that names this rank.
  virtual void fail(const Error& error) noexcept = 0;

  /// This rank has not moved for a while in the newest call of its log. Asks all ranks of the
  /// communicator for their calls and compares. Returns at once; a disagreement, a dead peer or
  /// (with `expired`) silence past the deadline turns into failed() within about a second.
  virtual void report_stall(bool expired) = 0;
  /// The same for a send or receive, which is in no log: this rank waits for rank `peer` of the
  /// communicator in `what`, e.g. "recv (4 x float32) from rank 2".
  virtual void report_stall_on(int peer, const std::string& what, bool expired) = 0;
  /// A frame from `peer` bore another fingerprint than this rank's call `sequence`. As
  /// report_stall, but ends in failed() in any case, naming both sides.
  /// `earlier`: it was in a call before, which this rank may have completed.
  virtual void report_mismatch(int peer, std::uint64_t sequence, bool earlier = false) = 0;
  /// This rank will make no further call: its leaving is not a failure. Idempotent; the destructor
  /// does it too. A rank that waits for one that left gets Error{mismatch}, which says so.
  virtual void leave() noexcept = 0;
  /// Before leave(), where the other ranks leave about now, too: returns when their calls so far
  /// have been compared with this rank's, or after `longest`. Calls that differ end in failed() on
  /// every rank that has not left. Waits only for ranks that have begun fewer calls.
  virtual void compare_calls(std::chrono::milliseconds longest) = 0;

  /// The silence after which the caller reports `expired`, and whether the program set it (else
  /// RONDO_TIMEOUT): for the words of the error.
  void set_timeout(std::chrono::milliseconds timeout, bool from_program = false) {
    timeout_.store(timeout.count(), std::memory_order_relaxed);
    timeout_from_program_.store(from_program, std::memory_order_relaxed);
  }

  /// Written by the thread that makes the calls, read by the control thread.
  CallLog& calls() { return calls_; }
  /// Before the first call: `note` is run where they are about to be read.
  void before_reports(std::function<void()> note) { before_reports_ = std::move(note); }

 protected:
  CallLog calls_;
  std::function<void()> before_reports_{};
  std::atomic<std::int64_t> timeout_{0};  ///< milliseconds; 0: unknown. Relaxed: guards nothing
  std::atomic<bool> timeout_from_program_{false};  ///< relaxed, likewise
  /// Set with release after the failure is stored; failed()'s acquire pairs with it.
  std::atomic<bool> failed_{false};
};

/// A world as one rank sees it.
class Control {
 public:
  virtual ~Control() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// One for every rank in the world.
  virtual const std::vector<HostInfo>& hosts() const = 0;
  /// What all ranks know, and strangers do not: for connections that they make to each other.
  virtual const Secret& secret() const = 0;
  /// A channel for the communicator `number` (the same on all members, unique in this world) whose
  /// rank i is world rank members[i]; this rank must be among them. World: number 0.
  virtual std::shared_ptr<ControlChannel> open(std::uint64_t number, std::vector<int> members) = 0;
  /// The process ends in order, so this rank goes. Its channels that were not left fail. Returns when
  /// the coordinator knows, after some seconds at most. The destructor does it, too. Idempotent.
  virtual void depart() noexcept = 0;
};

/// Where the ranks of a world find each other.
struct BootstrapPoint {
  std::string address{};  ///< name or number
  std::uint16_t port = 0;
  Secret secret{};     ///< the job's: whoever does not know it is refused
  bool by_id = false;  ///< a unique id names it: no other service ever comes there
  /// For messages: the settings that tell every rank the place.
  std::string named_by{"MASTER_ADDR and MASTER_PORT (or RONDO_PORT)"};
};

/// "localhost" is 127.0.0.1 for all ranks, whatever else it may be on a machine: rank 0 listens there
/// alone.
inline std::string meeting_address(const BootstrapPoint& point) {
  return point.address == "localhost" ? "127.0.0.1" : point.address;
}

/// Bootstrap of processes: rank 0 serves at `point`, and every rank connects to it. If `serving` is
/// false for rank 0 as well, a service of serve_bootstrap() does. Blocks until all `ranks` are there
/// or `deadline` has passed; the deadline holds for each exchange() too. The service lives until its
/// process exits or all ranks have left. The destructor of the last rank in that process waits a few
/// seconds for the others to leave. Throws Error{bootstrap} that names the ranks that are missing,
/// there twice or of another world, or the port if it is in use or no process listens there.
std::shared_ptr<Control> meet(const BootstrapPoint& point, int rank, int ranks, bool serving,
                              const HostInfo& host, std::chrono::milliseconds deadline);

/// Starts a bootstrap service of this process on a free port, for make_unique_id(). It lives as
/// long as the one above.
BootstrapPoint serve_bootstrap(const std::string& interface, AddressFamily family);

/// Threads: `ranks` controls that share memory.
std::vector<std::shared_ptr<Control>> meet_threads(
    int ranks, const HostInfo& host, std::chrono::milliseconds deadline = std::chrono::seconds{60});

}  // namespace rondo
