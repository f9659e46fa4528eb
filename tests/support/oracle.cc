#include "tests/support/oracle.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>

#include "core/schedule/collective.h"
#include "kernels/cpu/reduce.h"
#include "tests/kernels/elements.h"
#include "tests/repeat.h"

namespace rondo::test {

const Arithmetic cpu_arithmetic{
    .reduce = [](DataType type, ReduceOperator op, void* out, std::span<const void* const> operands,
                 std::size_t count) { reduce(type, op, out, operands, count); },
    .scale = scale,
    .divide = divide};

namespace {

constexpr std::byte unwritten{0xee};
constexpr std::size_t guard = 64;   ///< bytes behind each buffer
constexpr std::size_t tile = 4099;  ///< elements after which inputs repeat; divides no slice

/// memset() and memcpy(), as GCC's loops over std::byte go byte by byte without optimisation.
Bytes all_unwritten(std::size_t bytes) {
  Bytes made(bytes);
  std::memset(made.data(), std::to_integer<int>(unwritten), bytes);
  return made;
}
void put(const Bytes& block, Bytes& memory, std::size_t at) {
  if (!block.empty()) std::memcpy(memory.data() + at, block.data(), block.size());
}

std::size_t aligned(std::size_t bytes) { return (bytes + guard - 1) / guard * guard; }

/// Whole numbers up to here have the same bits in any order of addition.
std::size_t most_exact(DataType type) {
  switch (type) {
    case DataType::float8_e5m2:
      return 8;
    case DataType::float8_e4m3:
      return 16;
    case DataType::int8:
      return 127;
    case DataType::uint8:
      return 255;
    case DataType::bfloat16:
      return 256;
    case DataType::float16:
      return 2048;
    default:
      return 30'000;
  }
}

bool is_bitwise(ReduceOperator op) { return info(op).bitwise; }

void write_whole_numbers(const Call& call, Bytes& bytes, std::size_t elements, int ranks,
                         std::mt19937& random) {
  const bool product = call.op == ReduceOperator::prod;
  const std::size_t most = product ? 2 : most_exact(call.type) / static_cast<std::size_t>(ranks);
  testing::with_element(call.type, [&]<class E>(E) {
    for (std::size_t i = 0; i < elements; ++i) {
      const std::size_t number = 1 + random() % std::max<std::size_t>(most, 1);
      E::store(bytes.data() + i * sizeof(typename E::Storage),
               static_cast<typename E::Work>(number));
    }
  });
}

ExchangeSide side_of(const Case& exchange, int rank, int ranks, bool sends) {
  ExchangeSide side;
  for (int peer = 0; peer < ranks; ++peer)
    side.counts.push_back(sends ? exchange.between(rank, peer) : exchange.between(peer, rank));
  side.displacements.resize(side.counts.size());
  for (std::size_t i = 0; i < side.counts.size(); ++i) {
    const std::size_t peer = exchange.displaced ? side.counts.size() - 1 - i : i;
    side.displacements[peer] = side.elements;
    side.elements += side.counts[peer] + (exchange.displaced ? 3 : 0);
  }
  return side;
}

Partition partition_of(const Case& given, const Schedule& schedule) {
  const std::size_t element = size_of(given.call.type);
  if (given.counts.empty()) return {schedule.layout, given.call.count, element};
  return {schedule.layout, given.counts, element};
}

/// What of the index space a rank's buffer holds, in bytes.
struct Held {
  std::size_t first;
  std::size_t bytes;
};
Held held_by(const Partition& partition, const Call& call, Buffer buffer, int rank) {
  const ChunkSpan span = held(call.collective, buffer, partition.layout(), rank, call.root);
  const std::size_t first = partition.offset(span.first);
  const std::size_t element = size_of(call.type);
  return {first * element, (partition.offset(span.first + span.count) - first) * element};
}

Schedule schedule_of(const Case& given, int ranks) {
  return in_rank_order(given.call.collective).build(ranks, given.call.root);
}

}  // namespace

std::string Case::words() const {
  std::string words = between ? "all_to_all_v of " + std::string(name(call.type)) : to_string(call);
  if (info(call.collective).has_root) words += ", root " + std::to_string(call.root);
  if (!counts.empty()) words += ", the first with " + std::to_string(counts.front());
  if (offset != 0) words += ", " + std::to_string(offset) + " bytes off";
  return words + (in_place ? ", in place" : "") + (displaced ? ", displaced" : "");
}

ExchangeSide sent_by(const Case& exchange, int rank, int ranks) {
  return side_of(exchange, rank, ranks, true);
}
ExchangeSide received_by(const Case& exchange, int rank, int ranks) {
  return side_of(exchange, rank, ranks, false);
}

Bytes patterned(const Case& given, std::size_t bytes, int rank, int ranks, Values values) {
  const Call& call = given.call;
  std::mt19937 random(static_cast<unsigned>(rank) * 7919 + static_cast<unsigned>(call.type) * 31 +
                      static_cast<unsigned>(call.op) + given.salt * 104'729);
  const std::size_t element = size_of(call.type);
  const std::size_t elements = std::min(bytes / element, tile);
  const bool numbers = info(call.collective).reduces && !is_bitwise(call.op);
  Bytes made(bytes);
  if (numbers && values == Values::whole) {
    write_whole_numbers(call, made, elements, ranks, random);
  } else {
    const unsigned bound = numbers ? 48 : 256;
    std::generate_n(made.begin(), elements * element,
                    [&] { return static_cast<std::byte>(random() % bound); });
  }
  if (elements > 0) repeat<std::byte>(made, elements * element);
  return made;
}

Trial::Trial(const Case& given, int ranks, Values values, int only) : given_(given), only_(only) {
  if (given.between) {
    add_exchange(ranks);
  } else {
    add_collective(schedule_of(given, ranks), values);
  }
}

Trial::Trial(const Case& given, const Schedule& schedule, Values values) : given_(given) {
  add_collective(schedule, values);
}

Expected expected_of(const Case& given, const Schedule& schedule, Values values) {
  const Call& call = given.call;
  const Partition partition = partition_of(given, schedule);
  Expected made;
  for (int rank = 0; rank < schedule.ranks; ++rank)
    made.inputs.push_back(patterned(given, held_by(partition, call, Buffer::input, rank).bytes,
                                    rank, schedule.ranks, values));
  made.outputs = reference(schedule, partition, call.type, call.op, made.inputs, cpu_arithmetic);
  return made;
}

void Trial::add_collective(const Schedule& schedule, Values values) {
  const Call& call = given_.call;
  const Partition partition = partition_of(given_, schedule);
  const auto& [inputs, outputs] = expected_of(given_, schedule, values);
  // A rank without output has room for one: a call that writes it is noticed.
  const std::size_t room = std::ranges::max_element(outputs, {}, &Bytes::size)->size();
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    const Held in = held_by(partition, call, Buffer::input, rank);
    const Held out = held_by(partition, call, Buffer::output, rank);
    Side& made = sides_.emplace_back();
    made.input = made.output = given_.offset;
    made.read = in.bytes;
    made.written = out.bytes;
    std::size_t bytes = std::max(in.bytes, out.bytes);
    if (!given_.in_place) {
      made.output += aligned(in.bytes + guard);
      bytes = aligned(in.bytes + guard) + room;
    } else if (in.bytes > out.bytes && out.bytes > 0) {  // the smaller one at its own block
      made.output += out.first - in.first;
      made.only_output = true;
    } else if (out.bytes > in.bytes && in.bytes > 0) {
      made.input += in.first - out.first;
    }
    if (!is_asked_for(rank)) continue;
    made.before = all_unwritten(given_.offset + bytes + guard);
    put(inputs[at], made.before, made.input);
    made.after = made.before;
    put(outputs[at], made.after, made.output);
  }
}

void Trial::add_exchange(int ranks) {
  const std::size_t element = size_of(given_.call.type);
  const auto sent = [&](int from, int to) {
    std::mt19937 random(static_cast<unsigned>(from * ranks + to) + given_.salt * 104'729);
    Bytes block(given_.between(from, to) * element);
    const std::size_t bytes = std::min(block.size(), tile * element);
    std::generate_n(block.begin(), bytes, [&] { return static_cast<std::byte>(random()); });
    if (bytes > 0) repeat<std::byte>(block, bytes);
    return block;
  };
  for (int rank = 0; rank < ranks; ++rank) {
    const ExchangeSide out = sent_by(given_, rank, ranks);
    const ExchangeSide in = received_by(given_, rank, ranks);
    Side& made = sides_.emplace_back();
    made.input = given_.offset;
    made.output = given_.offset + aligned(out.elements * element + guard);
    made.read = out.elements * element;
    made.written = in.elements * element;
    if (!is_asked_for(rank)) continue;
    made.before = all_unwritten(made.output + made.written + guard);
    const auto of = [](int peer) { return static_cast<std::size_t>(peer); };
    for (int peer = 0; peer < ranks; ++peer)
      put(sent(rank, peer), made.before, made.input + out.displacements[of(peer)] * element);
    made.after = made.before;
    for (int peer = 0; peer < ranks; ++peer)
      put(sent(peer, rank), made.after, made.output + in.displacements[of(peer)] * element);
  }
}

const Trial::Side& Trial::asked_for(int rank) const {
  if (!is_asked_for(rank))
    throw std::logic_error("this trial has no memory of rank " + std::to_string(rank));
  return side(rank);
}

void Trial::check(int rank, const void* memory) const {
  const Side& own = asked_for(rank);
  const std::size_t begin = own.only_output ? own.output : 0;
  const std::size_t bytes = own.only_output ? own.written : own.after.size();
  const std::span<const std::byte> got(static_cast<const std::byte*>(memory) + begin, bytes);
  const std::span<const std::byte> wanted(own.after.data() + begin, bytes);
  if (bytes == 0 || std::memcmp(got.data(), wanted.data(), bytes) == 0) return;
  const auto at = static_cast<std::size_t>(
      std::mismatch(got.begin(), got.end(), wanted.begin()).first - got.begin());
  const bool within = begin + at >= own.output && begin + at < own.output + own.written;
  throw std::runtime_error(given_.words() + " of " + std::to_string(ranks()) + " ranks: on rank " +
                           std::to_string(rank) + " byte " +
                           std::to_string(within ? begin + at - own.output : begin + at) +
                           (within ? " of the output" : ", outside the output") + " is " +
                           std::to_string(std::to_integer<int>(got[at])) + ", not " +
                           std::to_string(std::to_integer<int>(wanted[at])));
}

std::vector<Case> every_collective(std::size_t count, int root, DataType type, ReduceOperator op) {
  std::vector<Case> cases;
  for (const CollectiveInfo& row : collectives) {
    const Collective collective = row.collective;
    if (collective == Collective::barrier || collective == Collective::send_recv) continue;
    if (is_scan(collective)) continue;
    for (const bool in_place : {false, true}) {
      if (in_place && collective == Collective::all_to_all) continue;
      cases.push_back({.call = {.count = count,
                                .collective = collective,
                                .type = type,
                                .op = op,
                                .root = row.has_root ? root : 0},
                       .in_place = in_place});
    }
  }
  return cases;
}

std::vector<Case> every_scan(std::size_t count, DataType type, ReduceOperator op) {
  std::vector<Case> cases;
  for (const Collective collective : {Collective::scan, Collective::exclusive_scan}) {
    const Call call{.count = count, .collective = collective, .type = type, .op = op};
    for (const bool in_place : {false, true}) cases.push_back({.call = call, .in_place = in_place});
  }
  return cases;
}

std::vector<Case> every_ragged(const std::vector<std::size_t>& counts, int root) {
  std::vector<Case> cases;
  for (Case each : every_collective(0, root)) {
    if (!has_blocks(each.call.collective)) continue;
    each.counts = counts;
    cases.push_back(each);
  }
  return cases;
}

std::vector<std::vector<std::size_t>> ragged_counts(int ranks) {
  const auto size = static_cast<std::size_t>(ranks);
  std::vector<std::size_t> ramp;
  for (std::size_t rank = 0; rank < size; ++rank) ramp.push_back(300 * rank);
  std::vector<std::size_t> on_last(size, 0);
  on_last.back() = 20'000;
  return {std::vector<std::size_t>(size, 5), ramp, on_last};
}

bool has_blocks(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::reduce_scatter ||
         collective == Collective::gather || collective == Collective::scatter;
}

const Algorithm& in_rank_order(Collective collective) {
  const Algorithm* const row = find_algorithm(collective, "one_shot");
  return row != nullptr ? *row : *find_algorithm(collective, "linear");
}

}  // namespace rondo::test
