#include "bench/common/run.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/common/options.h"
#include "bench/common/sweep.h"
#include "core/plan/choose.h"
#include "core/settings/schedule_files.h"

namespace rondo::bench {
namespace {

/// Whether this process prints messages for all of them; usable before there is a communicator.
bool is_first_process() {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* value = std::getenv(name)) return std::string_view(value) == "0";
  }
  return true;
}

/// An algorithm without a collective's name is meant for this program's one. An unknown name is an
/// error.
std::string algorithm_of(const Program& program, const std::string& given) {
  if (given.empty() || given.find(':') != std::string::npos) return given;
  return std::string(rondo::name(program.collective)) + ":" + given;
}

/// The algorithm that the file names. Throws Error, std::invalid_argument for another collective's.
std::string algorithm_in(const Program& program, const std::string& file) {
  const Scripts all = parse_scripts(read_schedule_files(file));
  if (all.size() != 1)
    throw std::invalid_argument("--schedule: " + file + " has " + std::to_string(all.size()) +
                                " schedules; name one file");
  const Script& script = all.front();
  if (script.collective() != program.collective)
    throw std::invalid_argument("--schedule: " + file + " is of " +
                                std::string(rondo::name(script.collective())) + ", not " +
                                std::string(rondo::name(program.collective)));
  return script.algorithm();
}

/// --counts needs a collective that has blocks.
void check_counts(const Program& program, const Options& options) {
  if (options.count_pattern && program.call_ragged == nullptr) {
    throw std::invalid_argument("--counts: " + std::string(rondo::name(program.collective)) +
                                " has no blocks that could differ in size; try all_gather_perf, "
                                "reduce_scatter_perf, gather_perf, scatter_perf or alltoall_perf");
  }
}

rondo::Options library_options(const Options& options) {
  rondo::Options result;
  result.algorithm = options.algorithm;
  result.schedules = options.schedule;
  result.transport = options.transport;
  result.timeout = std::chrono::seconds(options.timeout_seconds);
  result.reproducible = options.reproducible;
  result.accumulate_wide = options.accumulate_wide;
  result.checksum = options.checksum;
  return result;
}

/// Runs `work`. An exception becomes a line on standard error and a status.
template <class Work>
int guarded(const Program& program, bool speaks, Work work) {
  try {
    return work();
  } catch (const std::invalid_argument& error) {
    if (speaks) std::fprintf(stderr, "%s: %s\n", program.name.data(), error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: no memory for the buffers. Try: a smaller -e, or --fresh 0\n",
                 program.name.data());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}

/// One rank. A failure here aborts the communicator, so that no other rank waits for this one.
int run_rank(Communicator& communicator, const Program& program, const Options& options,
             const std::vector<std::string>& arguments) {
  return guarded(program, communicator.rank() == 0, [&] {
    try {
      const Summary summary = sweep(communicator, program, options, arguments);
      communicator.finalize();
      return summary.okay() ? 0 : 1;
    } catch (...) {
      communicator.abort(std::string(program.name) + " failed on this rank");
      throw;
    }
  });
}

/// `threads` communicators, of this process alone or of all processes of the launcher's world.
template <class Body>
int run_threads(const Options& options, Body body) {
  const rondo::Options library = library_options(options);
  Communicator processes = Communicator::from_environment(library);
  std::vector<Communicator> own(static_cast<std::size_t>(options.threads));
  UniqueId id;
  if (processes.size() == 1) {
    own = Communicator::from_threads(options.threads, library);
  } else {
    if (processes.rank() == 0) id = make_unique_id();
    processes.broadcast(id.bytes.data(), id.bytes.data(), id.bytes.size(), DataType::uint8, 0);
  }
  std::vector<int> statuses(own.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t k = 0; k < own.size(); ++k) {
      threads.emplace_back([&, k] {
        statuses[k] = body(own[k], [&] {
          const int first = processes.rank() * options.threads;
          own[k] = Communicator::from_unique_id(id, first + static_cast<int>(k),
                                                processes.size() * options.threads, library);
        });
      });
    }
  }
  return *std::max_element(statuses.begin(), statuses.end());
}

}  // namespace

int run(const Program& program, int argc, const char* const* argv) {
  const bool speaks = is_first_process();
  const Command<Options> parsed = parse_options(program.name, program.collective, argc, argv);
  if (parsed.status) return speaks ? parsed.end() : *parsed.status;
  for (const std::string& note : parsed.options.notes) {
    if (speaks) std::fprintf(stderr, "%s: %s\n", program.name.data(), note.c_str());
  }
  const std::vector<std::string> arguments(argv, argv + argc);
  Options options = parsed.options;
  return guarded(program, speaks, [&] {
    if (!options.schedule.empty() && !options.algorithm.empty())
      throw std::invalid_argument("--schedule and --algorithm exclude each other");
    if (!options.schedule.empty()) options.algorithm = algorithm_in(program, options.schedule);
    options.algorithm = algorithm_of(program, options.algorithm);
    check_counts(program, options);
    if (options.threads == 1) {
      Communicator world = Communicator::from_environment(library_options(options));
      return run_rank(world, program, options, arguments);
    }
    return run_threads(options, [&](Communicator& own, auto join) {
      return guarded(program, true, [&] {
        if (!own) join();
        return run_rank(own, program, options, arguments);
      });
    });
  });
}

}  // namespace rondo::bench
