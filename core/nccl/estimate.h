// Predicts how long calls would take, without making them (ncclGroupSimulateEnd).
#pragma once

#include <span>

#include "core/nccl/operations.h"

namespace rondo::nccl {

/// Seconds for all of them together. They were checked before. Calls of one communicator follow
/// each other, but messages sent and messages received go on side by side, and so do communicators.
/// The times come from the cost lines of the algorithms that rondo would choose among processes.
/// The constants are default_costs (core/schedule/simulate.h), as in `rondo why` without a profile.
/// So the times are a measure to compare calls by, not of this machine. Throws
/// Error{invalid_usage} for a communicator that cannot be used.
double estimated_seconds(std::span<const Operation> operations);

}  // namespace rondo::nccl
