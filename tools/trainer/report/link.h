// What the link between ranks can carry, as measured by `rondo calibrate`.
#pragma once

#include <string>

namespace rondo::train {

struct Link {
  double rate = 0;      ///< bytes a second that a rank sends while it receives as many; 0: unknown
  double alpha = 0;     ///< seconds a message
  double beta = 0;      ///< seconds a byte that a rank sends while it receives as many
  double gamma = 0;     ///< seconds a byte that is combined, beyond copying it; float32 sums
  std::string words{};  ///< for people: which transport, ranks and machine
};

/// The transport of the calls, and the ranks that they connect.
struct Route {
  std::string transport{};
  int ranks = 2;
  bool apart = false;  ///< on several hosts
};

/// Takes the profile's entry for the transport, on one host or on several, with the nearest number
/// of ranks. `bytes`: the whole vector of a call. Throws Error{invalid_argument} that names the file,
/// what is wrong and how to make another.
Link read_link(const std::string& path, const Route& route, double bytes);

}  // namespace rondo::train
