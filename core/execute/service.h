// Service: what a rank does for its peers between its own calls, as one-sided calls want it.
#pragma once

#include <exception>
#include <string>

namespace rondo::detail {

/// A rank that this one waits for by itself, and in what: "recv of 4 x float32".
struct Awaited {
  int peer = 0;
  std::string what{};
};

/// Asked by the engine, under the progress lock.
class Service {
 public:
  virtual ~Service() = default;
  /// Whether peers rely on serve(); else it only serves this rank's own waits.
  virtual bool has_peers() const = 0;
  /// Does what can be done without waiting. True when something moved. Throws what the engine does.
  virtual bool serve() = 0;
  /// Whether this rank waits for a peer here; and for which, and in what.
  virtual bool is_waiting() const = 0;
  virtual Awaited awaited() const = 0;
  /// Whether what is awaited here has moved since the last call.
  virtual bool progress_counts() = 0;
  /// The communicator has failed.
  virtual void end(const std::exception_ptr& failure) = 0;
};

}  // namespace rondo::detail
