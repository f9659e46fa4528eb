// Which rank a process is, by every launcher's variables.
#include "core/base/config.h"
#include "rondo/error.h"
#include "tests/catch.h"

namespace rondo {
namespace {

using Entries = std::vector<std::string>;

/// "rank/ranks local_rank/local_ranks address:port source", or the error.
std::string place(const Entries& entries, const Config& config = {}) {
  try {
    const auto at = read_placement(config, entries);
    return std::to_string(at.rank) + "/" + std::to_string(at.ranks) + " " +
           std::to_string(at.local_rank) + "/" + std::to_string(at.local_ranks) + " " + at.address +
           ":" + std::to_string(at.port) + " " + at.source;
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::configuration);
    return error.what();
  }
}

Entries with(Entries entries, const Entries& more) {
  entries.insert(entries.end(), more.begin(), more.end());
  return entries;
}

const Entries rondorun{"RANK=3",           "WORLD_SIZE=8",     "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2",
                       "MASTER_ADDR=head", "MASTER_PORT=29500"};
const Entries torchrun = with(rondorun, {"TORCHELASTIC_RUN_ID=none"});

TEST_CASE("nothing set: one rank") { CHECK(place({"PATH=/bin"}) == "0/1 0/1 :0 none"); }

TEST_CASE("torchrun and rondorun") {
  CHECK(place(torchrun) == "3/8 1/2 head:29500 torchrun");
  CHECK(place(rondorun) == "3/8 1/2 head:29500 torchrun's variables");
  CHECK(place(with(torchrun, {"TORCHELASTIC_USE_AGENT_STORE=True"})) ==
        "3/8 1/2 head:29501 torchrun");
  CHECK(place(with(torchrun, {"TORCHELASTIC_USE_AGENT_STORE=False"})) ==
        "3/8 1/2 head:29500 torchrun");
  Config config;
  config.port = 7000;
  CHECK(place(with(torchrun, {"TORCHELASTIC_USE_AGENT_STORE=True"}), config) ==
        "3/8 1/2 head:7000 torchrun");
  CHECK(place({"RANK=0", "WORLD_SIZE=1"}) == "0/1 0/1 :0 torchrun's variables");
}

TEST_CASE("a local rank is known where a launcher says it, the first one, too") {
  const auto known = [](const Entries& more) {
    const Entries world{"RANK=1", "WORLD_SIZE=3", "MASTER_ADDR=head", "MASTER_PORT=29500"};
    return read_placement({}, with(world, more)).local_known;
  };
  CHECK(known({"LOCAL_RANK=0"}));
  CHECK(known({"LOCAL_RANK=1"}));
  CHECK(known({"LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1"}));
  CHECK_FALSE(known({}));
}

TEST_CASE("a wrong world is refused with the variable, its value and a remedy") {
  CHECK(place({"RANK=3"}) ==
        "rondo: RANK=3 is set but WORLD_SIZE is not. Try: set WORLD_SIZE as well, or unset RANK to "
        "run as one rank");
  CHECK(place({"WORLD_SIZE=3"}) ==
        "rondo: WORLD_SIZE=3 is set but RANK is not. Try: set RANK as well, or unset WORLD_SIZE to "
        "run as one rank");
  CHECK(place({"RANK=8", "WORLD_SIZE=8"}) ==
        "rondo: RANK=8 is not below WORLD_SIZE=8. Try: ranks are numbered from 0 to 7");
  CHECK(place({"RANK=-1", "WORLD_SIZE=8"}).substr(0, 48) ==
        "rondo: RANK=-1 is not a whole number between 0 a");
  CHECK(place({"RANK=x", "WORLD_SIZE=8"}).substr(0, 32) == "rondo: RANK=x is not a whole num");
  CHECK(place({"RANK=0", "WORLD_SIZE=0"}).substr(0, 38) ==
        "rondo: WORLD_SIZE=0 is not a whole num");
  CHECK(place({"RANK=0", "WORLD_SIZE=2"}) ==
        "rondo: WORLD_SIZE=2 but MASTER_ADDR is not set. Try: set MASTER_ADDR to the machine of "
        "rank 0, the same on every rank");
  CHECK(place({"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=h"}) ==
        "rondo: WORLD_SIZE=2 but MASTER_PORT is not set. Try: set MASTER_PORT to a free port of h, "
        "the same on every rank");
  CHECK(place({"RANK=0", "WORLD_SIZE=2", "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=2", "MASTER_ADDR=h"}) ==
        "rondo: LOCAL_RANK=2 is not below LOCAL_WORLD_SIZE=2. Try: ranks of one machine are "
        "numbered from 0");
  CHECK(place(with({"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=h", "MASTER_PORT=65535"},
                   {"TORCHELASTIC_USE_AGENT_STORE=True"})) ==
        "rondo: MASTER_PORT=65535 belongs to torchrun's agent and there is no port after it. Try: "
        "set RONDO_PORT to a free port, the same on every rank");
}

const Entries slurm{"SLURM_PROCID=5",         "SLURM_STEP_ID=0",
                    "SLURM_STEP_NUM_TASKS=8", "SLURM_LOCALID=1",
                    "SLURM_NODEID=1",         "SLURM_STEP_TASKS_PER_NODE=4(x2)",
                    "SLURM_JOB_ID=42",        "SLURM_STEP_NODELIST=node[007-010,020],gpu1"};

TEST_CASE("a Slurm step") {
  const auto placed = place(slurm);
  CHECK(placed.substr(0, 16) == "5/8 1/4 node007:");
  CHECK(placed.find(" slurm") != std::string::npos);
  CHECK(place(with(slurm, {"MASTER_ADDR=m", "MASTER_PORT=99"})) == "5/8 1/4 m:99 slurm");
  const auto port = read_placement({}, slurm).port;
  CHECK(port >= 20000);
  CHECK(port < 30000);
  auto second_step = slurm;
  second_step[1] = "SLURM_STEP_ID=1";
  CHECK(read_placement({}, second_step).port != port);
}

TEST_CASE("Slurm's host lists and task counts") {
  const auto address = [](const std::string& list) {
    return read_placement({}, Entries{"SLURM_PROCID=0", "SLURM_STEP_ID=0", "SLURM_NTASKS=2",
                                      "SLURM_NODELIST=" + list})
        .address;
  };
  CHECK(address("fake[0-1]") == "fake0");
  CHECK(address("solo") == "solo");
  CHECK(address("a1,b2") == "a1");
  CHECK(address("r[1-2]n[3-4],x") == "r1n3");
  CHECK(address("n[5,9]-ib") == "n5-ib");
  CHECK(address("broken[1") == "broken1");
  const auto local = [](const std::string& tasks, int node) {
    return read_placement({}, Entries{"SLURM_PROCID=0", "SLURM_STEP_ID=0", "SLURM_NTASKS=2",
                                      "SLURM_NODELIST=a", "SLURM_TASKS_PER_NODE=" + tasks,
                                      "SLURM_NODEID=" + std::to_string(node)})
        .local_ranks;
  };
  CHECK(local("2(x3),1", 0) == 2);
  CHECK(local("2(x3),1", 2) == 2);
  CHECK(local("2(x3),1", 3) == 1);
  CHECK(local("nonsense", 0) == 1);
}

TEST_CASE("a Slurm batch script is no step") {
  CHECK(place({"SLURM_PROCID=0", "SLURM_NTASKS=8", "SLURM_JOB_ID=42"}) == "0/1 0/1 :0 none");
}

const Entries open_mpi{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=4",
                       "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=4",
                       "PMIX_NAMESPACE=123"};

TEST_CASE("mpirun, of Open MPI and of MPICH") {
  CHECK(place(open_mpi).substr(0, 18) == "1/4 1/4 127.0.0.1:");
  CHECK(place(with(open_mpi, {"MASTER_PORT=5"})) == "1/4 1/4 127.0.0.1:5 mpi");
  auto spread = open_mpi;
  spread[3] = "OMPI_COMM_WORLD_LOCAL_SIZE=2";
  CHECK(place(spread) ==
        "rondo: MPI's launcher spreads 4 ranks over several machines, but MASTER_ADDR is not set. "
        "Try: set MASTER_ADDR to the machine of rank 0 (mpirun -x MASTER_ADDR=...)");
  CHECK(place(with(spread, {"MASTER_ADDR=h", "MASTER_PORT=5"})) == "1/4 1/2 h:5 mpi");
  CHECK(place({"PMI_RANK=0", "PMI_SIZE=2", "MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=2",
               "MASTER_PORT=5"}) == "0/2 0/2 127.0.0.1:5 mpi");
  CHECK(place({"PMI_RANK=0", "PMI_SIZE=1"}) == "0/1 0/1 :0 mpi");
}

TEST_CASE("the launcher that started the rank itself is asked first") {
  CHECK(place(with(torchrun, slurm)) == "3/8 1/2 head:29500 torchrun");
  // Slurm's variables are those of mpirun's daemon.
  CHECK(place(with(with(slurm, open_mpi), {"MASTER_PORT=5"})) == "1/4 1/4 127.0.0.1:5 mpi");
  // srun --mpi=pmi2 sets both; Slurm's say more.
  CHECK(place(with(slurm, {"PMI_RANK=5", "PMI_SIZE=8", "MASTER_PORT=5"})) ==
        "5/8 1/4 node007:5 slurm");
}

}  // namespace
}  // namespace rondo
