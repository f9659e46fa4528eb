// Settings: every name and value is taken, refused with a remedy, or warned of.
#include "core/base/config.h"

#include "rondo/error.h"
#include "tests/catch.h"

namespace rondo {
namespace {

using std::chrono::milliseconds;
using Entries = std::vector<std::string>;

Config config_of(const Entries& entries) { return read_config(entries); }

std::string error_of(const Entries& entries) {
  try {
    read_config(entries);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::configuration);
    return error.what();
  }
  return "no error";
}

TEST_CASE("an empty environment gives the defaults") {
  const auto config = config_of({"PATH=/bin", "HOME=/"});
  CHECK(config.timeout == milliseconds{300000});
  CHECK(config.bootstrap_timeout == milliseconds{60000});
  CHECK(config.port == 0);
  CHECK(config.sockets == 1);
  CHECK(config.debug == LogLevel::warn);
  CHECK(config.warning.empty());
  CHECK_FALSE(config.blocking.has_value());
  CHECK(config.nccl_version == 22809);
}

TEST_CASE("every setting is read") {
  const auto config = config_of({
      "RONDO_TRANSPORT=^shm",
      "RONDO_ALGORITHM=all_reduce:ring",
      "RONDO_TIMEOUT=2.5",
      "RONDO_BOOTSTRAP_TIMEOUT=1",
      "RONDO_PORT=1234",
      "RONDO_SOCKET_IFNAME==eth0",
      "RONDO_SOCKETS=4",
      "RONDO_SLOT_BYTES=64K",
      "RONDO_HOSTID=here",
      "RONDO_DEBUG=info",
      "RONDO_DEBUG_FILE=log.%h.%p",
      "RONDO_COMM_ID=10.0.0.1:29500",
      "RONDO_COMM_BLOCKING=0",
      "RONDO_NCCL_VERSION=23007",
  });
  CHECK(config.transport == "^shm");
  CHECK(config.algorithm == "all_reduce:ring");
  CHECK(config.timeout == milliseconds{2500});
  CHECK(config.bootstrap_timeout == milliseconds{1000});
  CHECK(config.port == 1234);
  CHECK(config.interface == "=eth0");
  CHECK(config.sockets == 4);
  CHECK(config.slot_bytes == 65536);
  CHECK(config.host_id == "here");
  CHECK(config.debug == LogLevel::info);
  CHECK(config.debug_file == "log.%h.%p");
  CHECK(config.meeting == "10.0.0.1:29500");
  CHECK(config.blocking == false);
  CHECK(config.nccl_version == 23007);
}

TEST_CASE("InfiniBand's settings are read under both names") {
  const Entries values{"IB_DISABLE=1", "IB_GID_INDEX=3", "IB_HCA==mlx5_1:1",
                       "IB_PKEY=2",    "IB_SL=5",        "IB_QPS_PER_CONNECTION=4",
                       "IB_TC=106",    "IB_TIMEOUT=20",  "IB_RETRY_CNT=3"};
  const InfinibandConfig wanted{.hca = "=mlx5_1:1",
                                .disable = true,
                                .gid_index = 3,
                                .timeout = 20,
                                .retry_count = 3,
                                .service_level = 5,
                                .traffic_class = 106,
                                .pkey_index = 2,
                                .queue_pairs = 4};
  for (const std::string prefix : {"RONDO_", "NCCL_"}) {
    Entries entries;
    for (const auto& value : values) entries.push_back(prefix + value);
    const auto config = config_of(entries);
    CHECK(config.infiniband == wanted);
    CHECK(config.warning.empty());
  }
  const auto automatic = config_of({"NCCL_IB_SL=-1", "NCCL_IB_TC=-1", "NCCL_IB_GID_INDEX=-1"});
  CHECK(automatic.infiniband == InfinibandConfig{});
  CHECK(automatic.warning.empty());
  CHECK(config_of({"NCCL_IB_TIMEOUT=40"}).warning.find("NCCL_IB_TIMEOUT=40") != std::string::npos);
}

TEST_CASE("the table has every setting once, in order, with words for people") {
  std::string_view before;
  for (const auto& setting : settings()) {
    CHECK(before < setting.name);
    before = setting.name;
    CHECK_FALSE(setting.form.empty());
    CHECK_FALSE(setting.fallback.empty());
    CHECK_FALSE(setting.summary.empty());
    CHECK((setting.alias.empty() || setting.alias.substr(0, 5) == "NCCL_"));
  }
}

TEST_CASE("an unknown name is refused with the nearest and all known ones") {
  CHECK(
      error_of({"RONDO_TIMEUOT=3"}) ==
      "rondo: the environment sets RONDO_TIMEUOT, which is not a setting of rondo (did you mean "
      "RONDO_TIMEOUT?). Try: unset it; the settings are RONDO_ALGORITHM, RONDO_BOOTSTRAP_TIMEOUT, "
      "RONDO_COMM_BLOCKING, RONDO_COMM_ID, RONDO_DEBUG, RONDO_DEBUG_FILE, RONDO_HOSTID, "
      "RONDO_IB_DISABLE, RONDO_IB_GID_INDEX, RONDO_IB_HCA, RONDO_IB_PKEY, "
      "RONDO_IB_QPS_PER_CONNECTION, RONDO_IB_RETRY_CNT, RONDO_IB_SL, RONDO_IB_TC, "
      "RONDO_IB_TIMEOUT, RONDO_NCCL_VERSION, RONDO_P2P_DISABLE, RONDO_PORT, RONDO_SLOT_BYTES, "
      "RONDO_SOCKETS, RONDO_SOCKET_IFNAME, RONDO_TIMEOUT, RONDO_TRACE, RONDO_TRACE_LIMIT, "
      "RONDO_TRANSPORT");
  CHECK(error_of({"RONDO_QUITE_ANOTHER_THING=1"}).find("did you mean") == std::string::npos);
}

TEST_CASE("bad values are refused with the form that is expected") {
  CHECK(error_of({"RONDO_TIMEOUT=soon"}) ==
        "rondo: RONDO_TIMEOUT=soon: the value is not a number. Try: RONDO_TIMEOUT=<seconds> "
        "(longest silence of a peer inside a call before it fails; default 300)");
  const Entries bad{"RONDO_TIMEOUT=0",        "RONDO_TIMEOUT=-1",
                    "RONDO_TIMEOUT=nan",      "RONDO_TIMEOUT=inf",
                    "RONDO_TIMEOUT=1s",       "RONDO_PORT=0",
                    "RONDO_PORT=65536",       "RONDO_PORT=80x",
                    "RONDO_SOCKETS=0",        "RONDO_SOCKETS=17",
                    "RONDO_SLOT_BYTES=0",     "RONDO_SLOT_BYTES=-4",
                    "RONDO_SLOT_BYTES=4T",    "RONDO_SLOT_BYTES=K",
                    "RONDO_SLOT_BYTES=9999G", "RONDO_DEBUG=verbose",
                    "RONDO_IB_DISABLE=yes",   "RONDO_IB_GID_INDEX=-2",
                    "RONDO_IB_PKEY=-1",       "RONDO_IB_QPS_PER_CONNECTION=0",
                    "RONDO_IB_RETRY_CNT=8",   "RONDO_IB_SL=16",
                    "RONDO_IB_TC=256",        "RONDO_IB_TIMEOUT=0",
                    "RONDO_IB_TIMEOUT=32",    "RONDO_SLOT_BYTES=99999999999999999999"};
  for (const auto& entry : bad) {
    CAPTURE(entry);
    CHECK(error_of({entry}) != "no error");
  }
}

TEST_CASE("an empty value is an unset one") {
  CHECK(config_of({"RONDO_TIMEOUT=", "RONDO_PORT="}).timeout == milliseconds{300000});
}

TEST_CASE("NCCL's names are taken where rondo has the same thing; RONDO_ wins") {
  const auto config = config_of({"NCCL_DEBUG=INFO", "NCCL_SOCKET_IFNAME=eth", "NCCL_HOSTID=a",
                                 "RONDO_HOSTID=b", "NCCL_ALGO=Ring,Tree", "NCCL_NSOCKS_PERTHREAD=2",
                                 "NCCL_SHM_DISABLE=1", "NCCL_IB_DISABLE=1"});
  CHECK(config.debug == LogLevel::info);
  CHECK(config.interface == "eth");
  CHECK(config.host_id == "b");
  CHECK(config.algorithm == "ring,double_tree");
  CHECK(config.sockets == 2);
  CHECK(config.transport == "^shm");
  CHECK(config.warning.empty());
  CHECK(config_of({"NCCL_ALGO=allreduce:tree;broadcast:ring"}).algorithm ==
        "all_reduce:double_tree;broadcast:ring");
  CHECK(config_of({"NCCL_ALGO=^tree"}).algorithm == "^double_tree");
  CHECK(config_of({"NCCL_DEBUG=VERSION"}).debug == LogLevel::warn);
  CHECK(config_of({"NCCL_SHM_DISABLE=0"}).transport.empty());
}

TEST_CASE("what cannot be honoured is one warning that names it all") {
  const auto config =
      config_of({"NCCL_PROTO=LL128", "NCCL_ALGO=NVLS", "NCCL_DEBUG=LOUD", "NCCL_BUFFSIZE=8388608",
                 "NCCL_TESTS_DEVICE=0", "NCCL_VERSION=2.20.3"});
  CHECK(config.algorithm.empty());
  CHECK(config.debug == LogLevel::warn);
  CHECK(config.warning ==
        "rondo has no counterpart for NCCL_ALGO=NVLS, NCCL_BUFFSIZE, NCCL_DEBUG=LOUD, NCCL_PROTO "
        "and goes on without; RONDO_ settings are listed in the README");
}

TEST_CASE("a selection allows, excludes, forces, and refuses what it does not know") {
  const std::vector<std::string_view> known{"local", "shm", "tcp"};
  const Selection all("", known, "RONDO_TRANSPORT");
  CHECK((all.allows("shm") && !all.forces() && !all.restricts()));
  const Selection one("tcp", known, "RONDO_TRANSPORT");
  CHECK((one.allows("tcp") && !one.allows("shm") && one.forces() && one.restricts()));
  const Selection two(" tcp , shm", known, "RONDO_TRANSPORT");
  CHECK((two.allows("tcp") && two.allows("shm") && !two.allows("local") && !two.forces()));
  const Selection rest("^shm", known, "RONDO_TRANSPORT");
  CHECK((rest.allows("tcp") && !rest.allows("shm") && !rest.forces() && rest.restricts()));
  CHECK_THROWS_WITH(Selection("^sm", known, "RONDO_TRANSPORT"),
                    "rondo: RONDO_TRANSPORT=^sm: 'sm' is not a known name (did you mean 'shm'?). "
                    "Try: known names: local, shm, tcp");
  CHECK_THROWS_AS(Selection("^", known, "RONDO_TRANSPORT"), Error);
}

}  // namespace
}  // namespace rondo
