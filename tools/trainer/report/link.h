// What the wire between ranks can carry, as `rondo calibrate` measured it.
#pragma once

#include <string>

namespace rondo::train {

struct Link {
  double rate = 0;      ///< bytes a second that a rank sends while it receives as many; 0: unknown
  double alpha = 0;     ///< seconds a message
  double beta = 0;      ///< seconds a byte that a rank sends while it receives as many
  double gamma = 0;     ///< seconds a byte that is combined, beyond copying it; float32 sums
  std::string words{};  ///< for people: of which transport, ranks and machine
};

/// Between which ranks calls go.
struct Route {
  std::string transport{};
  int ranks = 2;
  bool apart = false;  ///< on several hosts
};

/// Of the profile's entries for the transport, on one host or on several, the one whose number of
/// ranks is nearest; of its samples, that of the size nearest to `bytes`, the whole vector of a
/// call. Throws Error{invalid_argument} that names the file, what is wrong with it and how to make
/// another.
Link read_link(const std::string& path, const Route& route, double bytes);

}  // namespace rondo::train
