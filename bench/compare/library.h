// The interface of a compared library. Each library has one file that implements it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "bench/compare/deal.h"

namespace rondo::compare {

using Floats = std::shared_ptr<float>;

/// One call. A broadcast works in place, as MPI's does: the root's buffer is its input, the
/// others' is their output.
struct Call {
  Collective collective;
  float* input;
  float* output;
  std::size_t block;           ///< elements, see Deal
  int root;                    ///< of broadcast, gather_v and scatter_v
  const Deal* deal = nullptr;  ///< of ragged calls
};

/// `count` elements as an ordinary program gets them.
inline Floats heap_floats(std::size_t count) {
  void* block = std::malloc(count * sizeof(float));
  if (block == nullptr) throw std::bad_alloc();
  return {static_cast<float*>(block), [](float* floats) { std::free(floats); }};
}

class Library {
 public:
  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  virtual ~Library() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// One line that says which version this is.
  virtual std::string version() const = 0;
  /// Chooses one of the library's variants, such as "heap" or "ring", for the calls that follow.
  /// Throws std::invalid_argument for an unknown one.
  virtual void choose(const std::string& variant) = 0;
  /// `count` elements, uninitialised; collective in no way.
  virtual Floats allocate(std::size_t count) { return heap_floats(count); }
  /// One blocking call.
  virtual void run(const Call& call) = 0;
  /// Whether outputs are the collective's results. Otherwise bytes only move and are not checked.
  virtual bool computes() const { return true; }

  /// Returns after every rank has entered. The same for every library: its smallest all-reduce.
  virtual void barrier() {
    float one = 1;
    float sum = 0;
    run({Collective::all_reduce, &one, &sum, 1, 0});
  }
};

}  // namespace rondo::compare
