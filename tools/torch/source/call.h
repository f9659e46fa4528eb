// Plan: the calls of rondo's that one method of the backend makes.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "tools/python/source/call.h"

namespace rondo_torch {

using rondo_python::begin;
using rondo_python::Call;
using rondo_python::make;

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
