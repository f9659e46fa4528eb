// rondo-train: a data-parallel trainer on rondo's public API.
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>

#include "tools/trainer/agreement.h"
#include "tools/trainer/report/evidence.h"
#include "tools/trainer/run.h"

namespace {

using namespace rondo::train;

/// The width of standard output; 0 if it is not a terminal.
std::size_t terminal_columns() {
  if (::isatty(STDOUT_FILENO) != 1) return 0;
  winsize size{};
  const bool told = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return told ? size.ws_col : 80;
}

/// Ends the progress bar's line on Ctrl-C, so that the shell's next prompt starts on a line of its
/// own.
void end_line_when_interrupted() {
  struct sigaction action {};
  // If the signal is ignored, as after a shell's `&`, it stays ignored.
  if (::sigaction(SIGINT, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  action.sa_handler = [](int number) {
    [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, "\n", 1);
    ::raise(number);  // once this handler has returned, as if it had not been there
  };
  ::sigaction(SIGINT, &action, nullptr);
}

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
  const bool rings = options.validate && !algorithm_is_chosen();
  rondo::Communicator world;
  if (!options.join)
    world = rondo::Communicator::from_environment({.algorithm = rings ? "ring" : ""});
  try {
    run(options, world, std::cout, terminal_columns());
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
  for (const char* name : {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (const char* const rank = std::getenv(name)) return std::string(rank) == "0";
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const CommandLine line = read_command_line(argc, argv, speaks());
  if (line.leave >= 0) return line.leave;
  if (terminal_columns() > 0) end_line_when_interrupted();
  try {
    return train(line.options);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
