// Typed calls that the compiler must refuse, each in the words after it. typed_refusals.py compiles
// this file and reads what the compiler says. It has nothing against the other lines.
#include <rondo/memory.h>
#include <rondo/rondo.h>

#include <array>
#include <string>

struct Pair {
  int first;
  int second;
};
struct TooLarge {
  float value;
};
template <>
inline constexpr auto rondo::data_type_of<TooLarge> = rondo::DataType::float16;

void refused(rondo::Communicator& world) {
  std::vector<float> values(3);
  const std::vector<float> fixed(3);
  std::vector<double> doubles(3);
  std::vector<Pair> pairs(3);
  std::vector<bool> flags(3);
  std::vector<TooLarge> large(3);
  const std::array<int, 2> counts{};
  unsigned word = 0;
  bool flag = false;
  long double precise = 0;
  Pair pair{};
  rondo::Memory untyped = rondo::allocate(16);

  world.all_reduce(values, rondo::ReduceOperator::max);
  world.all_reduce(fixed, std::span(values));
  world.all_reduce(pairs);                     // refused: this element type has no DataType
  world.all_reduce(pair);                      // refused: this element type has no DataType
  world.all_reduce(flags);                     // refused: this element type has no DataType
  world.all_reduce(untyped);                   // refused: this element type has no DataType
  world.broadcast(flag, 0);                    // refused: this element type has no DataType
  world.send(precise, 1);                      // refused: this element type has no DataType
  world.recv(large, 1);                        // refused: as large as its DataType
  world.all_reduce(values, fixed);             // refused: this output is const
  world.recv(counts, 0);                       // refused: this output is const
  world.all_gather(values, doubles);           // refused: different element types
  world.reduce_scatter(counts, word);          // refused: different element types
  world.send_async(std::vector<int>(3), 1);    // refused: this buffer is a temporary
  world.broadcast(std::array<float, 2>{}, 0);  // refused: this buffer is a temporary
}
