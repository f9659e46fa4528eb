// Call: one call of rondo's as data, and Plan: what one method of the backend does.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <functional>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "rondo/rondo.h"

namespace rondo_torch {

struct Call {
  rondo::Collective collective{};
  const void* input = nullptr;
  void* output = nullptr;
  std::size_t count = 0;  ///< as for rondo's call of that name
  rondo::DataType type{};
  rondo::ReduceOperator op = rondo::ReduceOperator::sum;
  int root = 0;        ///< of send_recv: the peer
  bool sends = false;  ///< of send_recv: which of both
};

/// Begins the call; returns at once.
rondo::Work begin(rondo::Communicator& communicator, const Call& call);
/// Makes the call: the same, but complete on return unless a rondo::Group is open.
void make(rondo::Communicator& communicator, const Call& call);

/// Calls to issue together, and what surrounds them. Tensors stay alive until all is complete.
struct Plan {
  c10d::OpType kind{};
  const char* name = "";
  std::vector<Call> calls{};
  std::vector<at::Tensor> outputs{};          ///< what the work's future holds
  std::vector<at::Tensor> kept{};             ///< inputs and temporary buffers
  std::vector<std::function<void()>> last{};  ///< once the calls are complete, in order
  int source = -1;                            ///< of a receive: the sender

  /// Adds another plan, to be issued together with this one.
  void merge(Plan other);
};

}  // namespace rondo_torch
