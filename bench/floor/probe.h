// Probe: one thing that is timed at one size, and what it moves.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bench/floor/options.h"
#include "bench/floor/trial.h"

namespace rondo::bench {

/// Names that the report looks probes up by.
namespace probe {
inline constexpr const char* flags = "flag exchange";
inline constexpr const char* ping_pong = "flag ping-pong, one way";
/// The promises of promises.cc. Each probe includes those before it.
inline constexpr const char* promised_data = "by hand: data beside the flag";
inline constexpr const char* promised_failures = "by hand: + checks of arguments, failures";
inline constexpr const char* promised_log = "by hand: + lock, log of calls";
inline constexpr const char* promised_all = "by hand: + agreement, all promised";
inline constexpr const char* copy_all = "copy, all cores";
inline constexpr const char* copy_all_streaming = "copy, all cores, streaming";
inline constexpr const char* by_hand = "direct all-reduce by hand";
inline constexpr const char* by_hand_streaming = "direct all-reduce by hand, streaming";
inline constexpr const char* sockets = "sockets, both ways";
inline constexpr const char* two_sockets = "sockets, one for each way";
inline constexpr const char* rondo_heap = "rondo all_reduce, shm";
inline constexpr const char* rondo_window = "rondo all_reduce, shm, allocate()";
inline constexpr const char* rondo_tcp = "rondo all_reduce, tcp";
/// One of the pairs of rondo_price: "ring over shm by hand".
inline constexpr const char* hand = "hand";
inline constexpr const char* executor = "the executor";
inline std::string priced(const std::string& transport, const std::string& algorithm,
                          const char* by) {
  return algorithm + " over " + transport + " by " + by;
}
}  // namespace probe

/// One member's vectors of float32.
struct Vectors {
  float* input;
  float* output;
  std::size_t bytes;

  std::size_t count() const { return bytes / sizeof(float); }
};

struct Probe {
  std::string name{};
  std::size_t bytes = 0;  ///< the size of a vector, or of a message, that the probe stands for
  double traffic = 0;     ///< bytes that all members read, write or carry in a call; 0: no rate
  Trial trial{};
};

/// The result of a probe.
struct Result {
  std::string name{};
  std::size_t bytes = 0;
  double traffic = 0;
  std::vector<double> samples{};  ///< seconds of a call

  Spread seconds() const { return spread_of(samples); }
  /// Bytes per second at the median; 0 where the probe has no rate.
  double rate() const { return traffic > 0 ? traffic / seconds().median : 0; }
};

/// The result of that name and size; null where it was not measured.
const Result* find(const std::vector<Result>& results, const std::string& name, std::size_t bytes);

/// Where probes come from.
struct Source {
  /// Adds its probes of one size. They refer to the source.
  std::function<void(std::size_t bytes, std::vector<Probe>& probes)> add{};
  std::function<void()> finish{};  ///< called after all sizes; collective; may be empty
};

/// Collective. At each size the probes of all sources take turns.
std::vector<Result> measure(Member& member, const TeamOptions& options,
                            const std::vector<Source>& sources);

}  // namespace rondo::bench
