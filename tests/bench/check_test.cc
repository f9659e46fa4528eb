// The checker accepts what a collective is defined to give, and rejects every mutation of it.
#include "bench/common/check.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"

using namespace rondo;
using namespace rondo::bench;

namespace {

constexpr DataType type = DataType::float32;
constexpr int ranks = 3;
constexpr int root = 1;
constexpr std::size_t sweep_bytes = 60 * sizeof(float);

/// One rank's two buffers around a call that this test plays itself.
struct Stage {
  Layout layout;
  Pattern pattern;
  Buffer input;
  Buffer output;

  Stage(const Program& program, int rank, bool in_place, const CountPattern& count_pattern = {})
      : layout{&program, shape_of(program, sweep_bytes, type, {ranks, rank, count_pattern}),
               type,     rank,
               ranks,    root,
               in_place},
        pattern(type, ReduceOperator::sum, info(program.collective).reduces, ranks, 1),
        input(sweep_bytes, 4),
        output(sweep_bytes, 4) {
    prepare_check(layout, pattern, input, output);
    play();
  }

  std::size_t errors() const { return count_errors(layout, pattern, input, output); }
  float* result() { return reinterpret_cast<float*>(output.data() + layout.output_offset()); }

  std::vector<float> input_of_rank(int rank) const {
    std::vector<float> values(sweep_bytes / sizeof(float));  // as many as any rank's
    pattern.fill_input(values.data(), rank, 0, values.size());
    return values;
  }

  /// The collective gives this rank nothing.
  bool is_untouched() const {
    const Collective collective = layout.program->collective;
    if (collective == Collective::exclusive_scan) return layout.rank == 0;
    return (collective == Collective::reduce || collective == Collective::gather) &&
           layout.rank != root;
  }

  /// Element k of this rank's output by the collective's definition, from all ranks' inputs.
  void play() {
    const Collective collective = layout.program->collective;
    if (is_untouched()) return;
    for (std::size_t k = 0; k < layout.shape.output; ++k) result()[k] = defined(collective, k);
  }

  /// The block that holds element k of blocks that lie one after the other, and its place in there.
  static std::pair<std::size_t, std::size_t> place_in(const std::vector<std::size_t>& counts,
                                                      std::size_t k) {
    std::size_t block = 0;
    while (k >= counts[block]) k -= counts[block++];
    return {block, k};
  }

  float defined(Collective collective, std::size_t k) const {
    const std::vector<std::size_t>& counts = layout.shape.counts;
    const auto self = static_cast<std::size_t>(layout.rank);
    const std::size_t own = counts.size() == ranks ? begin_of(counts, self) : 0;
    const auto sum = [&](std::size_t index, int end = ranks) {
      float total = 0;
      for (int rank = 0; rank < end; ++rank) total += input_of_rank(rank)[index];
      return total;
    };
    switch (collective) {
      case Collective::all_reduce:
      case Collective::reduce:
        return sum(k);
      case Collective::scan:
        return sum(k, layout.rank + 1);
      case Collective::exclusive_scan:
        return sum(k, layout.rank);
      case Collective::reduce_scatter:
        return sum(own + k);
      case Collective::all_gather:
      case Collective::gather: {
        const auto [block, within] = place_in(counts, k);
        return input_of_rank(static_cast<int>(block))[within];
      }
      case Collective::broadcast:
        return input_of_rank(root)[k];
      case Collective::all_to_all: {
        const auto [from, within] = place_in(counts_from(counts, self), k);
        const std::size_t sent = begin_of(counts_to(counts, from), self);
        return input_of_rank(static_cast<int>(from))[sent + within];
      }
      case Collective::scatter:
        return input_of_rank(root)[own + k];
      default:  // send_recv: from the previous rank
        return input_of_rank((layout.rank + ranks - 1) % ranks)[k];
    }
  }
};

const std::vector<std::string> program_names{
    "all_reduce_perf", "reduce_scatter_perf", "all_gather_perf",     "broadcast_perf",
    "reduce_perf",     "scan_perf",           "exclusive_scan_perf", "alltoall_perf",
    "scatter_perf",    "gather_perf",         "sendrecv_perf"};

}  // namespace

TEST_CASE("the checker accepts right results and rejects each mutation, for every program") {
  const Program* program = find_program(GENERATE(from_range(program_names)));
  const CountPattern count_pattern =
      *parse_count_pattern(GENERATE("even", "linear", "one", "random:3"));
  const int rank = GENERATE(0, 1, 2);
  const bool in_place = GENERATE(false, true);
  REQUIRE(program != nullptr);
  if (in_place && !program->in_place) return;
  if (count_pattern.kind != CountPattern::Kind::even && program->call_ragged == nullptr) return;
  CAPTURE(program->name, to_string(count_pattern), rank, in_place);
  const auto stage = [&] { return Stage(*program, rank, in_place, count_pattern); };

  CHECK(stage().errors() == 0);

  Stage flipped = stage();
  const bool any = flipped.layout.shape.output > 0;
  if (any) {
    flipped.result()[flipped.layout.shape.output - 1] += 1.0F;
    CHECK(flipped.errors() == 1);
  }

  Stage swapped = stage();
  if (any && !swapped.is_untouched()) {
    std::swap(swapped.result()[0], swapped.result()[1]);
    CHECK(swapped.errors() == 2);
  }

  Stage before = stage();
  before.output.data()[-1] = std::byte{0};
  CHECK(before.errors() == 1);

  Stage after = stage();
  after.input.data()[after.layout.shape.bytes] = std::byte{0};
  CHECK(after.errors() == 1);

  Stage scribbled = stage();
  const bool read = program->reads_input({rank, ranks, root, 0});
  if (!in_place && read && scribbled.layout.shape.input > 3) {
    reinterpret_cast<float*>(scribbled.input.data())[3] += 1.0F;
    CHECK(scribbled.errors() == 1);
  }
}

TEST_CASE("a call that writes nothing leaves only wrong elements") {
  const Program* program = find_program("all_reduce_perf");
  Stage stage(*program, 0, false);
  std::memset(stage.output.data(), std::to_integer<int>(poison), stage.layout.shape.bytes);
  CHECK(stage.errors() == stage.layout.shape.output);
}

TEST_CASE("guards stand right before and after the bytes in use") {
  Buffer buffer(1024, 8);
  buffer.arm(100);
  CHECK(buffer.trespassed(100) == 0);
  buffer.data()[99] = std::byte{1};
  CHECK(buffer.trespassed(100) == 0);
  buffer.data()[100] = std::byte{1};
  buffer.data()[-1] = std::byte{1};
  CHECK(buffer.trespassed(100) == 2);
}
