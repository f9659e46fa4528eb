// gloo in the comparison, over its TCP transport on GLOO_INTERFACE (default: loopback).
// Reads RANK and WORLD_SIZE, and GLOO_STORE, an empty folder where the ranks find each other.
// Variants: its two all-reduces, ring (the default) and bcube.
//
// Its calls with unequal blocks and its reduce-scatter are not compared. The reduce-scatter works
// in place on registered buffers and overwrites its input. So every call would need a copy that
// others do not need.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "bench/compare/loop.h"

namespace {

using rondo::compare::Call;
using rondo::compare::Collective;

const char* variable(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : value;
}

class Gloo final : public rondo::compare::Library {
 public:
  Gloo()
      : rank_(rondo::compare::number_in("RANK")),
        ranks_(rondo::compare::number_in("WORLD_SIZE")),
        context_(std::make_shared<gloo::rendezvous::Context>(rank_, ranks_)) {
    gloo::transport::tcp::attr place;
    place.iface = variable("GLOO_INTERFACE", "lo");
    gloo::rendezvous::FileStore store(variable("GLOO_STORE", "."));
    auto device = gloo::transport::tcp::CreateDevice(place);
    context_->connectFullMesh(store, device);
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  std::string version() const override { return "gloo"; }

  void choose(const std::string& variant) override {
    if (variant != "ring" && variant != "bcube") {
      throw std::invalid_argument("gloo has no variant '" + variant + "'");
    }
    bcube_ = variant == "bcube";
  }

  void run(const Call& call) override {
    switch (call.collective) {
      case Collective::all_reduce:
        return all_reduce(call);
      case Collective::all_gather:
        return all_gather(call);
      case Collective::broadcast:
        return broadcast(call);
      case Collective::all_to_all:
        return all_to_all(call);
      default:
        throw std::invalid_argument("not compared with gloo");
    }
  }

 private:
  std::size_t all(const Call& call) const { return static_cast<std::size_t>(ranks_) * call.block; }

  void all_reduce(const Call& call) {
    using Algorithm = gloo::AllreduceOptions::Algorithm;
    using Sum = void (*)(void*, const void*, const void*, std::size_t);
    gloo::AllreduceOptions options(context_);
    options.setInput(call.input, call.block);
    options.setOutput(call.output, call.block);
    options.setReduceFunction(static_cast<Sum>(&gloo::sum<float>));
    options.setAlgorithm(bcube_ ? Algorithm::BCUBE : Algorithm::RING);
    gloo::allreduce(options);
  }

  void all_gather(const Call& call) {
    gloo::AllgatherOptions options(context_);
    options.setInput(call.input, call.block);
    options.setOutput(call.output, all(call));
    gloo::allgather(options);
  }

  void broadcast(const Call& call) {
    gloo::BroadcastOptions options(context_);
    options.setOutput(call.root == rank_ ? call.input : call.output, call.block);
    options.setRoot(call.root);
    gloo::broadcast(options);
  }

  void all_to_all(const Call& call) {
    gloo::AlltoallOptions options(context_);
    options.setInput(call.input, all(call));
    options.setOutput(call.output, all(call));
    gloo::alltoall(options);
  }

  int rank_;
  int ranks_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  bool bcube_ = false;
};

}  // namespace

int main(int argc, char** argv) { return rondo::compare::drive<Gloo>(argc, argv); }
