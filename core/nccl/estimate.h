// How long calls would take, without making them.
#pragma once

#include <span>

#include "core/nccl/operations.h"

namespace rondo::nccl {

/// Seconds for all of them together, checked before: calls of one communicator follow each other,
/// communicators go on side by side, and of messages those sent and those received. By the cost
/// lines of the algorithms that rondo would choose among processes, with a clock of 1 us a message,
/// 0.1 ns a byte and 0.05 ns a reduced byte, as `rondo why` has without a profile: a measure to
/// compare calls by, not of this machine. Throws Error{invalid_usage} for a communicator that
/// cannot be used.
double estimated_seconds(std::span<const Operation> operations);

}  // namespace rondo::nccl
