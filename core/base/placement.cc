// Which rank is this process? Each launcher says it in variables of its own.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

#include "core/base/config.h"
#include "core/base/environment.h"
#include "core/base/text.h"
#include "rondo/error.h"

namespace rondo {
namespace {

[[noreturn]] void refuse(std::string message, std::string remedy) {
  throw Error(ErrorCode::configuration, std::move(message), {.remedy = std::move(remedy)});
}

/// A variable that was found, with its name for messages.
struct Variable {
  std::string name;
  std::string value;
};

std::optional<Variable> first_of(const Environment& environment,
                                 std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    if (auto value = environment.find(name)) return Variable{std::string(name), *std::move(value)};
  }
  return std::nullopt;
}

int number(const Variable& variable, long long least, long long most) {
  const auto value = parse_integer(variable.value);
  if (value && *value >= least && *value <= most) return static_cast<int>(*value);
  refuse(variable.name + "=" + variable.value + " is not a whole number between " +
             std::to_string(least) + " and " + std::to_string(most),
         "start the program with rondorun, torchrun, srun or mpirun, which set it");
}

constexpr long long most_ranks = 1'000'000;

/// Reads one launcher's rank and world size. std::nullopt when it has set neither.
std::optional<Placement> rank_and_world(const Environment& environment, std::string_view source,
                                        std::initializer_list<std::string_view> rank_names,
                                        std::initializer_list<std::string_view> world_names) {
  const auto rank = first_of(environment, rank_names);
  const auto world = first_of(environment, world_names);
  if (!rank && !world) return std::nullopt;
  if (!rank || !world) {
    const auto& present = rank ? *rank : *world;
    const std::string absent(rank ? *world_names.begin() : *rank_names.begin());
    refuse(present.name + "=" + present.value + " is set but " + absent + " is not",
           "set " + absent + " as well, or unset " + present.name + " to run as one rank");
  }
  Placement placement;
  placement.source = source;
  placement.ranks = number(*world, 1, most_ranks);
  placement.rank = number(*rank, 0, most_ranks);
  if (placement.rank >= placement.ranks) {
    refuse(rank->name + "=" + rank->value + " is not below " + world->name + "=" + world->value,
           "ranks are numbered from 0 to " + std::to_string(placement.ranks - 1));
  }
  return placement;
}

void read_local(const Environment& environment, std::initializer_list<std::string_view> rank_names,
                std::initializer_list<std::string_view> size_names, Placement& placement) {
  const auto rank = first_of(environment, rank_names);
  const auto size = first_of(environment, size_names);
  placement.local_known = rank.has_value();
  if (rank) placement.local_rank = number(*rank, 0, most_ranks);
  placement.local_ranks = size ? number(*size, 1, most_ranks) : placement.local_rank + 1;
  if (rank && size && placement.local_rank >= placement.local_ranks) {
    refuse(rank->name + "=" + rank->value + " is not below " + size->name + "=" + size->value,
           "ranks of one machine are numbered from 0");
  }
}

/// RONDO_PORT, else MASTER_PORT; the next one where torchrun's agent listens on MASTER_PORT itself.
std::optional<std::uint16_t> given_port(const Config& config, const Environment& environment) {
  if (config.port != 0) return config.port;
  const auto port = first_of(environment, {"MASTER_PORT"});
  if (!port) return std::nullopt;
  const int value = number(*port, 1, 65535);
  const auto agent = lower_case(environment.find("TORCHELASTIC_USE_AGENT_STORE").value_or(""));
  if (agent != "true" && agent != "1") return static_cast<std::uint16_t>(value);
  if (value < 65535) return static_cast<std::uint16_t>(value + 1);
  refuse("MASTER_PORT=65535 belongs to torchrun's agent and there is no port after it",
         "set RONDO_PORT to a free port, the same on every rank");
}

/// FNV-1a: a port for jobs that name none, the same on every rank and most likely another for
/// another job. Below 32768, where Linux takes the ports of outgoing connections from.
std::uint16_t derived_port(std::string_view job) {
  std::uint32_t hash = 2166136261U;
  for (const char letter : job) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return static_cast<std::uint16_t>(20000 + hash % 10000);
}

/// The first name of a Slurm host list: "node[007-010,020],gpu1" gives "node007".
std::string first_host(std::string_view list) {
  std::string host;
  while (!list.empty() && list.front() != ',') {
    if (list.front() != '[') {
      host += list.front();
      list.remove_prefix(1);
      continue;
    }
    const auto inside = list.substr(1, list.find(']') - 1);
    host += inside.substr(0, inside.find_first_of(",-"));
    list.remove_prefix(std::min(list.find(']'), list.size() - 1) + 1);
  }
  return host;
}

/// "2(x3),1" with node 3: 1.
std::optional<int> tasks_on_node(std::string_view list, int node) {
  for (const auto& part : split(list, ',')) {
    const auto count = parse_integer(std::string_view(part).substr(0, part.find('(')));
    const auto times_at = part.find("(x");
    const auto times = times_at == std::string::npos
                           ? std::optional<long long>(1)
                           : parse_integer(std::string_view(part).substr(
                                 times_at + 2, part.find(')') - times_at - 2));
    if (!count || !times || *count < 1 || *count > most_ranks) return std::nullopt;
    if (node < *times) return static_cast<int>(*count);
    node -= static_cast<int>(*times);
  }
  return std::nullopt;
}

/// torchrun, rondorun, and any launcher that sets the same variables.
std::optional<Placement> from_torchrun(const Config& config, const Environment& environment) {
  const bool is_torchrun = environment.find("TORCHELASTIC_RUN_ID").has_value();
  auto placement = rank_and_world(environment, is_torchrun ? "torchrun" : "torchrun's variables",
                                  {"RANK"}, {"WORLD_SIZE"});
  if (!placement) return std::nullopt;
  read_local(environment, {"LOCAL_RANK"}, {"LOCAL_WORLD_SIZE"}, *placement);
  if (placement->ranks == 1) return placement;
  const std::string world = "WORLD_SIZE=" + std::to_string(placement->ranks);
  const auto address = environment.find("MASTER_ADDR");
  if (!address) {
    refuse(world + " but MASTER_ADDR is not set",
           "set MASTER_ADDR to the machine of rank 0, the same on every rank");
  }
  const auto port = given_port(config, environment);
  if (!port) {
    refuse(world + " but MASTER_PORT is not set",
           "set MASTER_PORT to a free port of " + *address + ", the same on every rank");
  }
  placement->address = *address;
  placement->port = *port;
  return placement;
}

/// In a batch script itself SLURM_PROCID is 0 without being a rank: only a step has ranks.
std::optional<Placement> from_slurm(const Config& config, const Environment& environment) {
  const auto step = environment.find("SLURM_STEP_ID");
  if (!step || !environment.find("SLURM_PROCID")) return std::nullopt;
  auto placement = rank_and_world(environment, "slurm", {"SLURM_PROCID"},
                                  {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"});
  read_local(environment, {"SLURM_LOCALID"}, {}, *placement);
  const auto tasks = first_of(environment, {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"});
  const auto node = first_of(environment, {"SLURM_NODEID"});
  if (tasks && node) {
    const auto count = tasks_on_node(tasks->value, number(*node, 0, most_ranks));
    if (count && *count > placement->local_rank) placement->local_ranks = *count;
  }
  if (placement->ranks == 1) return placement;
  const auto address = environment.find("MASTER_ADDR");
  const auto nodes =
      first_of(environment, {"SLURM_STEP_NODELIST", "SLURM_NODELIST", "SLURM_JOB_NODELIST"});
  const auto launcher = environment.find("SLURM_LAUNCH_NODE_IPADDR");
  if (!address && !nodes && !launcher) {
    refuse("Slurm named no node (SLURM_STEP_NODELIST is not set) and MASTER_ADDR is not set",
           "set MASTER_ADDR to the machine of rank 0, the same on every rank");
  }
  placement->address = address ? *address : nodes ? first_host(nodes->value) : *launcher;
  placement->port =
      given_port(config, environment)
          .value_or(derived_port(environment.find("SLURM_JOB_ID").value_or("") + "." + *step));
  return placement;
}

std::optional<Placement> place_by_mpi(const Config& config, const Environment& environment,
                                      Placement placement) {
  if (placement.ranks == 1) return placement;
  const auto address = environment.find("MASTER_ADDR");
  if (!address && placement.local_ranks < placement.ranks) {
    refuse("MPI's launcher spreads " + std::to_string(placement.ranks) +
               " ranks over several machines, but MASTER_ADDR is not set",
           "set MASTER_ADDR to the machine of rank 0 (mpirun -x MASTER_ADDR=...)");
  }
  placement.address = address.value_or("127.0.0.1");
  const auto job =
      first_of(environment, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID"});
  placement.port = given_port(config, environment).value_or(derived_port(job ? job->value : "mpi"));
  return placement;
}

/// mpirun of Open MPI and of MPICH. Asked before Slurm: they start their daemons as Slurm tasks, so
/// Slurm's variables are then the daemons' and not the ranks'.
std::optional<Placement> from_mpirun(const Config& config, const Environment& environment) {
  if (auto placement =
          rank_and_world(environment, "mpi", {"OMPI_COMM_WORLD_RANK"}, {"OMPI_COMM_WORLD_SIZE"})) {
    read_local(environment, {"OMPI_COMM_WORLD_LOCAL_RANK"}, {"OMPI_COMM_WORLD_LOCAL_SIZE"},
               *placement);
    return place_by_mpi(config, environment, *placement);
  }
  if (!environment.find("MPI_LOCALRANKID")) return std::nullopt;
  auto placement = rank_and_world(environment, "mpi", {"PMI_RANK"}, {"PMI_SIZE"});
  if (!placement) return std::nullopt;
  read_local(environment, {"MPI_LOCALRANKID"}, {"MPI_LOCALNRANKS"}, *placement);
  return place_by_mpi(config, environment, *placement);
}

/// Another launcher that speaks PMI and says nothing of the machine.
std::optional<Placement> from_pmi(const Config& config, const Environment& environment) {
  const auto placement = rank_and_world(environment, "mpi", {"PMI_RANK"}, {"PMI_SIZE"});
  if (!placement) return std::nullopt;
  return place_by_mpi(config, environment, *placement);
}

}  // namespace

Placement read_placement(const Config& config, std::span<const std::string> entries) {
  const Environment environment(entries);
  constexpr std::array launchers{from_torchrun, from_mpirun, from_slurm, from_pmi};
  for (const auto launcher : launchers) {
    if (auto placement = launcher(config, environment)) return *std::move(placement);
  }
  Placement alone;
  alone.source = "none";
  return alone;
}

Placement read_placement(const Config& config) {
  return read_placement(config, Environment::of_process());
}

}  // namespace rondo
