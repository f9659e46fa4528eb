// An open port is one port of one device, opened by one transport, with its completion queues.
//
// All work on a port ends in its completion queues. The thread that holds the transport polls them.
// While there is nothing to do, the descriptor of the completion channel wakes that thread. One
// thread at a time.
//
// Only sources that are built when libibverbs's headers are there include this one.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transports/verbs/library.h"
#include "transports/verbs/port_errors.h"
#include "transports/verbs/region_cache.h"

namespace rondo::verbs {

/// Posts work requests. It is told how signalled requests and failed ones ended.
class Worker {
 public:
  virtual ~Worker() = default;
  /// Called by OpenPort::poll(). `receive`: the request was a receive. `count`: its number, see
  /// request_id(). In a failed completion only status and vendor_err mean anything.
  virtual void completed(const ibv_wc& completion, bool receive, std::uint32_t count) noexcept = 0;
  /// The oldest of RegionCache::uses() whose memory the worker's queue pair may still read.
  virtual std::uint64_t oldest_read() const = 0;
};

/// ibv_wr::wr_id: the worker's number on its port, the kind, and a number modulo 2^31 that the
/// worker chose. A completion that failed carries nothing else.
inline constexpr std::uint32_t request_count_mask = (std::uint32_t{1} << 31) - 1;
inline std::uint64_t request_id(std::uint32_t worker, bool receive, std::uint64_t count) {
  return std::uint64_t{worker} << 32 | (receive ? std::uint64_t{1} << 31 : 0) |
         (count & request_count_mask);
}

class OpenPort final : public RegionCache::Device {
 public:
  /// Opens the port's device. Throws Error.
  OpenPort(Port port, Gid gid, int rank);
  ~OpenPort() override;
  OpenPort(const OpenPort&) = delete;
  OpenPort& operator=(const OpenPort&) = delete;

  const Port& description() const { return description_; }
  const Gid& gid() const { return gid_; }
  ibv_context* context() const { return context_.get(); }
  ibv_pd* domain() const { return domain_.get(); }
  /// The user's memory that the device knows.
  RegionCache& regions() { return regions_; }
  Registration register_block(const Block& block) override;
  std::uint64_t oldest_read() const override;
  /// A queue pair begins to read from the user's memory, or has ended it.
  void add_reader(const Worker& worker) { readers_.push_back(&worker); }
  void remove_reader(const Worker& worker) { std::erase(readers_, &worker); }
  /// What has been posted on it, for people and tests.
  struct Tally {
    std::uint64_t sends = 0;       ///< frames, credits and questions
    std::uint64_t from_place = 0;  ///< of them, frames from the user's memory
    std::uint64_t signalled = 0;   ///< of them, those that ask for a completion
    std::uint64_t questions = 0;   ///< of these, empty ones posted for nothing but that
  };
  Tally& tally() { return tally_; }
  /// The tally in one line.
  std::string account() const;
  /// The link for error texts.
  Link link(int peer) const;

  /// The worker's number for request_id(). It stays taken until the port goes, because completions
  /// of a queue pair may outlive it.
  std::uint32_t admit(Worker& worker);
  /// A completion queue with room for `entries` more. Throws Error.
  ibv_cq* queue(std::uint32_t entries);
  /// Hands completions to their workers. True when there were any. Throws Error where a queue is
  /// broken.
  bool poll() {
    bool moved = false;
    for (const Queue& queue : queues_) moved |= poll(queue.handle.get());
    return moved;
  }
  /// Asks for an event at the next completion. True when completions came meanwhile, which no event
  /// would tell.
  bool arm();
  /// Asks the device for the port's condition.
  PortCondition condition() const;
  /// The same after the device has refused or flushed correct work. The device may notice a fault
  /// before the port's state shows it. So a port that looks well is asked again, for half a second
  /// at most.
  PortCondition condition_after_refusal() const;
  /// The port went down, or is back. Queue pairs repeat their sends for `patience`, so it may come
  /// back in time.
  void note_down(const Error& error, std::chrono::microseconds patience);
  void note_back() { down_.reset(); }
  /// The failure given to note_down(), once that time is over and the port is still not well.
  std::optional<Error> given_up();
  /// Adds those of the completion channel and of asynchronous events.
  void add_descriptors(std::vector<pollfd>& descriptors) const;
  /// The next asynchronous event that concerns this port: what it means, and the queue pair it is
  /// about if it is about one. Null: none is there.
  struct Event {
    EventReport report;
    const ibv_qp* pair = nullptr;
  };
  std::unique_ptr<Event> next_event();

 private:
  struct Queue {
    CompletionQueue handle{};
    std::uint32_t room = 0;
  };
  bool poll(ibv_cq* queue);
  void drain_events();

  Port description_;
  Gid gid_;
  int rank_;
  Context context_;
  ProtectionDomain domain_{};
  CompletionChannel channel_{};
  std::uint32_t largest_queue_ = 0;
  std::vector<Queue> queues_{};
  std::vector<Worker*> workers_{};
  Tally tally_{};
  std::vector<const Worker*> readers_{};  ///< of the user's memory; each once
  struct Down {
    Error error;
    std::chrono::steady_clock::time_point until;
  };
  std::optional<Down> down_{};
  RegionCache regions_;  // goes before the domain
};

}  // namespace rondo::verbs
