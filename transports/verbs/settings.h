// The settings of the verbs transport: InfinibandConfig, checked and in the types of libibverbs, which
// they do not need.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/config_infiniband.h"

namespace rondo::verbs {

/// Which devices and ports RONDO_IB_HCA allows.
///
///   mlx5              ports of devices whose names begin so
///   mlx5_0:1,mlx5_1   several, the first at its port 1 only
///   =mlx5_1           exactly this name ("mlx5_1" alone means mlx5_10, too)
///   ^mlx5_3           all but these
///   ^=mlx5_3:2        all but exactly this port
///
/// This is the syntax of NCCL_IB_HCA. Its newer ":port:port:plane" is refused by name. Value type.
class HcaSelection {
 public:
  /// Allows everything.
  HcaSelection() = default;
  /// Throws Error{configuration} that quotes the part that is wrong. Empty text allows everything.
  explicit HcaSelection(std::string_view text);

  bool allows(std::string_view device, int port) const;
  /// True when anything was said at all.
  bool restricts() const { return !entries_.empty(); }
  /// The selection as it was written.
  const std::string& text() const { return text_; }

 private:
  struct Entry {
    std::string device{};
    int port = 0;  ///< 0: every port
  };
  std::string text_;
  bool excluding_ = false;
  bool exact_ = false;
  std::vector<Entry> entries_;
};

/// Value type.
struct Settings {
  HcaSelection hcas{};
  bool disabled = false;
  int gid_index = -1;              ///< -1: choose_gid() decides
  std::uint8_t timeout = 18;       ///< ibv_qp_attr::timeout, 1 to 31; never 0, which waits forever
  std::uint8_t retry_count = 7;    ///< ibv_qp_attr::retry_cnt, 0 to 7
  std::uint8_t service_level = 0;  ///< ibv_ah_attr::sl, 0 to 15
  std::uint8_t traffic_class = 0;  ///< ibv_global_route::traffic_class
  std::uint16_t pkey_index = 0;    ///< ibv_qp_attr::pkey_index
  int queue_pairs = 1;             ///< for each connection, 1 to 128
  int numa_node = -1;              ///< near which ports are preferred; -1: none
};

/// Throws Error{configuration} for a RONDO_IB_HCA that cannot be parsed.
Settings make_settings(const InfinibandConfig& config);

/// The least time after which a queue pair gives up on a silent peer: (retry_count + 1) x 4.096 us
/// x 2^timeout. Devices may take up to four times as long.
std::chrono::microseconds retry_time(const Settings& settings);

}  // namespace rondo::verbs
