// rondorun: starts the ranks of a program and ends them together.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "tools/rondorun/front.h"
#include "tools/rondorun/job.h"
#include "tools/rondorun/launch_error.h"
#include "tools/rondorun/options.h"
#include "tools/rondorun/serve.h"

namespace rondo::launch {
namespace {

/// Descriptors 0 to 2 must be taken, or a pipe could become standard output.
void open_standard_descriptors() {
  int fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::dup(fd);
  ::close(fd);
}

int run(const Options& options) {
  const BlockedSignals signals;
  return run_guarded(signals, [&](const UniqueFd& lifeline) {
    if (options.serve) return serve(signals, lifeline);
    return Job(options, signals, lifeline).run();
  });
}

int checked_main(int argc, const char* const* argv) {
  try {
    const auto options = parse_options(argc, argv);
    return options ? run(*options) : 0;
  } catch (const LaunchError& error) {
    std::fprintf(stderr, "rondorun: %s\n", error.what());
    return error.status();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rondorun: %s\n", error.what());
    return status_failure;
  }
}

}  // namespace
}  // namespace rondo::launch

int main(int argc, char** argv) {
  rondo::launch::open_standard_descriptors();
  return rondo::launch::checked_main(argc, argv);
}
