// The device reductions' functor, compiled for the host, against the CPU kernels: every type and
// operator, odd counts, misaligned buffers, several operands, threads that share the work.
#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/cpu/reduce.h"
#include "kernels/device/combine.h"
#include "tests/catch.h"
#include "tests/kernels/buffers.h"

using namespace rondo;
using namespace rondo::testing;

namespace {

struct Case {
  DataType type;
  ReduceOperator op;
  std::size_t count;
  std::size_t operands;
  std::size_t offset;  ///< elements that every other buffer lies off a cache line
  double factor;
};

/// Runs every thread's share, one after the other, last thread first.
void combine_on_host(const Case& c, const std::vector<device::Source>& sources,
                     const std::vector<std::byte*>& targets) {
  constexpr std::size_t threads = 3;
  const bool scaled = c.factor != 1.0 && c.type >= DataType::float16;
  device::Recipe recipe{.type = c.type, .op = c.op, .after = scaled ? c.factor : 1.0};
  if (c.operands == 1 && !scaled) recipe.type = device::copying_type(size_of(c.type));
  for (std::size_t thread = threads; thread-- > 0;) {
    device::combine_any(recipe, {sources.data(), static_cast<std::uint32_t>(sources.size())},
                        {targets.data(), static_cast<std::uint32_t>(targets.size())}, c.count,
                        {thread, threads});
  }
}

/// Elements that differ from the CPU kernels', out of place into two targets and in place.
template <class E>
std::size_t wrong_elements(const Case& c, std::mt19937& random) {
  const std::size_t bytes = c.count * sizeof(typename E::Storage);
  std::vector<Buffer> operands;
  std::vector<const void*> pointers;
  std::vector<device::Source> sources;
  for (std::size_t j = 0; j < c.operands; ++j) {
    operands.emplace_back(bytes, c.offset * (j % 2) * sizeof(typename E::Storage));
    fill<E>(operands.back(), random);
  }
  for (const Buffer& operand : operands) {
    pointers.push_back(operand.data);
    sources.push_back({operand.data, false});
  }
  std::vector<std::byte> expected(bytes);
  void* into = expected.data();
  reduce({.type = c.type, .op = c.op, .factor = c.factor}, {&into, 1}, pointers, c.count);

  Buffer first(bytes, c.offset * sizeof(typename E::Storage)), second(bytes, 0);
  combine_on_host(c, sources, {first.data, second.data});
  std::size_t wrong = count_wrong<E>(expected, first) + count_wrong<E>(expected, second);
  combine_on_host(c, sources, {operands.back().data});
  return wrong + count_wrong<E>(expected, operands.back());
}

}  // namespace

TEST_CASE("the device functor equals the CPU kernels", "[device]") {
  for (const DataTypeInfo& type : data_types) {
    for (const ReduceOperatorInfo& op : reduce_operators) {
      if (!applies_to(op.op, type.type)) continue;
      INFO(type.name << " " << op.name);
      std::mt19937 random(1);
      std::string wrong;
      for (const std::size_t count : {0, 1, 3, 16, 31, 97, 500}) {
        for (const std::size_t operands : {1, 2, 3, 8}) {
          for (const std::size_t offset : {0, 1}) {
            for (const double factor : {1.0, 1.0 / 3}) {
              const Case c{type.type, op.op, count, operands, offset, factor};
              const std::size_t elements = with_element(
                  type.type, [&](auto e) { return wrong_elements<decltype(e)>(c, random); });
              if (elements == 0) continue;
              wrong += "\n" + std::to_string(elements) + " of count " + std::to_string(count) +
                       ", operands " + std::to_string(operands) + ", offset " +
                       std::to_string(offset) + ", factor " + std::to_string(factor);
            }
          }
        }
      }
      CHECK(wrong == "");
    }
  }
}

/// Says in words where the threads' shares do not take each element exactly once. Notes the most
/// elements that one thread has under way at the same time where nothing is aligned.
template <std::size_t element>
std::string wrong_shares(std::size_t count, bool aligned, std::size_t threads, int& most_singles) {
  std::vector<int> taken(count);
  std::size_t outside = 0;
  for (std::size_t thread = 0; thread < threads; ++thread) {
    device::share_out<element>(count, aligned, {thread, threads},
                               [&]<int lanes, int vectors>(std::size_t first, std::size_t stride) {
                                 if (lanes == 1) most_singles = std::max(most_singles, vectors);
                                 for (std::size_t v = 0; v < vectors; ++v) {
                                   for (std::size_t i = 0; i < lanes; ++i) {
                                     const std::size_t at = (first + v * stride) * lanes + i;
                                     at < count ? void(++taken[at]) : void(++outside);
                                   }
                                 }
                               });
  }
  const bool once = std::all_of(taken.begin(), taken.end(), [](int times) { return times == 1; });
  if (once && outside == 0) return "";
  return "\n" + std::to_string(count) + " of " + std::to_string(element) + " bytes among " +
         std::to_string(threads) + (aligned ? ", aligned" : ", not aligned");
}

TEST_CASE("threads take each element once, and have several under way where nothing is aligned",
          "[device]") {
  std::string wrong;
  for (const std::size_t count : {0, 1, 7, 8, 9, 16, 63, 64, 65, 127, 1000, 4099}) {
    for (const std::size_t threads : {1, 2, 3, 32, 256}) {
      for (const bool aligned : {false, true}) {
        int most = 0;
        wrong += wrong_shares<1>(count, aligned, threads, most);
        wrong += wrong_shares<2>(count, aligned, threads, most);
        wrong += wrong_shares<4>(count, aligned, threads, most);
        wrong += wrong_shares<8>(count, aligned, threads, most);
        if (!aligned && count >= 8 * threads) CHECK(most == 8);
      }
    }
  }
  CHECK(wrong == "");
}

TEST_CASE("a scaled source is rounded to its type before it is added", "[device]") {
  for (const DataTypeInfo& type : data_types) {
    if (type.type < DataType::float16) continue;
    INFO(type.name);
    const std::size_t wrong = with_element(type.type, [&](auto e) {
      using E = decltype(e);
      std::mt19937 random(2);
      const std::size_t bytes = 100 * type.bytes;
      Buffer own(bytes, 0), other(bytes, 0), got(bytes, 0);
      fill<E>(own, random);
      fill<E>(other, random);
      std::vector<std::byte> scaled(bytes), expected(bytes);
      scale(type.type, scaled.data(), own.data, 1.0 / 3, 100);
      const std::array<const void*, 2> pointers{other.data, scaled.data()};
      reduce(type.type, ReduceOperator::sum, expected.data(), pointers, 100);
      const std::array<device::Source, 2> sources{device::Source{other.data, false},
                                                  device::Source{own.data, true}};
      std::byte* const target = got.data;
      device::combine_any({.type = type.type, .before = 1.0 / 3}, {sources.data(), 2}, {&target, 1},
                          100, {0, 1});
      return count_wrong<E>(expected, got);
    });
    CHECK(wrong == 0);
  }
}
