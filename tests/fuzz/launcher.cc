// What a rondorun reads from another one on another host.
#include <string>

#include "tests/fuzz/input.h"
#include "tools/rondorun/launch_error.h"
#include "tools/rondorun/message.h"
#include "tools/rondorun/plan.h"

namespace rondo::fuzz {
namespace {

using launch::MessageReader;
using launch::NodePlan;

void check_again(const launch::Message& message) {
  MessageReader reader;
  reader.add(launch::greeting);
  reader.add(encode(message));
  demand(must_read([&] { return reader.next(); }) == message,
         "a message is read as it was written");
  demand(!reader.next(), "it is one message");
}

void check_again(const NodePlan& plan) {
  MessageReader reader;
  reader.add(launch::greeting);
  reader.add(encode(plan));
  NodePlan again;
  while (const auto message = must_read([&] { return reader.next(); }))
    demand(apply(*message, again), "it is of a plan");
  demand(again == plan, "a plan is read as it was written");
}

void read(Input& input) {
  MessageReader reader;
  NodePlan plan;
  try {
    input.in_pieces([&](std::string_view piece) {
      reader.add(piece);
      while (const auto message = reader.next()) {
        check_again(*message);
        apply(*message, plan);
      }
    });
  } catch (const launch::LaunchError&) {
  }
  static_cast<void>(reader.noise());
  check_again(plan);
}

}  // namespace
}  // namespace rondo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rondo::fuzz::Input input(data, size);
  rondo::fuzz::read(input);
  return 0;
}
