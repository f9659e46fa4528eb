// Calls that go from device to device: those of a communicator whose ranks share a machine and have
// a device each, on buffers in device memory. Others go through the host's memory, see
// in_streams.h.
#pragma once

#include <span>
#include <vector>

#include "core/nccl/in_streams.h"

namespace rondo::nccl {

/// Whether any of them is of a communicator that has such calls; else there is nothing to do here.
bool concern_devices(std::span<const Operation> operations);

/// Puts those that go from device to device into their streams, of each communicator collective by
/// collective and then all messages, piece by piece in turn between communicators; returns the
/// others. What fails is left out of both. Returns at once.
std::vector<Operation> put_between_devices(std::span<const Operation> operations,
                                           FirstFailure& failure);

}  // namespace rondo::nccl
