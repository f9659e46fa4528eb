// The floor of the comparison: as many ranks as there are cores copy their inputs with memcpy, all
// at the same time. Reads RANK and WORLD_SIZE.
#include <cstdio>
#include <cstdlib>
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
    if (variant != "heap") throw std::invalid_argument("copy has no variant '" + variant + "'");
  }

  void run(const rondo::compare::Call& call) override {
    if (call.collective != Collective::copy) throw std::invalid_argument("copy only copies");
    std::memcpy(call.output, call.input, call.block * sizeof(float));
  }

  /// Commands reach the ranks within microseconds, which the many copies of a sample outweigh.
  void barrier() override {}

 private:
  static int number(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? 0 : std::atoi(value);
  }

  int rank_ = number("RANK");
  int ranks_ = number("WORLD_SIZE");
};

}  // namespace

int main(int argc, char** argv) {
  rondo::compare::start_rank();
  Copy library;
  rondo::compare::bind_core(library.rank());
  try {
    return rondo::compare::serve(library, argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
