// Calls on device memory, checked by the oracle.
#pragma once

#include <memory>

#include "tests/nccl/calls.h"
#include "tests/nccl/device.h"

namespace rondo::test {

/// A window on memory that lives longer. All ranks make it together, and each ends its own.
class Window {
 public:
  Window(ncclComm_t comm, void* memory, std::size_t bytes) : comm_(comm) {
    expect(ncclCommWindowRegister(comm, memory, bytes, &window_, NCCL_WIN_COLL_SYMMETRIC));
  }
  template <class T>
  Window(ncclComm_t comm, const DeviceBuffer<T>& memory, std::size_t count)
      : Window(comm, memory.data(), count * sizeof(T)) {}
  ~Window() { ncclCommWindowDeregister(comm_, window_); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  operator ncclWindow_t() const { return window_; }  // NOLINT: as handles are passed

 private:
  ncclComm_t comm_;
  ncclWindow_t window_ = nullptr;
};

/// What of the buffers lies in windows of all ranks: nothing, both in one, both in one of their
/// own, or one of them. In place there is one for both.
enum class Windows { none, one, two, input, output };

/// How ranks make their calls.
struct How {
  bool captured = false;  ///< into a graph, which is replayed twice
  Windows windows = Windows::none;
  bool by_messages = false;    ///< exchanges by ncclSend() and ncclRecv()
  bool by_one_thread = false;  ///< all ranks' calls in one group
  Values values = Values::whole;
};

/// One rank's memory on its device, which is current, and its call there.
class DeviceCall {
 public:
  DeviceCall(const Trial& trial, int rank, ncclComm_t comm, const How& how = {})
      : trial_(trial), rank_(rank), comm_(comm), how_(how), memory_(trial.before(rank)) {}

  void make() const {
    const std::byte* const in = memory_.data() + trial_.input(rank_);
    std::byte* const out = memory_.data() + trial_.output(rank_);
    if (how_.by_messages) return pass_messages(trial_, rank_, in, out, comm_, stream_);
    expect(make_call(trial_, rank_, in, out, comm_, stream_));
  }
  void check() const {
    stream_.finish();
    trial_.check(rank_, memory_.get().data());
  }
  /// Makes the call and checks what it leaves.
  void run() {
    const std::vector<std::unique_ptr<Window>> windows = register_windows();
    if (!how_.captured) {
      make();
      return check();
    }
    const CapturedGraph graph(stream_, [&] { make(); });
    expect_that(memory_.get() == trial_.before(rank_), "nothing happens in a capture");
    for (int replay = 0; replay < 2; ++replay) {
      memory_.set(trial_.before(rank_));
      graph.launch(stream_);
      check();
    }
  }

 private:
  std::vector<std::unique_ptr<Window>> register_windows() const {
    std::vector<std::unique_ptr<Window>> made;
    const std::size_t all = trial_.before(rank_).size();
    const bool whole = how_.windows == Windows::one || trial_.given().in_place;
    const std::size_t input_ends = whole ? all : trial_.output(rank_);
    const auto add = [&](std::size_t begin, std::size_t end) {
      made.push_back(std::make_unique<Window>(comm_, memory_.data() + begin, end - begin));
    };
    if (how_.windows == Windows::none) return made;
    if (whole || how_.windows != Windows::output) add(0, input_ends);
    if (!whole && how_.windows != Windows::input) add(input_ends, all);
    return made;
  }

  const Trial& trial_;
  int rank_;
  ncclComm_t comm_;
  How how_;
  DeviceStream stream_{};
  DeviceBuffer<std::byte> memory_;
};

/// One rank's part of calls one after the other, each checked. The rank's device is current.
inline void check_calls(int rank, int ranks, ncclComm_t comm, const std::vector<Case>& cases,
                        const How& how = {}) {
  for (const Case& each : cases) {
    const Trial trial(each, ranks, how.values, rank);
    DeviceCall(trial, rank, comm, how).run();
  }
}

/// Makes a rank's device this thread's.
inline void enter(ncclComm_t comm) {
  int device = 0;
  expect(ncclCommCuDevice(comm, &device));
  cuCtxSetCurrent(device_context(device));
}

/// The same for all ranks, each on its communicator's device, which then is this thread's.
inline void check_calls(const std::vector<ncclComm_t>& comms, const std::vector<Case>& cases,
                        const How& how = {}) {
  const int ranks = static_cast<int>(comms.size());
  for (const Case& each : cases) {
    const Trial trial(each, ranks, how.values);
    if (!how.by_one_thread) {
      each_member(comms, [&](int rank, ncclComm_t comm) {
        enter(comm);
        DeviceCall(trial, rank, comm, how).run();
      });
      continue;
    }
    std::vector<std::unique_ptr<DeviceCall>> calls;
    for (std::size_t rank = 0; rank < comms.size(); ++rank) {
      enter(comms[rank]);
      calls.push_back(
          std::make_unique<DeviceCall>(trial, static_cast<int>(rank), comms[rank], how));
    }
    expect(ncclGroupStart());
    for (const auto& call : calls) call->make();
    expect(ncclGroupEnd());
    for (const auto& call : calls) call->check();
  }
}

/// Two ranks call both communicators, each in an order of its own, and a child of the first.
/// Destroys all.
inline void call_in_two_orders(const std::vector<ncclComm_t>& firsts,
                               const std::vector<ncclComm_t>& seconds) {
  run_members(firsts, [&](int rank, ncclComm_t comm) {
    enter(comm);
    const DeviceStream a;
    const DeviceStream b;
    const DeviceBuffer<int> one(1000, 1);
    const DeviceBuffer<int> two(2000, 1);
    const ncclComm_t other = seconds[static_cast<std::size_t>(rank)];
    for (int round = 0; round < 10; ++round) {
      const auto first = [&] { expect(all_reduce(one, 1000, comm, a)); };
      if (rank == 0) first();
      expect(all_reduce(two, 2000, other, b));
      if (rank == 1) first();
    }
    ncclComm_t child = nullptr;
    expect(ncclCommSplit(comm, 0, 1 - rank, &child, nullptr));
    expect(all_reduce(one, 1000, child, a));
    a.finish();
    b.finish();
    expect_that(one.is_all(2048), "11 doublings");
    expect_that(two.is_all(1024), "10 doublings");
    expect(ncclCommDestroy(child));
  });
  destroy(seconds);
}

/// Sums and reductions of two ranks whose operators scale, with a scalar that is read at once, or on
/// the device when the stream gets there.
inline void check_scaled(int rank, ncclComm_t comm, std::size_t count) {
  const DeviceStream stream;
  const DeviceBuffer<float> values(count, 1);
  const DeviceBuffer<float> scalar(1, 0);
  float on_host = rank == 0 ? 2.0F : 3.0F;
  ncclRedOp_t at_once = ncclSum;
  ncclRedOp_t later = ncclSum;
  expect(ncclRedOpCreatePreMulSum(&at_once, &on_host, ncclFloat, ncclScalarHostImmediate, comm));
  expect(ncclRedOpCreatePreMulSum(&later, scalar.data(), ncclFloat, ncclScalarDevice, comm));
  on_host = -1;
  expect(ncclAllReduce(values.data(), values.data(), count, ncclFloat, at_once, comm, stream));
  const DeviceBuffer<float> ten(1, 10);
  expect_cuda(
      cuMemcpyAsync(cuda::address_of(scalar.data()), cuda::address_of(ten.data()), 4, stream));
  expect(ncclReduce(values.data(), values.data(), count, ncclFloat, later, 1, comm, stream));
  stream.finish();
  expect_that(values.is_all(rank == 1 ? 100.0F : 5.0F), "(2 + 3), then (5 + 5) * 10 at rank 1");
}

/// The cases whose collectives reduce, or only move data.
inline std::vector<Case> only(bool reduces, std::vector<Case> cases) {
  std::erase_if(cases,
                [&](const Case& each) { return info(each.call.collective).reduces != reduces; });
  return cases;
}

}  // namespace rondo::test
