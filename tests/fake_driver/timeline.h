// How long the work of streams takes on GPUs with links between them: a model, whose numbers are those
// of tests/device/machine.h where both have them.
//
// A stream does its steps in turn. A step begins when the one before is over, the thread that put it there
// has come to it, and the word that it waits for has been written. Then it takes its cost. Then its
// bytes move, if it has any. Bytes that move at the same time share memories and links: where these
// cannot carry all, each copy or kernel is slowed down by the same factor. So no step holds a place
// that another one must wait for, and times do not depend on the order in which steps were noted.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace rondo::test {

/// Seconds that are not bytes over bandwidth. "Measured" means: on an H200, bench/results/gpu-h200.json.
struct StreamCosts {
  /// From one entry of a stream to the next: messages of 8 B in graphs of 2, 4 and 8 ranks that share
  /// a GPU, 8 entries each, took 20.9, 42.2 and 93.6 us, 1.3 to 1.5 us an entry.
  double entry = 1.4e-6;
  /// Each operation on a word within an entry: broadcasts of 8 B there took 12.9, 32 and 70 us, which
  /// leaves 0.4 to 0.7 us for each of 6, 18 and 42 operations.
  double operation = 0.6e-6;
  double kernel = 2.6e-6;  ///< measured: 8 B in a graph of one kernel
  /// Until another GPU sees a word in the host's memory. Assumed.
  double word = 1.0e-6;
  /// A driver call that puts something into a stream, and any other one. Measured: 2 ranks that send
  /// and receive 64 MB make 12 calls in 23.4 us, one at a time; each further rank of a kernel makes
  /// 5 calls in 2.3 us.
  double put = 2.0e-6;
  double call = 0.4e-6;
};

/// What bytes go through on their way.
enum class Path : std::size_t { memory, link_out, link_in };
inline constexpr std::size_t paths = 3;

struct Use {
  std::size_t resource = 0;  ///< paths * device + Path
  double bytes = 0;
};

/// The device `by` reads or writes memory of the device `at`.
void add_read(std::vector<Use>& uses, int by, int at, double bytes);
void add_write(std::vector<Use>& uses, int by, int at, double bytes);

/// Part of an entry of a stream.
struct Step {
  double issued = 0;             ///< when its thread has put it into the stream
  double cost = 0;               ///< before its bytes move, or its word is written
  const void* waits = nullptr;   ///< for this word; null: for none
  const void* writes = nullptr;  ///< this word; null: none
  unsigned value = 0;
  bool or_more = false;  ///< waits until the word has come to the value, or is further
  std::vector<Use> uses{};
};
using Steps = std::vector<Step>;
using Words = std::map<const void*, unsigned>;

/// When all streams are done. `words`: their values at the beginning; 0 for those that lack. Throws
/// std::runtime_error where streams wait for ever.
double seconds_of(const std::vector<Steps>& streams, const Words& words);

}  // namespace rondo::test
