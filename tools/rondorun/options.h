// The command line of rondorun.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/rondorun/hosts.h"

namespace rondo::launch {

/// Value type. It is checked already; code that has one need not check again.
struct Options {
  int ranks = 0;  ///< on this node; with hosts: on all of them
  std::vector<Host> hosts{};
  int nodes = 1;
  int node = 0;
  std::string master_address{};          ///< empty: chosen
  std::uint16_t master_port = 0;         ///< 0: chosen
  std::vector<std::string> variables{};  ///< "NAME=VALUE", later ones win
  std::string directory{};               ///< of the ranks; empty: this process's
  bool prefix = false;
  std::string output_directory{};
  bool bind_to_core = false;
  bool elastic = false;  ///< the job goes on when ranks fail
  std::chrono::milliseconds grace{2000};
  std::string ssh = "ssh";
  std::string remote_path{};  ///< empty: this program's own path
  bool serve = false;         ///< started by another rondorun; the job comes through stdin
  std::vector<std::string> command{};
};

/// Nothing when --help or --version has been answered. Throws LaunchError.
std::optional<Options> parse_options(int argc, const char* const* argv);

}  // namespace rondo::launch
