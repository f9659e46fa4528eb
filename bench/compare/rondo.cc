// rondo in the comparison, started by rondorun. Variants: buffers from the heap or from
// rondo::allocate().
#include "rondo/rondo.h"

#include "bench/compare/loop.h"
#include "rondo/memory.h"

namespace {

using rondo::compare::Call;
using rondo::compare::Collective;

class Rondo final : public rondo::compare::Library {
 public:
  int rank() const override { return world_.rank(); }
  int ranks() const override { return world_.size(); }
  std::string version() const override { return std::string("rondo ") + rondo::version(); }

  void choose(const std::string& variant) override {
    if (variant != "heap" && variant != "allocate") {
      throw std::invalid_argument("rondo has no variant '" + variant + "'");
    }
    shared_ = variant == "allocate";
  }

  rondo::compare::Floats allocate(std::size_t count) override {
    if (!shared_) return Library::allocate(count);
    auto memory = std::make_shared<rondo::Memory>(rondo::allocate(count * sizeof(float)));
    return {memory, static_cast<float*>(memory->data())};
  }

  void run(const Call& call) override {
    constexpr auto type = rondo::DataType::float32;
    switch (call.collective) {
      case Collective::all_reduce:
        return communicator().all_reduce(call.input, call.output, call.block, type);
      case Collective::reduce_scatter:
        return communicator().reduce_scatter(call.input, call.output, call.block, type);
      case Collective::all_gather:
        return communicator().all_gather(call.input, call.output, call.block, type);
      case Collective::broadcast: {
        float* buffer = call.root == rank() ? call.input : call.output;
        return communicator().broadcast(buffer, buffer, call.block, type, call.root);
      }
      case Collective::all_to_all:
        return communicator().all_to_all(call.input, call.output, call.block, type);
      case Collective::scan:
        return communicator().scan(call.input, call.output, call.block, type);
      case Collective::exclusive_scan:
        return communicator().exclusive_scan(call.input, call.output, call.block, type);
      case Collective::all_gather_v:
        return communicator().all_gather_v(call.input, call.output, call.deal->sent.counts, type);
      case Collective::reduce_scatter_v:
        return communicator().reduce_scatter_v(call.input, call.output, call.deal->sent.counts,
                                               type);
      case Collective::gather_v:
        return communicator().gather_v(call.input, call.output, call.deal->sent.counts, type,
                                       call.root);
      case Collective::scatter_v:
        return communicator().scatter_v(call.input, call.output, call.deal->sent.counts, type,
                                        call.root);
      case Collective::all_to_all_v:
        return communicator().all_to_all_v(call.input, {call.deal->sent.counts}, call.output,
                                           {call.deal->received.counts}, type);
      case Collective::copy:
        throw std::invalid_argument("a plain copy is compare_copy's");
    }
  }

 private:
  /// One communicator for each kind of memory, since a communicator learns from its own calls which
  /// path is faster. A normal program uses one kind of memory.
  rondo::Communicator& communicator() { return shared_ ? on_allocated_ : world_; }

  rondo::Communicator world_ = rondo::Communicator::from_environment();
  rondo::Communicator on_allocated_ = world_.dup();
  bool shared_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return rondo::compare::drive<Rondo>(argc, argv, rondo::compare::number_in("LOCAL_RANK"));
}
