// Backend: torch.distributed's backend "rondo" for tensors in the CPU's memory.
//
// Every method makes a Plan of rondo's calls and hands it to launch(). Methods for one tensor are
// in single.cc, those for lists in lists.cc, for messages and barriers in messages.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>
#include <vector>

#include "tools/torch/source/call.h"
#include "tools/torch/source/completer.h"
#include "tools/torch/source/group.h"
#include "tools/torch/source/meet.h"

namespace rondo_torch {

using Tensors = std::vector<at::Tensor>;
using Lists = std::vector<Tensors>;
using WorkHandle = c10::intrusive_ptr<c10d::Work>;

class Backend : public c10d::Backend {
 public:
  /// Collective: the ranks find each other by the store. Throws std::runtime_error that names a
  /// rank which does not come within the timeout. `name` is the group's name in errors.
  Backend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
          std::chrono::milliseconds timeout, const std::string& name);
  /// Of ranks that have met.
  Backend(Meeting meeting, std::chrono::milliseconds timeout, const std::string& name);
  ~Backend() override;

  const std::string getBackendName() const override { return "rondo"; }
  c10::intrusive_ptr<Options> getBackendOptions() override { return options_; }
  std::uint64_t getSequenceNumberForGroup() override { return sequence_; }
  void setSequenceNumberForGroup() override {}
  bool supportsCoalescing() const override { return true; }
  bool supportsSplitting() const override { return true; }
  bool supportsShrinking() const override { return true; }

  WorkHandle broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkHandle allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkHandle allreduce_coalesced(Tensors& tensors,
                                 const c10d::AllreduceCoalescedOptions& options) override;
  WorkHandle reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkHandle allgather(Lists& outputs, Tensors& inputs,
                       const c10d::AllgatherOptions& options) override;
  WorkHandle _allgather_base(at::Tensor& output, at::Tensor& input,
                             const c10d::AllgatherOptions& options) override;
  WorkHandle allgather_coalesced(Lists& outputs, Tensors& inputs,
                                 const c10d::AllgatherOptions& options) override;
  WorkHandle allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                             const c10d::AllgatherOptions& options) override;
  WorkHandle gather(Lists& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
  WorkHandle scatter(Tensors& outputs, Lists& inputs, const c10d::ScatterOptions& options) override;
  WorkHandle reduce_scatter(Tensors& outputs, Lists& inputs,
                            const c10d::ReduceScatterOptions& options) override;
  WorkHandle _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                  const c10d::ReduceScatterOptions& options) override;
  WorkHandle reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                             const c10d::ReduceScatterOptions& options) override;
  /// If one rank gives split sizes, every rank must.
  WorkHandle alltoall_base(at::Tensor& output, at::Tensor& input,
                           std::vector<std::int64_t>& output_sizes,
                           std::vector<std::int64_t>& input_sizes,
                           const c10d::AllToAllOptions& options) override;
  WorkHandle alltoall(Tensors& outputs, Tensors& inputs,
                      const c10d::AllToAllOptions& options) override;

  /// Messages between two ranks match in the order of their calls; tags mean nothing.
  WorkHandle send(Tensors& tensors, int peer, int tag) override;
  WorkHandle recv(Tensors& tensors, int peer, int tag) override;
  WorkHandle recvAnysource(Tensors& tensors, int tag) override;
  WorkHandle barrier(const c10d::BarrierOptions& options) override;
  /// Uses the store, so it can name missing ranks even if ranks are stuck in calls.
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;

  /// endCoalescing() issues the calls since startCoalescing() together and returns their work.
  void startCoalescing() override;
  WorkHandle endCoalescing() override;

  c10::intrusive_ptr<c10d::Backend> split(const c10::intrusive_ptr<c10d::Store>& store,
                                          const std::vector<int>& ranks,
                                          const c10::intrusive_ptr<Options>& options) override;
  /// Collective over the ranks that live, for torch.distributed.shrink_group(); works after a
  /// failure, too. The excluded ranks must be those that are lost: others are waited for.
  c10::intrusive_ptr<c10d::Backend> shrink(const std::vector<std::int64_t>& excluded, int flags,
                                           const c10::intrusive_ptr<Options>& options) override;
  /// Ends the group's calls on every rank, with an error.
  void abort() override;
  /// Completes this rank's calls and leaves.
  void shutdown() override;

 private:
  /// `options`: torch's, with the timeout and whether the caller waits for the work itself.
  template <class TorchOptions>
  WorkHandle launch(Plan plan, const TorchOptions& options);
  WorkHandle launch(Plan plan, std::chrono::milliseconds timeout, bool asynchronous);
  WorkHandle message(Tensors& tensors, int peer, bool sends);
  [[noreturn]] void throw_other_ranks_lost(const std::vector<int>& lost) const;
  Plan plan_all_gather(Tensors& outputs, const at::Tensor& input) const;
  void report_missing(const std::vector<std::string>& keys, const std::string& verdict,
                      std::chrono::milliseconds timeout, bool all);

  c10::intrusive_ptr<c10d::Store> store_{};
  c10::intrusive_ptr<Options> options_;
  std::shared_ptr<Group> group_;
  std::optional<Completer> completer_;
  std::optional<Plan> coalesced_{};  ///< between startCoalescing() and endCoalescing()
  std::uint64_t sequence_ = 0;
  std::uint64_t monitored_ = 0;  ///< barriers of this kind so far
};

template <class TorchOptions>
WorkHandle Backend::launch(Plan plan, const TorchOptions& options) {
  bool asynchronous = true;
  // Some of torch's options have no asyncOp in some versions.
  if constexpr (requires { options.asyncOp; }) asynchronous = options.asyncOp;
  return launch(std::move(plan), options.timeout, asynchronous);
}

}  // namespace rondo_torch
