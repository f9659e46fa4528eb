// A rank whose buffers lie in rondo::allocate() memory. Every call's input is overwritten as soon
// as the call is over, every element of the output is compared, and buffers are freed and made
// again.
//
//   verbs_windows_program GENERATIONS ROUNDS ELEMENTS
//
// Ends with status 4 after a wrong element.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "rondo/memory.h"
#include "rondo/rondo.h"

namespace {

using rondo::Communicator;
using rondo::DataType;

/// A small value, so that sums are exact.
float value(int rank, std::size_t index, int salt) {
  return static_cast<float>(1 + (static_cast<std::size_t>(rank * 7 + salt) + index * 3) % 11);
}

struct WrongElement {};

/// Buffers of one generation.
class Buffers {
 public:
  Buffers(Communicator& world, std::size_t elements)
      : world_(world),
        elements_(elements),
        ranks_(static_cast<std::size_t>(world.size())),
        input_(rondo::allocate(elements * ranks_ * sizeof(float))),
        output_(rondo::allocate(elements * ranks_ * sizeof(float))) {}

  void round(int salt) {
    fill(input(), elements_, salt);
    world_.all_reduce(input(), output(), elements_, DataType::float32);
    spoil(input());
    check("all_reduce", elements_, [&](std::size_t i) { return sum(i, salt); });

    fill(output(), elements_, salt);
    world_.all_reduce(output(), output(), elements_, DataType::float32);
    check("all_reduce in place", elements_, [&](std::size_t i) { return sum(i, salt); });

    fill(input(), elements_, salt + 1);
    world_.all_gather(input(), output(), elements_, DataType::float32);
    spoil(input());
    check("all_gather", elements_ * ranks_, [&](std::size_t i) {
      return value(static_cast<int>(i / elements_), i % elements_, salt + 1);
    });

    fill(input(), elements_ * ranks_, salt + 2);
    world_.all_to_all(input(), output(), elements_, DataType::float32);
    spoil(input());
    const std::size_t mine = static_cast<std::size_t>(world_.rank()) * elements_;
    check("all_to_all", elements_ * ranks_, [&](std::size_t i) {
      return value(static_cast<int>(i / elements_), mine + i % elements_, salt + 2);
    });

    fill(input(), elements_, salt + 3);
    world_.broadcast(input(), output(), elements_, DataType::float32, 1);
    spoil(input());
    check("broadcast", elements_, [&](std::size_t i) { return value(1, i, salt + 3); });
  }

 private:
  float* input() { return static_cast<float*>(input_.data()); }
  float* output() { return static_cast<float*>(output_.data()); }
  void fill(float* buffer, std::size_t count, int salt) {
    for (std::size_t i = 0; i < count; ++i) buffer[i] = value(world_.rank(), i, salt);
  }
  void spoil(float* buffer) { std::fill_n(buffer, elements_ * ranks_, -1000.0F); }
  float sum(std::size_t index, int salt) {
    float total = 0;
    for (int rank = 0; rank < world_.size(); ++rank) total += value(rank, index, salt);
    return total;
  }
  template <class Expected>
  void check(const char* what, std::size_t count, const Expected& expected) {
    for (std::size_t i = 0; i < count; ++i) {
      if (output()[i] == expected(i)) continue;
      std::printf("rank %d: %s: element %zu is %g, not %g\n", world_.rank(), what, i,
                  static_cast<double>(output()[i]), static_cast<double>(expected(i)));
      throw WrongElement{};
    }
  }

  Communicator& world_;
  std::size_t elements_;
  std::size_t ranks_;
  rondo::Memory input_;
  rondo::Memory output_;
};

void work(std::span<char*> words) {
  auto world = Communicator::from_environment();
  int salt = 0;
  for (int generation = 0; generation < std::atoi(words[0]); ++generation) {
    Buffers buffers(world, std::strtoul(words[2], nullptr, 10));
    for (int round = 0; round < std::atoi(words[1]); ++round) buffers.round(salt++);
  }
  world.finalize();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    work(std::span(argv + 1, 3));
    return 0;
  } catch (const WrongElement&) {
    return 4;
  } catch (const rondo::Error& error) {
    std::printf("%s\n", error.what());
    return 3;
  }
}
