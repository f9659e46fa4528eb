// rondo-train: a data-parallel trainer on rondo's public API.
#include <iostream>

#include "core/settings/settings.h"
#include "tools/trainer/agreement.h"
#include "tools/trainer/run.h"

namespace {

using namespace rondo::train;

/// In an elastic run nobody needs ranks that die when all is done.
void leave(const Options& options, rondo::Communicator& world) {
  try {
    world.finalize();
  } catch (const rondo::Error&) {
    if (!options.elastic) throw;
  }
}

/// An error that every rank throws is printed once. An error of one rank ends the others, too.
int train(const Options& options) {
  // The textbook's formulas hold for rings. Other algorithms have their own, if asked for.
  const bool rings = options.validate && rondo::read_config().algorithm.empty();
  rondo::Communicator world;
  if (!options.join)
    world = rondo::Communicator::from_environment({.algorithm = rings ? "ring" : ""});
  try {
    run(options, world, std::cout);
    leave(options, world);
    return 0;
  } catch (const AgreedError& error) {
    if (options.join || world.rank() == 0) std::cerr << error.what() << std::endl;
    leave(options, world);
    return 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    if (world) world.abort(error.what());
    return 1;
  }
}

/// Whether this rank prints mistakes on the command line. It must know that without communication.
bool speaks() {
  try {
    return rondo::read_placement(rondo::read_config()).rank == 0;
  } catch (const rondo::Error&) {  // of the environment, not of the command line
    return true;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const CommandLine line = read_command_line(argc, argv, speaks());
  if (line.leave >= 0) return line.leave;
  try {
    return train(line.options);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
