// A rank of a small training that kills itself in the middle of a checkpoint:
//
//   trainer_killed_program FOLDER [RANK POINT]      RANK: a number or "all"
//
// POINT is a stage of saving, by name (checkpoints.cc). Without a rank the training goes on to its
// end, and rank 0 prints the last loss.
#include <csignal>
#include <cstdio>
#include <exception>
#include <span>
#include <string>

#include "tests/trainer/train.h"
#include "tools/trainer/session.h"

namespace {

using namespace rondo;

train::Options small_training(const std::string& folder) {
  auto options = test::small_gpt_options();
  options.model.layers = 1;
  options.model.width = 8;
  options.strategy.kind = "zero1";
  options.checkpoint.folder = folder;
  options.checkpoint.resume = true;
  options.checkpoint.keep = 1;
  return options;
}

void run(std::span<char*> arguments) {
  const std::string folder = arguments[1];
  auto world = Communicator::from_environment();
  const bool killed = arguments.size() == 4 && (std::string(arguments[2]) == "all" ||
                                                std::stoi(arguments[2]) == world.rank());
  train::Session session(small_training(folder), world);
  int saves = 0;
  auto checkpoints = session.checkpoints([&](const std::string& point) {
    if (point == "begun") ++saves;
    if (killed && saves == 2 && point == arguments[3]) std::raise(SIGKILL);
  });
  if (const auto found = checkpoints.start(); found.position) {
    session.set_position(*found.position);
    if (world.rank() == 0) std::printf("resumed at %zu\n", found.position->step);
  }
  double loss = 0;
  while (session.position().step < 9) {
    loss = session.step().loss;
    if (session.position().step % 3 == 0) checkpoints.save(session.position());
  }
  if (world.rank() == 0) std::printf("loss %.17g\n", loss);
  world.finalize();
}

}  // namespace

int main(int count, char** arguments) {
  try {
    run({arguments, static_cast<std::size_t>(count)});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
