// The settings of InfiniBand and RoCE, as the environment gives them.
#pragma once

#include <string>

namespace rondo {

/// Value type; every number is within the range that its setting's row states.
struct InfinibandConfig {
  std::string hca{};      ///< RONDO_IB_HCA, as written; transports/verbs/settings.h parses it
  bool disable = false;   ///< RONDO_IB_DISABLE
  int gid_index = -1;     ///< RONDO_IB_GID_INDEX; -1: chosen by transports/verbs/addresses.h
  int timeout = 18;       ///< RONDO_IB_TIMEOUT: 4.096 us x 2^timeout for each try
  int retry_count = 7;    ///< RONDO_IB_RETRY_CNT: tries after the first
  int service_level = 0;  ///< RONDO_IB_SL
  int traffic_class = 0;  ///< RONDO_IB_TC
  int pkey_index = 0;     ///< RONDO_IB_PKEY: an index into the port's table
  int queue_pairs = 1;    ///< RONDO_IB_QPS_PER_CONNECTION
  friend bool operator==(const InfinibandConfig&, const InfinibandConfig&) = default;
};

}  // namespace rondo
