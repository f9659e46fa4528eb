// Messages of a rank to itself. Within device memory they are copies in the stream, and no other
// rank takes part.
#pragma once

#include <optional>
#include <vector>

#include "core/stream/request.h"

namespace rondo::stream {

/// This rank's messages to itself, in their order: the first send goes to the first recv, and so
/// on.
struct OwnMessages {
  OwnMessages(const std::vector<Request>& requests, int rank);
  /// Throws Error{invalid_usage} where a side is missing: no other thread makes it.
  void check_sides(int rank) const;

  std::vector<const Request*> sends{};
  std::vector<const Request*> receives{};
};

/// One copy for each send to `rank` and the recv at the same place in their order. Neither needs a
/// lane. None where one side lies on the host, or differs in count or type, where there are more
/// copies than may fill a driver's queue at once, or where there are no other requests. Then they
/// are messages like others.
std::optional<std::vector<OwnCopy>> own_copies(const std::vector<Request>& requests, int rank);

/// Takes the messages to `rank`, which are copies, out of the requests.
void leave_out_own(std::vector<Request>& requests, int rank);

/// Puts it into `stream`.
void enter(const OwnCopy& copy, cuda::Stream stream);

}  // namespace rondo::stream
