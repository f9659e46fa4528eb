// Engine: the host executor. Runs operations of one communicator over its transports.
//
// Collectives run one after the other, in the order in which every rank made them. Sends and
// receives have channels of their own and run beside them, in order per peer and direction. Not
// thread-safe: the caller holds the communicator's progress lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/checksum.h"
#include "core/control/control.h"
#include "core/execute/channels.h"
#include "core/execute/combine.h"
#include "core/execute/merged.h"
#include "core/execute/message_queues.h"
#include "core/execute/operation.h"
#include "core/execute/queue.h"
#include "core/execute/service.h"
#include "core/trace/recorder.h"
#include "core/transport/transport.h"
#include "rondo/traffic.h"

namespace rondo::detail {

class Engine {
 public:
  /// transports[peer]: how this rank talks to it (own entry null). `access`: the direct path to all
  /// of them, null where there is none. All outlive the engine. `oversubscribed`: this machine is
  /// oversubscribed; the same on all ranks of a machine. `checksum`: every frame carries one of its
  /// payload, which the receiver compares; the same on all ranks.
  Engine(int rank, std::vector<Transport*> transports, DirectAccess* access,
         ControlChannel& control, bool oversubscribed, bool checksum);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Every operation from here on is recorded; null: none. It outlives the engine.
  void set_trace(trace::Recorder* recorder);

  /// Asks it whenever it looks; null: nothing is served. It outlives that.
  void set_service(Service* service) { service_ = service; }
  /// Peers rely on it.
  bool serves() const { return service_ != nullptr && service_->has_peers(); }
  /// The service in which this rank waits for a peer; null: it waits in none.
  const Service* waits_in_service() const {
    return service_ != nullptr && service_->is_waiting() ? service_ : nullptr;
  }
  /// The length of the frame that has come from `peer` in the lane of sends and receives, where no
  /// receive from it is under way.
  std::optional<std::size_t> arrived_from(int peer);
  /// Whether ranks reach each other's memory; false: there is no direct path, or not yet.
  bool direct_is_open() { return merged_ != nullptr && merged_->is_open(); }

  /// Takes the operation into its queue. It stays alive until it is done.
  void submit(Operation* operation);
  /// Takes a collective that only its caller waits for, and completes it here and now, where
  /// nothing else is under way and the peers answer within `looks` looks. False: it is in the
  /// queue, perhaps begun. Throws what progress() throws.
  bool run_at_once(Operation* operation, std::uint32_t looks);
  /// Whether run_at_once() takes a call that has short ops only, with messages of the lane of sends
  /// and receives: all peers are reached by memory, nothing is recorded, and nothing is under way
  /// that would have to go before.
  bool takes_short_messages() const { return channels_.by_memory() && trace_ == nullptr && idle(); }
  /// Moves whatever can be moved. True when anything did. Throws what a transport throws.
  bool progress();
  /// Progress of connections and pending writes only; for idle moments. True when anything moved.
  bool progress_transports() { return channels_.progress(); }
  /// The oldest operation under way is watched from here on, where none is yet: only its progress
  /// counts until it has ended.
  void watch_oldest();
  /// Whether what moved since the last call was of the watched operation, or none is watched.
  bool progress_counts() {
    if (waits_in_service() != nullptr) return service_->progress_counts();
    return watch_.operation == nullptr || std::exchange(watch_.moved, false);
  }
  bool idle() const { return collectives_.empty() && messages_.empty(); }
  /// Ends everything that is under way with `failure`.
  void fail_all(const std::exception_ptr& failure);
  /// True when nothing sent waits in this process.
  bool flushed() const { return channels_.flushed(); }
  void add_descriptors(std::vector<pollfd>& descriptors) const {
    channels_.add_descriptors(descriptors);
  }
  /// The oldest send or receive under way; null when none.
  const Operation* oldest_point_to_point() const { return messages_.oldest(); }
  bool only_point_to_point() const { return collectives_.empty() && !messages_.empty(); }
  /// What all operations so far have sent.
  Traffic traffic() const;

 private:
  struct Watch {
    const Operation* operation = nullptr;
    bool moved = false;
  };
  /// One op of one pass, about to be tried.
  struct Instance {
    Operation& operation;
    const Op& op;
    std::uint64_t pass;
    InPlace& in_place;
  };

  /// Runs the oldest collective. True when it has ended.
  bool run_collective(Operation& operation, bool& moved);
  bool run_shared(Operation& operation, bool& moved);
  /// This operation moved.
  void note_move(const Operation& operation) {
    if (&operation == watch_.operation) watch_.moved = true;
  }
  bool run(Operation& operation);
  void grow_scratch(const PreparedCall& call) {
    if (scratch_.size() < call.scratch_bytes) scratch_.resize(call.scratch_bytes);
  }
  bool run_window(Operation& operation);
  /// Runs a call of one pass op by op, while what each of them waits for comes within `looks` looks.
  /// True when the call has ended; else run() goes on with it.
  bool run_in_order(Operation& operation, std::uint32_t looks);
  /// `index`: the instance's.
  bool try_op(Operation& operation, std::uint32_t op, std::uint64_t pass, std::uint64_t index);
  bool try_short(const Operation& operation, const ShortOp& op);
  /// The frame that is due from `peer`. Null: it has not come, or another one has, which is reported.
  const Frame* due(const Operation& operation, const ShortOp& op, int peer);
  /// Compares the checksums of all frames that the op takes, which have come.
  void check_payloads(const Operation& operation, const ShortOp& op,
                      std::span<const ShortOp::Place> sources);
  std::byte* memory(const Operation& operation, const ShortOp::Place& place);
  bool run_all_messages();
  bool run_messages(Queue<Operation*>& queue);
  /// True when the instance is complete, false when it must wait.
  bool run_op(const Instance& instance);
  bool send_in_place(const Instance& instance, SendChannel& out, std::size_t bytes);
  bool receive_in_place(const Instance& instance, ReceiveChannel& in, int peer, std::size_t bytes);
  void note_sent(const Instance& instance, std::size_t bytes);
  /// A frame has left, perhaps the first of its message.
  void count_frame(int peer, std::size_t bytes, bool first);
  std::uint32_t note_in_place(const Instance& instance, std::int64_t before, std::size_t bytes);
  std::int64_t time_if_traced() const;
  void note_begin(const Instance& instance, std::int64_t time) const;
  void note_end(const Instance& instance, std::size_t bytes) const;
  bool frames_arrived(const Instance& instance, std::size_t bytes);
  void check_frames(const Instance& instance) const;
  void combine(const Instance& instance, std::byte* slot);
  void combine_piece(const Instance& instance, std::byte* destination, bool streaming,
                     std::uint32_t piece, std::size_t frame_offset, std::size_t elements);
  std::byte* local(const Instance& instance, const Chunk& chunk, std::uint32_t piece);
  /// `call` is a message.
  [[noreturn]] void throw_mismatch(const Call& call, int peer) const;
  FrameTag tag_of(std::uint64_t fingerprint, std::span<const std::byte> payload) const {
    return {fingerprint, channels_.have_checksums() ? crc32c(payload) : 0};
  }
  /// Where frames have checksums: fails the communicator and throws if this is not what was sent.
  void check_payload(const Operation& operation, int peer, std::span<const std::byte> payload,
                     std::uint32_t checksum) const {
    if (!channels_.have_checksums()) return;
    const std::uint32_t computed = crc32c(payload);
    if (computed != checksum) throw_changed(operation, peer, payload.size(), computed, checksum);
  }
  [[noreturn]] void throw_changed(const Operation& operation, int peer, std::size_t bytes,
                                  std::uint32_t computed, std::uint32_t checksum) const;
  void check_length(std::size_t came, std::size_t due, const Call& call, int peer) const;
  /// Reports a frame of another call; true when it is one.
  bool foreign(const Operation& operation, int peer, std::uint64_t fingerprint);
  /// The caller's results are complete.
  void conclude(Operation& operation);
  void finish(Operation& operation);

  int rank_;
  Channels channels_;
  ControlChannel& control_;
  std::unique_ptr<MergedRun> merged_{};  ///< null: no direct path
  Queue<Operation*> collectives_{};      ///< in the order they were made
  MessageQueues messages_;
  std::vector<std::byte> scratch_;  ///< grows to the largest call's need, then stays
  std::vector<std::byte> staging_;  ///< one scaled slice of input
  Combiner combiner_{};
  std::vector<const void*> sources_;  ///< operands of the op being run
  std::vector<Frame> frames_;         ///< its frames, by operand
  Traffic sent_{};                    ///< by messages
  trace::Recorder* trace_ = nullptr;  ///< null: nothing is recorded
  Service* service_ = nullptr;        ///< null: nothing is served
  bool moved_in_place_ = false;       ///< part of a frame moved during this progress()
  Watch watch_{};
  std::uint64_t reported_mismatch_ = 0;  ///< sequence already reported
};

}  // namespace rondo::detail
