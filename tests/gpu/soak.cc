#include "tests/gpu/soak.h"

#include <array>
#include <chrono>
#include <limits>
#include <span>

#include "tests/gpu/calls_group.h"
#include "tests/gpu/report.h"

namespace rondo::gpu_test {
namespace {

using Word = std::uint32_t;
using DeviceWords = test::DeviceBuffer<Word>;
using Words = std::vector<Word>;
using Clock = std::chrono::steady_clock;

constexpr int ranks_of_groups[] = {2, 4, 8};
/// What is called, with the bytes of an output.
struct Kind {
  Collective collective;
  std::size_t bytes;
};
/// By hand with one block and with several, a program with packets, and one in bulk.
constexpr Kind kinds[] = {{Collective::all_reduce, 8},
                          {Collective::all_reduce, 16 << 10},
                          {Collective::reduce_scatter, 4 << 10},
                          {Collective::all_reduce, 1 << 20}};
/// Calls have these inputs in turn. What a call leaves in slots and outputs is wrong for the next two.
constexpr std::size_t sets = 3;
/// Calls that streams may have before them, so that the end comes in time.
constexpr std::size_t most_ahead = 64;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Word input_of(std::size_t set, std::size_t rank, std::size_t element) {
  return static_cast<Word>(element * 2'654'435'761U + rank * 40'503U + set * 1'000'003U);
}

Words inputs_of(std::size_t set, std::size_t rank, std::size_t count) {
  Words words(count);
  for (std::size_t i = 0; i < count; ++i) words[i] = input_of(set, rank, i);
  return words;
}

Words sums_of(std::size_t set, std::size_t ranks, std::size_t count) {
  Words words(count);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < count; ++i) words[i] += input_of(set, rank, i);
  }
  return words;
}

/// Sums that are bound by arithmetic, on all processors of the device.
class Load {
 public:
  explicit Load(std::size_t bytes)
      : kernels_(cuda::Kernels::of(test::device_context(0))),
        bytes_(bytes),
        from_(bytes),
        to_(bytes) {}
  void put() const {
    const std::vector<cuda::DevicePointer> sources(8, cuda::address_of(from_.data()));
    kernels_.combine({.type = DataType::float8_e5m2}, cuda::address_of(to_.data()), sources, bytes_,
                     stream_);
  }
  void finish() const { stream_.finish(); }

 private:
  const cuda::Kernels& kernels_;
  const std::size_t bytes_;
  DeviceBytes from_;
  DeviceBytes to_;
  test::DeviceStream stream_{};
};

/// A rank's inputs, and the greatest and least that each element of its outputs has been. They are
/// equal, and right, where the element was right every time.
class Watched {
 public:
  Watched(std::size_t rank, std::size_t inputs, std::size_t count)
      : kernels_(cuda::Kernels::of(test::device_context(0))), count_(count), output_(count) {
    for (std::size_t set = 0; set < sets; ++set) {
      inputs_.push_back(std::make_unique<DeviceWords>(inputs_of(set, rank, inputs)));
      greatest_.push_back(std::make_unique<DeviceWords>(count));
      least_.push_back(std::make_unique<DeviceWords>(count, std::numeric_limits<Word>::max()));
    }
  }
  Buffers buffers(std::size_t set) const {
    return {.input = reinterpret_cast<const std::byte*>(inputs_[set]->data()),
            .output = reinterpret_cast<std::byte*>(output_.data())};
  }
  /// Puts into `stream` what takes note of the output that is there then.
  void note(std::size_t set, cuda::Stream stream) const {
    note(ReduceOperator::max, *greatest_[set], stream);
    note(ReduceOperator::min, *least_[set], stream);
  }
  std::size_t wrong(std::size_t set, std::span<const Word> wanted) const {
    const Words greatest = greatest_[set]->get();
    const Words least = least_[set]->get();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      wrong += greatest[i] != wanted[i] || least[i] != wanted[i] ? 1 : 0;
    return wrong;
  }

 private:
  void note(ReduceOperator op, const DeviceWords& so_far, cuda::Stream stream) const {
    const cuda::DevicePointer target = cuda::address_of(so_far.data());
    const std::array sources{target, cuda::address_of(output_.data())};
    kernels_.combine({.type = DataType::uint32, .op = op}, target, sources, count_, stream);
  }

  const cuda::Kernels& kernels_;
  const std::size_t count_;
  DeviceWords output_;
  std::vector<std::unique_ptr<DeviceWords>> inputs_{}, greatest_{}, least_{};  ///< by set
};

/// Calls of one kind in one group.
class Series {
 public:
  Series(CallGroup& group, const Kind& kind)
      : group_(group),
        call_{.count = kind.bytes / sizeof(Word),
              .collective = kind.collective,
              .type = DataType::uint32},
        inputs_(kind.collective == Collective::all_reduce
                    ? call_.count
                    : call_.count * static_cast<std::size_t>(group.ranks())) {
    for (int rank = 0; rank < group.ranks(); ++rank) {
      watched_.push_back(
          std::make_unique<Watched>(static_cast<std::size_t>(rank), inputs_, call_.count));
    }
    for (std::size_t set = 0; set < sets; ++set) {
      for (const auto& each : watched_) buffers_[set].push_back(each->buffers(set));
    }
  }

  /// Makes at most so many calls. Returns how many.
  std::size_t run(std::size_t calls, double seconds, const Load& load) {
    const auto begin = Clock::now();
    std::size_t made = 0;
    for (; made < calls && since(begin) < seconds && group_.failure().empty(); ++made) {
      load.put();
      group_.launch(call_, buffers_[made % sets]);
      for (int rank = 0; rank < group_.ranks(); ++rank)
        watched_[static_cast<std::size_t>(rank)]->note(made % sets, group_.stream(rank));
      if (made % most_ahead == 0) finish(load);
    }
    finish(load);
    return made;
  }

  std::size_t wrong(std::size_t made) const {
    std::size_t wrong = 0;
    for (std::size_t set = 0; set < std::min(made, sets); ++set) {
      const Words sums = sums_of(set, watched_.size(), inputs_);
      for (std::size_t rank = 0; rank < watched_.size(); ++rank) {
        const std::size_t first = rank * call_.count % inputs_;  // all of them, or the rank's part
        wrong += watched_[rank]->wrong(set, std::span(sums).subspan(first, call_.count));
      }
    }
    return wrong;
  }
  bool by_hand() const { return group_.choose(call_).form == resident::Form::small; }

 private:
  void finish(const Load& load) const {
    group_.finish();
    load.finish();
  }

  CallGroup& group_;
  const Call call_;
  const std::size_t inputs_;                         ///< elements
  std::vector<std::unique_ptr<Watched>> watched_{};  ///< by rank
  std::array<std::vector<Buffers>, sets> buffers_{};
};

/// 1 where something was wrong.
int run_series(CallGroup& group, const Load& load, const Kind& kind, std::size_t launches,
               double seconds) {
  const auto ranks = static_cast<std::size_t>(group.ranks());
  const std::size_t calls = std::max<std::size_t>(1, launches / ranks);
  Series series(group, kind);
  const auto begin = Clock::now();
  const std::size_t made = series.run(calls, seconds, load);
  const double took = since(begin);
  const std::string failure = group.failure();
  const std::size_t wrong = series.wrong(made);
  Line("soak")
      .number("ranks", group.ranks())
      .text("collective", name(kind.collective))
      .number("bytes", static_cast<double>(kind.bytes))
      .text("form", series.by_hand() ? "small" : "program")
      .number("launches", static_cast<double>(made * ranks))
      .number("wanted", static_cast<double>(calls * ranks))
      .number("seconds", took)
      .number("wrong_elements", static_cast<double>(wrong))
      .text("failure", failure);
  return wrong > 0 || !failure.empty() ? 1 : 0;
}

}  // namespace

int soak(const Soak& wanted) {
  const auto begin = Clock::now();
  const Load load(wanted.load_bytes);
  std::size_t left = std::size(ranks_of_groups) * std::size(kinds);
  const std::size_t launches = wanted.launches / left;
  int wrong = 0;
  for (const int ranks : ranks_of_groups) {
    CallGroup group(ranks_that_fit(ranks));
    for (const Kind& kind : kinds) {
      const double seconds = (wanted.seconds - since(begin)) / static_cast<double>(left--);
      if (group.failure().empty()) wrong += run_series(group, load, kind, launches, seconds);
    }
  }
  return wrong;
}

}  // namespace rondo::gpu_test
