#include "tests/gpu/sweep_ranks.h"

#include "tests/nccl/calls.h"

extern "C" int cuMemGetInfo_v2(std::size_t* left, std::size_t* all);

namespace rondo::gpu_test {
namespace {

using test::expect;
using test::expect_cuda;

double memory_left() {
  std::size_t left = 0;
  std::size_t all = 0;
  expect_cuda(cuMemGetInfo_v2(&left, &all));
  return static_cast<double>(left);
}

}  // namespace

Ranks::Ranks(bench::Member& member, Form form, int ranks, std::size_t most)
    : member_(member), all_(ranks), values_(ranks) {
  cuCtxSetCurrent(test::device_context(0));
  const int mine = ranks / member.size();
  for (int i = 0; i < mine; ++i) {
    if (i == 0 || form != Form::one_stream)
      streams_.push_back(std::make_unique<test::DeviceStream>());
    ranks_.push_back({.number = member.rank() * mine + i,
                      .input = std::make_unique<DeviceFloats>(most),
                      .output = std::make_unique<DeviceFloats>(most),
                      .stream = streams_.back().get()});
    values_.fill(*ranks_.back().input, ranks_.back().number);
  }
  connect();
}

void Ranks::connect() {
  ncclUniqueId id{};
  if (member_.rank() == 0) expect(ncclGetUniqueId(&id));
  id = bench::agree_on(member_, id);
  member_.meet();
  const double before = memory_left();
  member_.meet();
  expect(ncclGroupStart());
  for (Rank& rank : ranks_) expect(ncclCommInitRank(&rank.comm, all_, id, rank.number));
  expect(ncclGroupEnd());
  const bench::Program* const program = bench::find_program("all_reduce_perf");
  call({program, bench::shape_of(*program, sizeof(float), DataType::float32, {.ranks = all_})});
  finish();
  member_.meet();
  device_bytes_ = before - memory_left();
  member_.meet();
}

Ranks::~Ranks() {
  for (const Rank& rank : ranks_) {
    if (rank.comm != nullptr) ncclCommDestroy(rank.comm);
  }
}

void Ranks::call_of(const Rank& rank, const Point& point) const {
  const float* const in = rank.input->data();
  float* const out = rank.output->data();
  const Collective collective = point.program->collective;
  if (collective != Collective::send_recv) {
    expect(test::make_call(
        {.count = point.shape.count, .collective = collective, .type = DataType::float32}, in, out,
        rank.comm, *rank.stream));
    return;
  }
  expect(ncclSend(in, point.shape.count, ncclFloat, (rank.number + 1) % all_, rank.comm,
                  *rank.stream));
  expect(ncclRecv(out, point.shape.count, ncclFloat, (rank.number + all_ - 1) % all_, rank.comm,
                  *rank.stream));
}

/// Makes the calls in a group where several must go on at the same time.
void Ranks::call(const Point& point) const {
  const bool grouped = ranks_.size() > 1 || point.program->collective == Collective::send_recv;
  if (grouped) expect(ncclGroupStart());
  for (const Rank& rank : ranks_) call_of(rank, point);
  if (grouped) expect(ncclGroupEnd());
}

void Ranks::finish() const {
  for (const auto& stream : streams_) stream->finish();
}

void Ranks::poison_outputs(const Point& point) const {
  for (const Rank& rank : ranks_) poison(*rank.output, point.shape.output);
}

std::size_t Ranks::count_wrong(const Point& point) const {
  const std::size_t blocks = point.program->output_blocks ? static_cast<std::size_t>(all_) : 1;
  std::size_t wrong = 0;
  for (const Rank& rank : ranks_) {
    for (std::size_t block = 0; block < blocks; ++block) {
      const bench::Piece piece = point.program->expected(
          {.rank = rank.number, .ranks = all_, .root = 0, .block = static_cast<int>(block)});
      wrong +=
          values_.count_wrong(piece, *rank.output, block * point.shape.count, point.shape.count);
    }
  }
  return wrong;
}

}  // namespace rondo::gpu_test
