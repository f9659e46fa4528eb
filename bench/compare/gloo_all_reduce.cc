// gloo's side of the comparison: gloo::allreduce over its TCP transport on the loopback interface.
// Reads RANK and WORLD_SIZE, and GLOO_STORE, an empty folder where the ranks find each other;
// GLOO_ALGORITHM may be ring (gloo's default) or bcube.
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>

#include "bench/compare/loop.h"

namespace {

const char* variable(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : value;
}

std::shared_ptr<gloo::Context> connect(int rank, int ranks) {
  gloo::transport::tcp::attr loopback;
  loopback.iface = "lo";
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  gloo::rendezvous::FileStore store(variable("GLOO_STORE", "."));
  auto device = gloo::transport::tcp::CreateDevice(loopback);
  context->connectFullMesh(store, device);
  return context;
}

}  // namespace

int main(int argc, char** argv) {
  const int rank = std::atoi(variable("RANK", "0"));
  const int ranks = std::atoi(variable("WORLD_SIZE", "1"));
  const bool bcube = std::string_view(variable("GLOO_ALGORITHM", "ring")) == "bcube";
  try {
    const auto context = connect(rank, ranks);
    return rondo::compare::run_loop(
        argc, argv, rank, ranks, [&](const float* input, float* output, std::size_t count) {
          gloo::AllreduceOptions options(context);
          options.setInput(const_cast<float*>(input), count);  // gloo only reads it
          options.setOutput(output, count);
          options.setReduceFunction(
              static_cast<void (*)(void*, const void*, const void*, std::size_t)>(
                  &gloo::sum<float>));
          options.setAlgorithm(bcube ? gloo::AllreduceOptions::Algorithm::BCUBE
                                     : gloo::AllreduceOptions::Algorithm::RING);
          gloo::allreduce(options);
        });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gloo: %s\n", error.what());
    return 1;
  }
}
