// AllRanks: calls that one thread makes for all ranks of a communicator at once, on devices that
// reach each other's memory. Kernels combine the ranks' buffers in place. There is no staging,
// there are no messages, and no kernel waits for another.
//
//   every rank's streams  --events-->  a stream of each device  --events-->  every rank's streams
//                                      (one launch a call, one device)
//
// Events order the calls of a communicator, including those made for a rank on other paths
// (StreamCalls, direct_device::DeviceCalls). All of it can be captured, if all streams belong to
// one capture.
//
// Threads: one at a time, as for the ranks' StreamCalls.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/stream/places.h"
#include "core/stream/stream_calls.h"
#include "core/stream/traced.h"

namespace rondo::stream {

class AllRanks {
 public:
  /// By rank. `others`: the order of calls that are made neither here nor in `ranks`; null: none.
  /// Loads kernels and lets the devices reach each other. If that is impossible, RONDO_DEBUG=INFO
  /// says why, and put() takes nothing.
  AllRanks(std::vector<std::shared_ptr<StreamCalls>> ranks,
           const std::vector<std::shared_ptr<Order>>& others);

  /// Puts the calls into their streams, by rank, each rank's in order. Arguments were checked
  /// before. Returns at once. False: nothing was done, because this path cannot serve them: buffers
  /// on the host or out of reach, ranks that disagree, messages without their other side, or
  /// streams of several captures. Throws the failure of an earlier call of any rank on any path, or
  /// CudaError, after which no further call succeeds on any rank.
  bool put(const std::vector<std::vector<Request>>& by_rank);
  /// Returns when all that was put is complete. Throws CudaError.
  void finish();
  /// For calls that follow these, as those of StreamCalls do. Null if put() takes nothing.
  const std::shared_ptr<Order>& order() const { return order_; }

 private:
  /// A device, by its context, and the rank whose stream its launches go into.
  struct Device {
    cuda::Context context = nullptr;
    const cuda::Kernels* kernels = nullptr;
    std::size_t rank = 0;
    int number = 0;
  };
  /// What is put into streams: the calls, and which streams there are.
  struct Plan {
    std::vector<Places> calls{};          ///< one after the other
    std::vector<cuda::Stream> of_rank{};  ///< by rank: one of its streams
    std::vector<cuda::Stream> lead{};     ///< by device: for its launches; of its `rank`
    /// All others, once each, and their ranks.
    std::vector<std::pair<cuda::Stream, std::size_t>> others{};
    std::optional<cuda::Capture> capture{};
    Traced traced{};
  };

  std::shared_ptr<Order> make_order() const;
  std::string words_of_devices() const;
  void check_ranks() const;
  void find_devices();
  void reach_each_other() const;
  bool is_in_reach(const void* pointer, Location where, std::size_t bytes) const;
  bool are_in_reach(const Request& request, std::size_t rank) const;
  std::optional<Plan> plan(const std::vector<std::vector<Request>>& by_rank);
  bool find_streams(const std::vector<std::vector<Request>>& by_rank, Plan& plan) const;
  void run(const Plan& plan);
  template <class Body>
  void for_used_orders(const Body& body) const;
  void gather_leads(const Plan& plan);
  void release_leads(const Plan& plan);
  void begin(const Plan& plan);
  void launch(const Plan& plan);
  void end(const Plan& plan);

  const std::vector<std::shared_ptr<StreamCalls>> ranks_;
  /// The order of all calls that are made for a rank on other paths, and the rank. Those paths own
  /// it, and let go of the events while their context is there.
  std::vector<std::pair<std::size_t, std::weak_ptr<Order>>> orders_of_ranks_{};
  /// In the first rank's context, which it keeps. It is apart from the ranks' own orders, as their
  /// calls wait for each other. The ranks share it, and so it lives as long as a graph needs it.
  std::shared_ptr<Order> order_{};
  std::vector<Device> devices_{};         ///< empty: this path is closed
  std::vector<std::size_t> device_of_{};  ///< by rank
  JointPlans plans_;
};

/// All ranks' calls, by rank, as places: collectives in their order, then all messages. None where
/// the ranks disagree, where a message lacks its other side, or where one writes what another one
/// reads or writes.
std::optional<std::vector<Places>> match_calls(const std::vector<std::vector<Request>>& by_rank,
                                               JointPlans& plans);

}  // namespace rondo::stream
