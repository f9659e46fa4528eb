#include "bench/common/data.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "bench/common/floats.h"

namespace rondo::bench {
namespace {

constexpr std::int64_t largest_magnitude = std::int64_t{1} << 20;
constexpr int most_twos = 60;  // keeps products inside 64-bit arithmetic

bool is_signed(DataType type) {
  switch (type) {
    case DataType::uint8:
    case DataType::uint16:
    case DataType::uint32:
    case DataType::uint64:
      return false;
    default:
      return true;
  }
}

/// splitmix64's finalizer (Steele, Lea, Flood 2014): every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

std::uint64_t draw(std::uint64_t seed, int rank, std::size_t index) {
  return mix(seed + static_cast<std::uint64_t>(rank) * 0xd1342543de82ef95ULL +
             index * 0x9e3779b97f4a7c15ULL);
}

/// `bits` as a value of the type, sign- or zero-extended to 64 bits again.
std::int64_t wrap(DataType type, std::uint64_t bits) {
  const int unused = 64 - 8 * static_cast<int>(size_of(type));
  if (!is_signed(type)) return static_cast<std::int64_t>((bits << unused) >> unused);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

std::int64_t largest_integer(DataType type) {
  const int bits = 8 * static_cast<int>(size_of(type)) - (is_signed(type) ? 1 : 0);
  return bits >= 63 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << bits) - 1;
}

/// Divides `budget` among the ranks. When it is small, fewer ranks get a part, and none gets less
/// than 1.
Recipe share(std::int64_t budget, int ranks, bool negatives) {
  const std::int64_t magnitude = std::clamp<std::int64_t>(budget / ranks, 1, largest_magnitude);
  const auto window = static_cast<int>(std::min<std::int64_t>(ranks, budget / magnitude));
  return {window, static_cast<std::uint64_t>(magnitude), negatives, false};
}

Recipe float_recipe(DataType type, ReduceOperator op, bool reduces, int ranks) {
  const FloatFormat format = float_format(type);
  const std::int64_t exact = std::int64_t{1} << std::min(format.mantissa_bits + 1, 40);
  const auto widest = static_cast<std::uint64_t>(std::min(exact, largest_magnitude));
  if (!reduces) return {ranks, widest, true, false};
  switch (op) {
    case ReduceOperator::sum:
      return share(exact, ranks, true);
    case ReduceOperator::prod: {
      // e4m3 ends at 448, so 2^8; the 5-bit exponents end above 2^15. bfloat16 is looked up, too.
      const int twos = size_of(type) > 2 ? most_twos : type == DataType::float8_e4m3 ? 8 : 15;
      return {std::min(ranks, twos), 1, true, true};
    }
    case ReduceOperator::avg:
      return {std::min(ranks, 2), widest, false, false};
    default:
      break;
  }
  return {ranks, widest, true, false};
}

std::uint64_t combine(ReduceOperator op, bool with_sign, std::uint64_t a, std::uint64_t b) {
  const bool less = with_sign ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) : a < b;
  switch (op) {
    case ReduceOperator::prod:
      return a * b;
    case ReduceOperator::min:
      return less ? a : b;
    case ReduceOperator::max:
      return less ? b : a;
    case ReduceOperator::bit_and:
      return a & b;
    case ReduceOperator::bit_or:
      return a | b;
    case ReduceOperator::bit_xor:
      return a ^ b;
    case ReduceOperator::sum:
    case ReduceOperator::avg:
      break;
  }
  return a + b;
}

/// Reads a type at any alignment: the compiler turns memcpy into one move.
template <class T>
void store(void* output, std::size_t index, T value) {
  std::memcpy(static_cast<std::byte*>(output) + index * sizeof(T), &value, sizeof(T));
}

template <class T>
T load(const void* input, std::size_t index) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(input) + index * sizeof(T), sizeof(T));
  return value;
}

/// Distance in units in the last place. The data under a tolerance is never negative, so a sign
/// makes the difference of the bits huge, as it should.
template <class Bits>
std::size_t count_wrong_bits(const void* actual, const void* expected, std::size_t count,
                             std::uint64_t tolerance) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t a = load<Bits>(actual, i);
    const std::uint64_t b = load<Bits>(expected, i);
    wrong += (a > b ? a - b : b - a) > tolerance;
  }
  return wrong;
}

}  // namespace

Recipe recipe_for(DataType type, ReduceOperator op, bool reduces, int ranks) {
  if (is_float(type)) return float_recipe(type, op, reduces, ranks);
  if (reduces && op == ReduceOperator::avg) {
    return share(largest_integer(type), ranks, is_signed(type));
  }
  const bool absorbs = reduces && (op == ReduceOperator::bit_and || op == ReduceOperator::bit_or);
  return {absorbs ? std::min(ranks, 2) : ranks, 0, false, false};
}

Pattern::Pattern(DataType type, ReduceOperator op, bool reduces, int ranks, std::uint64_t seed)
    : type_(type),
      op_(reduces ? op : ReduceOperator::sum),
      ranks_(ranks),
      seed_(mix(seed + 1)),
      recipe_(recipe_for(type, op_, reduces, ranks)) {
  if (!is_float(type) || size_of(type) > 2) return;
  limit_ = recipe_.twos ? std::int64_t{1} << recipe_.window
                        : static_cast<std::int64_t>(recipe_.magnitude) * recipe_.window;
  if (!reduces) limit_ = static_cast<std::int64_t>(recipe_.magnitude);
  for (std::int64_t number = -limit_; number <= limit_; ++number) {
    const auto value = static_cast<double>(number);
    bits_.push_back(encode_narrow(type, value));
    average_bits_.push_back(encode_narrow(type, value / ranks));
  }
}

bool Pattern::in_window(int rank, std::size_t index) const {
  if (recipe_.window >= ranks_) return true;
  const auto start = static_cast<int>(draw(~seed_, 0, index) % static_cast<unsigned>(ranks_));
  const int distance = rank - start;
  return (distance < 0 ? distance + ranks_ : distance) < recipe_.window;
}

std::int64_t Pattern::value(int rank, std::size_t index) const {
  const std::uint64_t bits = draw(seed_, rank, index);
  const bool contributes = in_window(rank, index);
  if (recipe_.magnitude == 0) {
    const std::uint64_t neutral = op_ == ReduceOperator::bit_and ? ~std::uint64_t{0} : 0;
    if (!contributes) return wrap(type_, neutral);
    // Odd factors: a product of them never collapses to zero.
    return wrap(type_, op_ == ReduceOperator::prod ? bits | 1 : bits);
  }
  const auto drawn = static_cast<std::int64_t>(1 + (((bits >> 32) * recipe_.magnitude) >> 32));
  const std::int64_t magnitude = recipe_.twos ? (contributes ? 2 : 1) : (contributes ? drawn : 0);
  return recipe_.negatives && (bits & 1) != 0 ? -magnitude : magnitude;
}

std::int64_t Pattern::reduced_value(std::size_t index, int ranks) const {
  const bool with_sign = is_signed(type_);
  auto result = static_cast<std::uint64_t>(value(0, index));
  for (int rank = 1; rank < ranks; ++rank) {
    result = combine(op_, with_sign, result, static_cast<std::uint64_t>(value(rank, index)));
  }
  return is_float(type_) ? static_cast<std::int64_t>(result) : wrap(type_, result);
}

template <class Source>
void Pattern::fill(void* output, std::size_t count, bool average, Source source) const {
  const auto loop = [&](auto convert) {
    for (std::size_t k = 0; k < count; ++k) store(output, k, convert(source(k)));
  };
  const double divisor = average ? ranks_ : 1;
  const auto whole = [&](std::int64_t value) {
    if (!average) return value;
    if (is_signed(type_)) return value / ranks_;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) /
                                     static_cast<std::uint64_t>(ranks_));
  };
  if (type_ == DataType::float64) {
    return loop([&](std::int64_t value) { return static_cast<double>(value) / divisor; });
  }
  if (type_ == DataType::float32) {
    return loop([&](std::int64_t value) {
      return static_cast<float>(static_cast<double>(value) / divisor);
    });
  }
  if (is_float(type_)) {
    const std::uint16_t* middle = (average ? average_bits_ : bits_).data() + limit_;
    if (size_of(type_) == 2) return loop([&](std::int64_t value) { return middle[value]; });
    return loop([&](std::int64_t value) { return static_cast<std::uint8_t>(middle[value]); });
  }
  switch (size_of(type_)) {
    case 1:
      return loop([&](std::int64_t value) { return static_cast<std::uint8_t>(whole(value)); });
    case 2:
      return loop([&](std::int64_t value) { return static_cast<std::uint16_t>(whole(value)); });
    case 4:
      return loop([&](std::int64_t value) { return static_cast<std::uint32_t>(whole(value)); });
    default:
      return loop([&](std::int64_t value) { return static_cast<std::uint64_t>(whole(value)); });
  }
}

void Pattern::fill_input(void* output, int rank, std::size_t first, std::size_t count) const {
  fill(output, count, false, [&](std::size_t k) { return value(rank, first + k); });
}

void Pattern::fill_reduced(void* output, std::size_t first, std::size_t count, int ranks) const {
  fill(output, count, op_ == ReduceOperator::avg,
       [&](std::size_t k) { return reduced_value(first + k, ranks); });
}

std::uint64_t Pattern::tolerance() const {
  return op_ == ReduceOperator::avg && is_float(type_) ? 2 : 0;
}

std::size_t count_wrong(DataType type, const void* actual, const void* expected, std::size_t count,
                        std::uint64_t tolerance) {
  if (std::memcmp(actual, expected, count * size_of(type)) == 0) return 0;
  switch (size_of(type)) {
    case 1:
      return count_wrong_bits<std::uint8_t>(actual, expected, count, tolerance);
    case 2:
      return count_wrong_bits<std::uint16_t>(actual, expected, count, tolerance);
    case 4:
      return count_wrong_bits<std::uint32_t>(actual, expected, count, tolerance);
    default:
      return count_wrong_bits<std::uint64_t>(actual, expected, count, tolerance);
  }
}

}  // namespace rondo::bench
