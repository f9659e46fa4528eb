// GPUs with links between them, as the models of time know them.
#pragma once

namespace rondo::device::test {

/// Seconds, and bytes a second. An H100 with NVLink, as far as it is public: 3.35 TB/s of memory, of
/// which copies reach 90 %; links of 450 GB/s each way, of which headers take about a fifth; a
/// processor that takes 64 bytes from the cache in each cycle of 1.7 GHz.
struct Machine {
  double memory_bandwidth = 3.0e12;
  double link_bandwidth = 370e9;  ///< out of a GPU, and into one: payload
  double team_bandwidth = 109e9;  ///< of one block's loads, and of its stores
  double memory_latency = 0.7e-6;
  double word_latency = 0.3e-6;  ///< of a flag, which lies in the cache
  double link_latency = 0.8e-6;  ///< one way
  double barrier = 0.05e-6;
  double look = 0.05e-6;           ///< between two at a word
  unsigned loads_at_once = 4;      ///< of a thread, which registers hold
  unsigned threads_of_team = 512;  ///< on the device
};

}  // namespace rondo::device::test
