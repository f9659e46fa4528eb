// The subcommands of `rondo`, each in a file of its own.
#pragma once

#include <CLI/App.hpp>

namespace rondo::tool {

/// Each adds its subcommand to the program. The subcommand runs after the command line has been
/// parsed. `status` becomes the exit status if that can be other than 0.
void add_verify(CLI::App& program, int& status);
void add_explain(CLI::App& program, int& status);
void add_learn(CLI::App& program);
void add_simulate(CLI::App& program);
void add_schedule(CLI::App& program);
void add_synthesize(CLI::App& program);
void add_list(CLI::App& program);
void add_why(CLI::App& program);
void add_trace(CLI::App& program);
void add_rdma(CLI::App& program);
void add_gpus(CLI::App& program);
void add_topology(CLI::App& program);
void add_calibrate(CLI::App& program, int& status);

}  // namespace rondo::tool
