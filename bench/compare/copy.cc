// The bound for shared memory: as many ranks as there are cores copy their inputs at the same time.
// Reads RANK and WORLD_SIZE. Variants: memcpy, or stores that bypass the caches and are faster for
// large vectors. The faster variant is the bound.
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <cstring>

#include "bench/compare/loop.h"

namespace {

using rondo::compare::Collective;

class Copy final : public rondo::compare::Library {
 public:
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  std::string version() const override { return "memcpy"; }

  void choose(const std::string& variant) override {
    if (variant != "heap" && variant != "stream") {
      throw std::invalid_argument("copy has no variant '" + variant + "'");
    }
    stream_ = variant == "stream";
  }

  void run(const rondo::compare::Call& call) override {
    if (call.collective != Collective::copy) throw std::invalid_argument("copy only copies");
    const std::size_t streamed = stream_ ? stream(call.output, call.input, call.block) : 0;
    std::memcpy(call.output + streamed, call.input + streamed,
                (call.block - streamed) * sizeof(float));
  }

  /// Not needed: commands reach the ranks within microseconds, and a sample has many copies.
  void barrier() override {}

 private:
  /// Copies whole 16-byte vectors past the caches, and returns the number of their elements.
  /// Outputs lie at multiples of 16 bytes (see Buffers and malloc).
  static std::size_t stream([[maybe_unused]] float* output, [[maybe_unused]] const float* input,
                            [[maybe_unused]] std::size_t count) {
    std::size_t index = 0;
#if defined(__SSE2__)
    for (; index + 4 <= count; index += 4)
      _mm_stream_ps(output + index, _mm_loadu_ps(input + index));
    _mm_sfence();
#endif
    return index;
  }

  bool stream_ = false;
  int rank_ = rondo::compare::number_in("RANK");
  int ranks_ = rondo::compare::number_in("WORLD_SIZE");
};

}  // namespace

int main(int argc, char** argv) {
  return rondo::compare::drive<Copy>(argc, argv, rondo::compare::number_in("RANK"));
}
