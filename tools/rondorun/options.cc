#include "tools/rondorun/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string_view>

#include "tools/rondorun/launch_error.h"
#include "tools/rondorun/swap.h"

namespace rondo::launch {
namespace {

constexpr const char* description =
    "Starts the ranks of a parallel program, on this machine or on several, and ends them "
    "together.";

constexpr const char* footer = R"(
Each rank has these variables in its environment: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
MASTER_ADDR and MASTER_PORT; for its node GROUP_RANK, GROUP_WORLD_SIZE and NODE_RANK; and
CUDA_DEVICE_MAX_CONNECTIONS=32, unless it is set already.

Input:    rank 0 reads rondorun's standard input if that is a file or a pipe. From a terminal, and
          with --hosts, every rank reads /dev/null.
Output:   is passed on line by line. If it is a terminal, the ranks write to it directly, unless
          --prefix is given.
Failure:  rondorun names the first rank that fails, and why. The other ranks have one second to
          report their errors. Then they get SIGTERM, and SIGKILL after the grace time. The exit
          status is that of the first failure: 128 + s after signal s, 126 or 127 if PROGRAM cannot
          be run.
          With --elastic rondorun names each rank that fails, also all ranks of a host that is lost,
          and the others go on. The exit status is 0 if at least one rank ends with 0, otherwise that
          of the first failure. A rank that cannot be started still ends the job.
Signals:  INT, TERM, HUP, QUIT, USR1, USR2, TSTP, CONT and WINCH are passed on to the ranks. After
          INT, TERM, HUP or QUIT, ranks have the grace time to end, then they are killed. A second
          such signal kills them at once.
Port:     rondorun keeps MASTER_PORT from other programs while the job runs. A rank that sets
          SO_REUSEADDR, as servers usually do, can listen on it.
Ssh:      must log in without asking a question. The working directory, the variables of --env, and
          all RONDO_* and NCCL_* variables go to each host, except RONDO_HOSTID and NCCL_HOSTID. A
          host that is this machine needs no ssh, unless it is given as an IP address.
Secret:   ranks prove to each other that they belong to the job. rondorun makes a secret for each job
          and gives it to them as RONDO_SECRET, unless RONDO_SECRET or RONDO_SECRET_FILE is set. With
          --nnodes, set one of them, the same on all nodes.
NCCL:     --nccl is for programs that are linked with NCCL, such as PyTorch and CuPy. NCCL_DEBUG=INFO
          shows that it worked: lines begin with [rondo.

Examples:
  rondorun -n 4 all_reduce_perf -b 8 -e 64M -f 2
  rondorun -n 4 --prefix --transport tcp ./train --epochs 3
  rondorun -n 2 --nccl --share-gpu python train.py
  rondorun -n 4 --elastic rondo-train --elastic
  rondorun --hosts node1:4,node2:4 ./train
  rondorun --hosts me@node1:4,node2:4 --ssh "ssh -p 2222" --env OMP_NUM_THREADS=2 ./train
  rondorun --nnodes 2 --node-rank 0 --master-addr node1 --master-port 29500 -n 4 ./train   (on node1)
  rondorun --nnodes 2 --node-rank 1 --master-addr node1 --master-port 29500 -n 4 ./train   (on node2)
)";

/// CLI11 has no word of its own for a program and its arguments.
class Help : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: rondorun -n N [OPTIONS] PROGRAM [ARGUMENTS]\n"
           "       rondorun --hosts HOST:N,... [OPTIONS] PROGRAM [ARGUMENTS]\n";
  }
};

/// What CLI11 fills in, before it is checked and joined.
struct Raw {
  std::string hosts, master_port, transport, algorithm, timeout, debug, bind = "none";
  double grace_seconds = 2;
  bool nccl = false, share_gpu = false;
};

void add_placement(CLI::App& app, Options& options, Raw& raw) {
  app.add_option("-n,--ranks", options.ranks, "Ranks on this node; with --hosts, in all")
      ->type_name("N");
  app.add_option("--hosts", raw.hosts, "Ranks on each host, started over ssh")
      ->type_name("HOST:N,...");
  app.add_option("--nnodes", options.nodes, "Number of nodes, if you start one rondorun on each")
      ->type_name("N");
  app.add_option("--node-rank", options.node, "This node's number, from 0")->type_name("K");
  app.add_option("--master-addr", options.master_address,
                 "Address at which the others reach rank 0")
      ->type_name("ADDRESS");
  app.add_option("--master-port", raw.master_port, "Port of rank 0; default: a free one")
      ->type_name("PORT");
  app.add_option("--bind", raw.bind,
                 "core: binds rank i of a node to its i-th core; needs a core for each rank")
      ->type_name("none|core");
}

void add_environment(CLI::App& app, Options& options, Raw& raw) {
  app.add_option("--env", options.variables, "Sets a variable of the ranks; may be repeated")
      ->type_name("NAME=VALUE")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
  app.add_option("--transport", raw.transport, "Sets RONDO_TRANSPORT, e.g. tcp or ^shm")
      ->type_name("NAMES");
  app.add_option("--algorithm", raw.algorithm, "Sets RONDO_ALGORITHM, e.g. ring")
      ->type_name("NAMES");
  app.add_option("--timeout", raw.timeout, "Sets RONDO_TIMEOUT")->type_name("SECONDS");
  app.add_option("--debug", raw.debug, "Sets RONDO_DEBUG, e.g. info")->type_name("LEVEL");
  app.add_flag("--nccl", raw.nccl,
               "Ranks use rondo's libnccl.so.2 instead of NVIDIA's (sets LD_PRELOAD)");
  app.add_flag("--share-gpu", raw.share_gpu,
               "All ranks of a node use its first GPU (sets LOCAL_RANK and CUDA_VISIBLE_DEVICES)");
  app.add_option("--directory", options.directory,
                 "Working directory of the ranks; default: this one")
      ->type_name("DIR");
}

void add_behaviour(CLI::App& app, Options& options, Raw& raw) {
  app.add_flag("--prefix", options.prefix, "Begins each line of output with \"[rank N] \"");
  app.add_option("--output-dir", options.output_directory,
                 "Writes the ranks' output to DIR/rank.N.out and DIR/rank.N.err instead")
      ->type_name("DIR");
  app.add_flag("--elastic", options.elastic,
               "Lets the others go on when ranks fail, for programs that recover");
  app.add_option("--grace", raw.grace_seconds, "Time between SIGTERM and SIGKILL; default: 2")
      ->type_name("SECONDS");
  app.add_option("--ssh", options.ssh, "Command to reach a host; default: ssh")
      ->type_name("COMMAND");
  app.add_option("--remote-path", options.remote_path,
                 "Path of rondorun on the other hosts; default: as here")
      ->type_name("PATH");
  app.add_flag("--serve", options.serve)->group("");
}

LaunchError usage(const std::string& text) {
  return {status_usage, text + "\nTry: rondorun --help"};
}

void require(bool condition, const std::string& text) {
  if (!condition) throw usage(text);
}

/// The number that all of `text` makes, else nothing.
template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

std::uint16_t read_port(const std::string& text) {
  const auto port = read_number<std::uint16_t>(text);
  require(port && *port != 0, "--master-port " + text + ": give a port from 1 to 65535");
  return *port;
}

/// Refuses what the library itself would refuse in every rank.
void check_timeout(const std::string& text) {
  const auto seconds = read_number<double>(text);
  require(seconds && *seconds >= 0.001 && *seconds <= 1e8,
          "--timeout " + text + ": give 0.001 to 100000000 seconds");
}

void add_shortcut(Options& options, const char* name, const std::string& value) {
  if (!value.empty()) options.variables.push_back(std::string(name) + "=" + value);
}

void join(Options& options, const Raw& raw) {
  if (!raw.hosts.empty()) options.hosts = parse_hosts(raw.hosts);
  if (!raw.master_port.empty()) options.master_port = read_port(raw.master_port);
  if (!raw.timeout.empty()) check_timeout(raw.timeout);
  add_shortcut(options, "RONDO_TRANSPORT", raw.transport);
  add_shortcut(options, "RONDO_ALGORITHM", raw.algorithm);
  add_shortcut(options, "RONDO_TIMEOUT", raw.timeout);
  add_shortcut(options, "RONDO_DEBUG", raw.debug);
  if (raw.nccl) options.variables.push_back(preload(nccl_library(), std::getenv("LD_PRELOAD")));
  if (raw.share_gpu)
    for (const std::string& variable : shared_gpu(std::getenv("CUDA_VISIBLE_DEVICES")))
      options.variables.push_back(variable);
  require(raw.bind == "none" || raw.bind == "core", "--bind: give none or core");
  options.bind_to_core = raw.bind == "core";
  require(raw.grace_seconds >= 0 && raw.grace_seconds <= 86400, "--grace: give 0 to 86400 seconds");
  options.grace = std::chrono::milliseconds(static_cast<long>(raw.grace_seconds * 1000));
}

void check_nodes(const Options& options) {
  require(options.nodes >= 1, "--nnodes: there must be at least 1 node");
  require(options.node >= 0 && options.node < options.nodes,
          "--node-rank " + std::to_string(options.node) + ": must be from 0 to " +
              std::to_string(options.nodes - 1) + ", one less than --nnodes");
  require(options.nodes == 1 || (!options.master_address.empty() && options.master_port != 0),
          "--nnodes: several nodes need --master-addr and --master-port, the same on each node");
  require(options.nodes == 1 || options.hosts.empty(),
          "--nnodes and --hosts exclude each other: give one of them");
}

void check(const Options& options, bool ranks_given) {
  require(ranks_given || !options.hosts.empty(),
          "the number of ranks is missing: give -n N, or --hosts HOST:N,...");
  require(!ranks_given || options.ranks >= 1, "-n: there must be at least 1 rank");
  check_nodes(options);
  for (const std::string& variable : options.variables)
    require(variable.find('=') != std::string::npos && variable.front() != '=',
            "--env: '" + variable + "' is not of the form NAME=VALUE");
  require(!options.command.empty(), "no program was given");
}

/// Everything from the program on. CLI11 stops at the first word that is no option, but passes over
/// options that it does not know. Some of its versions keep a leading "--", others drop it.
std::vector<std::string> take_command(const CLI::App& app, int argc, const char* const* argv) {
  const auto count = static_cast<int>(app.remaining().size());
  if (count == 0) return {};
  std::vector<std::string> words(argv + argc - count, argv + argc);
  const std::string first = app.remaining().front();
  if (words.front() == "--") {
    words.erase(words.begin());
  } else if (first.starts_with('-') && std::string_view(argv[argc - count - 1]) != "--") {
    throw usage("unknown option " + first);
  }
  return words;
}

}  // namespace

std::optional<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  Raw raw;
  CLI::App app(description, "rondorun");
  app.formatter(std::make_shared<Help>());
  app.footer(footer);
  app.prefix_command();
  app.set_version_flag("--version", "rondorun " RONDO_VERSION);
  add_placement(app, options, raw);
  add_environment(app, options, raw);
  add_behaviour(app, options, raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    app.exit(asked, std::cout, std::cerr);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw usage(error.what());
  }
  if (options.serve) return options;
  join(options, raw);
  options.command = take_command(app, argc, argv);
  check(options, app.count("-n") > 0);
  return options;
}

}  // namespace rondo::launch
