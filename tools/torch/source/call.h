// Plan: the rondo calls that one method of the backend makes.
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

/// Calls to issue together, with their tensors, which stay alive until all is complete.
struct Plan {
  c10d::OpType kind{};
  const char* name = "";
  std::vector<Call> calls{};
  std::vector<at::Tensor> outputs{};          ///< the value of the work's future
  std::vector<at::Tensor> kept{};             ///< inputs and temporary buffers
  std::vector<std::function<void()>> last{};  ///< run in order, once the calls are complete
  int source = -1;                            ///< of a receive: the sender

  /// Adds another plan, to be issued together with this one.
  void merge(Plan other);
};

}  // namespace rondo_torch
