// Settings: every name and value is taken, refused with a remedy, or warned of.
#include "core/settings/settings.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/settings/nccl.h"
#include "core/settings/nccl_files.h"
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
  CHECK(config.debug.level == LogLevel::warn);
  CHECK(config.warning.empty());
  CHECK_FALSE(config.check_pointers.has_value());
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
      "RONDO_CHECK_POINTERS=0",
      "RONDO_COMM_BLOCKING=0",
      "RONDO_NCCL_VERSION=23007",
      "RONDO_REPRODUCIBLE=1",
      "RONDO_ACCUMULATE=wide",
      "RONDO_CHECKSUM=1",
      "RONDO_SOCKET_FAMILY=AF_INET6",
      "RONDO_DEBUG_SUBSYS=net,Tuning",
  });
  CHECK(config.transport == "^shm");
  CHECK(config.algorithm == "all_reduce:ring");
  CHECK(config.timeout == milliseconds{2500});
  CHECK(config.bootstrap_timeout == milliseconds{1000});
  CHECK(config.port == 1234);
  CHECK(config.interface == "=eth0");
  CHECK(config.family == AddressFamily::v6);
  CHECK(config.sockets == 4);
  CHECK(config.slot_bytes == 65536);
  CHECK(config.host_id == "here");
  CHECK(config.debug.level == LogLevel::info);
  CHECK(config.debug.subsystems == (bits_of(LogSubsystem::net) | bits_of(LogSubsystem::tuning)));
  CHECK(config.debug.file == "log.%h.%p");
  CHECK(config.bootstrap == "10.0.0.1:29500");
  CHECK(config.check_pointers == false);
  CHECK(config.blocking == false);
  CHECK(config.nccl_version == 23007);
  CHECK(config.reproducible);
  CHECK(config.accumulate_wide);
  CHECK(config.checksum);
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

TEST_CASE("settings of GPU memory are read under both names") {
  for (const std::string prefix : {"RONDO_", "NCCL_"}) {
    CHECK(config_of({prefix + "CUMEM_ENABLE=-2"}).segments);
    CHECK(config_of({prefix + "CUMEM_ENABLE=1"}).segments);
    CHECK_FALSE(config_of({prefix + "CUMEM_ENABLE=0"}).segments);
  }
  CHECK(config_of({}).segments);
  for (const char* name : {"RONDO_P2P_LEVEL=", "NCCL_P2P_LEVEL="}) {
    CHECK_FALSE(config_of({name + std::string("LOC")}).peer_to_peer);
    CHECK_FALSE(config_of({name + std::string("0")}).peer_to_peer);
    CHECK_FALSE(config_of({name + std::string("LOC"), "RONDO_P2P_DISABLE=0"}).peer_to_peer);
    CHECK(config_of({name + std::string("SYS")}).peer_to_peer);
    CHECK(config_of({name + std::string("4")}).peer_to_peer);
    CHECK_FALSE(config_of({name + std::string("SYS"), "RONDO_P2P_DISABLE=1"}).peer_to_peer);
  }
  CHECK(config_of({"NCCL_P2P_LEVEL=LOC", "RONDO_P2P_LEVEL=SYS"}).peer_to_peer);
  CHECK(config_of({"NCCL_P2P_LEVEL=NVL"}).warning.find("NCCL_P2P_LEVEL=NVL") != std::string::npos);
}

TEST_CASE("the table has every setting once, in order, with words for people") {
  std::string_view before;
  bool named = true;
  for (const auto& setting : settings()) {
    named &= !setting.name.empty();  // those that only NCCL has a name for come last
    CHECK((named ? before < setting.name : setting.name.empty() && !setting.alias.empty()));
    before = setting.name;
    CHECK_FALSE(setting.form.empty());
    CHECK_FALSE(setting.fallback.empty());
    CHECK_FALSE(setting.summary.empty());
    CHECK((setting.alias.empty() || setting.alias.substr(0, 5) == "NCCL_"));
  }
}

TEST_CASE("an unknown name is refused with the nearest and all known ones") {
  CHECK(error_of({"RONDO_TIMEUOT=3"}) ==
        "rondo: the environment sets RONDO_TIMEUOT, which is not a setting of rondo (did you mean "
        "RONDO_TIMEOUT?). Try: unset it; the settings are RONDO_ACCUMULATE, RONDO_ALGORITHM, "
        "RONDO_BOOTSTRAP_TIMEOUT, RONDO_CHECKSUM, RONDO_CHECK_POINTERS, RONDO_COMM_BLOCKING, "
        "RONDO_COMM_ID, "
        "RONDO_CUMEM_ENABLE, "
        "RONDO_DEBUG, "
        "RONDO_DEBUG_FILE, RONDO_DEBUG_SUBSYS, RONDO_DEVICE_EXECUTOR, RONDO_HOSTID, "
        "RONDO_IB_DISABLE, "
        "RONDO_IB_GID_INDEX, RONDO_IB_HCA, RONDO_IB_PKEY, "
        "RONDO_IB_QPS_PER_CONNECTION, RONDO_IB_RETRY_CNT, RONDO_IB_SL, RONDO_IB_TC, "
        "RONDO_IB_TIMEOUT, RONDO_JOIN_THREADS, RONDO_LINK_COSTS, RONDO_NCCL_VERSION, "
        "RONDO_P2P_DISABLE, RONDO_P2P_LEVEL, RONDO_PORT, "
        "RONDO_REPRODUCIBLE, RONDO_SCHEDULES, RONDO_SECRET, RONDO_SECRET_FILE, "
        "RONDO_SLOT_BYTES, "
        "RONDO_SOCKETS, RONDO_SOCKET_FAMILY, RONDO_SOCKET_IFNAME, RONDO_TIMEOUT, RONDO_TRACE, "
        "RONDO_TRACE_LIMIT, "
        "RONDO_TRANSPORT");
  CHECK(error_of({"RONDO_QUITE_ANOTHER_THING=1"}).find("did you mean") == std::string::npos);
}

TEST_CASE("the job's secret comes from a variable or a file, and is never repeated") {
  const std::string text = "sixteen letters!";
  CHECK_FALSE(config_of({}).secret);
  CHECK(config_of({"RONDO_SECRET=" + text}).secret == secret_from(text));
  const std::string refused = error_of({"RONDO_SECRET=fifteen letters"});
  CHECK(refused.find("fifteen") == std::string::npos);
  CHECK(refused.find("RONDO_SECRET: the value is shorter than 16 characters") != std::string::npos);

  const auto path =
      std::filesystem::temp_directory_path() / ("rondo_secret." + std::to_string(::getpid()));
  const auto write = [&](const std::string& written) {
    std::ofstream(path, std::ios::binary) << written;
    return std::string("RONDO_SECRET_FILE=") + path.string();
  };
  const std::string setting = write(text + " \r\n\n");
  CHECK(config_of({setting}).secret == secret_from(text));
  CHECK(config_of({setting, "RONDO_SECRET=another of them."}).secret == secret_from(text));
  CHECK(error_of({write("")}).find("names a file whose text is shorter than 16 characters") !=
        std::string::npos);
  CHECK(error_of({write("short\n")}).find("short\n") == std::string::npos);
  CHECK(error_of({write(std::string((1 << 20) + 1, 'x'))}).find("more than 1 MiB") !=
        std::string::npos);
  CHECK_NOTHROW(config_of({write(std::string(1 << 20, 'x'))}));
  std::filesystem::remove(path);
  for (const std::string& unreadable : {path.string(), std::string("/")})
    CHECK(error_of({"RONDO_SECRET_FILE=" + unreadable}).find("a file that cannot be read") !=
          std::string::npos);
}

TEST_CASE("bad values are refused with the form that is expected") {
  CHECK(error_of({"RONDO_TIMEOUT=soon"}) ==
        "rondo: RONDO_TIMEOUT=soon: the value is not a number. Try: RONDO_TIMEOUT=<seconds> "
        "(a call fails when a peer stays silent for so long; default 300)");
  const Entries bad{"RONDO_TIMEOUT=0",        "RONDO_TIMEOUT=-1",
                    "RONDO_TIMEOUT=nan",      "RONDO_TIMEOUT=inf",
                    "RONDO_TIMEOUT=1s",       "RONDO_PORT=0",
                    "RONDO_PORT=65536",       "RONDO_PORT=80x",
                    "RONDO_SOCKETS=0",        "RONDO_SOCKETS=17",
                    "RONDO_SLOT_BYTES=0",     "RONDO_SLOT_BYTES=-4",
                    "RONDO_SLOT_BYTES=4T",    "RONDO_SLOT_BYTES=K",
                    "RONDO_SLOT_BYTES=9999G", "RONDO_DEBUG=verbose",
                    "RONDO_IB_DISABLE=yes",   "RONDO_IB_GID_INDEX=-2",
                    "RONDO_CUMEM_ENABLE=2",   "RONDO_P2P_LEVEL=PXB",
                    "RONDO_IB_PKEY=-1",       "RONDO_IB_QPS_PER_CONNECTION=0",
                    "RONDO_IB_RETRY_CNT=8",   "RONDO_IB_SL=16",
                    "RONDO_IB_TC=256",        "RONDO_IB_TIMEOUT=0",
                    "RONDO_IB_TIMEOUT=32",    "RONDO_SLOT_BYTES=99999999999999999999",
                    "RONDO_REPRODUCIBLE=yes", "RONDO_ACCUMULATE=float64",
                    "RONDO_IB_TC=0x",         "RONDO_IB_TC=0x6g",
                    "RONDO_IB_TC=0x-1",       "RONDO_IB_TC=08",
                    "RONDO_IB_TC=0x100",      "RONDO_IB_TC=0xffffffffffffffffff",
                    "RONDO_SOCKET_FAMILY=6",  "RONDO_DEBUG_SUBSYS=INIT,^NET",
                    "RONDO_CHECK_POINTERS=2"};
  for (const auto& entry : bad) {
    CAPTURE(entry);
    CHECK(error_of({entry}) != "no error");
  }
}

TEST_CASE("an empty value is an unset one") {
  CHECK(config_of({"RONDO_TIMEOUT=", "RONDO_PORT="}).timeout == milliseconds{300000});
}

TEST_CASE("words name the variable that is set") {
  const auto named = [](const Entries& entries) {
    return name_as_set("RONDO_SOCKET_IFNAME", entries);
  };
  CHECK(named({"NCCL_SOCKET_IFNAME=eth0"}) == "NCCL_SOCKET_IFNAME");
  for (const Entries& entries : {Entries{},
                                 {"NCCL_SOCKET_IFNAME="},
                                 {"NCCL_DEBUG=INFO"},
                                 {"RONDO_SOCKET_IFNAME=eth0"},
                                 {"NCCL_SOCKET_IFNAME=eth0", "RONDO_SOCKET_IFNAME=eth1"}}) {
    CHECK(named(entries) == "RONDO_SOCKET_IFNAME");
  }
  CHECK(name_as_set("RONDO_TIMEOUT", Entries{"NCCL_TIMEOUT=1"}) == "RONDO_TIMEOUT");
}

TEST_CASE("NCCL's names are taken where rondo has the same thing; RONDO_ wins") {
  const auto config =
      config_of({"NCCL_DEBUG=INFO", "NCCL_SOCKET_IFNAME=eth", "NCCL_HOSTID=a",
                 "NCCL_SOCKET_FAMILY=AF_INET", "RONDO_HOSTID=b", "NCCL_ALGO=Ring,Tree",
                 "NCCL_NSOCKS_PERTHREAD=2", "NCCL_SHM_DISABLE=1", "NCCL_IB_DISABLE=1"});
  CHECK(config.debug.level == LogLevel::info);
  CHECK(config.interface == "eth");
  CHECK(config.family == AddressFamily::v4);
  CHECK(config.host_id == "b");
  CHECK(config.algorithm == "ring,double_tree");
  CHECK(config.sockets == 2);
  CHECK(config.transport == "^shm");
  CHECK(config.warning.empty());
  CHECK(config_of({"NCCL_ALGO=allreduce:tree;broadcast:ring"}).algorithm ==
        "all_reduce:double_tree;broadcast:ring");
  CHECK(config_of({"NCCL_ALGO=^tree"}).algorithm == "^double_tree");
  CHECK(config_of({"NCCL_DEBUG=VERSION"}).debug.level == LogLevel::warn);
  CHECK(config_of({"NCCL_SHM_DISABLE=0"}).transport.empty());
  CHECK(config_of({"NCCL_SHM_DISABLE=2"}).transport == "^shm");
}

TEST_CASE("subsystems of the log have NCCL's names: some of them, all, or all but some") {
  const auto of = [](const std::string& value) {
    const auto config = config_of({"NCCL_DEBUG_SUBSYS=" + value});
    CHECK(config.warning.empty());
    return config.debug.subsystems;
  };
  const LogSubsystems all = bits_of(LogSubsystem::all);
  CHECK(of("ALL") == all);
  CHECK(of("INIT, reg,,") == (bits_of(LogSubsystem::init) | bits_of(LogSubsystem::reg)));
  CHECK(of("^NET") == (all & ~bits_of(LogSubsystem::net)));
  CHECK(of("^ALL") == 0);
  const std::vector<std::string> names{
      "INIT", "COLL",  "P2P",  "SHM",       "NET", "GRAPH",   "TUNING", "ENV",     "ALLOC",
      "CALL", "PROXY", "NVLS", "BOOTSTRAP", "REG", "PROFILE", "RAS",    "DESTROY", "ALLOC_HOST"};
  LogSubsystems each = 0;
  for (const std::string& name : names) {
    CHECK((each & of(name)) == 0);
    each |= of(name);
  }
  CHECK(each == all);
  const auto unknown = config_of({"NCCL_DEBUG_SUBSYS=INIT,TEA", "NCCL_SOCKET_FAMILY=AF_UNIX"});
  CHECK(unknown.debug.subsystems == all);
  CHECK(unknown.family == AddressFamily::any);
  CHECK(unknown.warning.find("NCCL_DEBUG_SUBSYS=INIT,TEA, NCCL_SOCKET_FAMILY=AF_UNIX") !=
        std::string::npos);
  const std::string error = error_of({"RONDO_DEBUG_SUBSYS=INIT,TEA"});
  CHECK(error.find("the value has TEA, which is none of INIT, COLL, P2P, ") != std::string::npos);
}

TEST_CASE("a misspelt NCCL variable is answered with the nearest one") {
  const auto warning = [](const std::string& name) { return config_of({name + "=1"}).warning; };
  CHECK(warning("NCCL_SOKET_IFNAME") ==
        "rondo has no counterpart for NCCL_SOKET_IFNAME (did you mean NCCL_SOCKET_IFNAME?) and "
        "goes on without; the RONDO_ settings are listed in core/settings/README.md");
  CHECK(warning("NCCL_BUFSIZE").find("(did you mean NCCL_BUFFSIZE?)") != std::string::npos);
  // Each is near another one.
  for (const std::string name :
       {"NCCL_IB_FIFO_TC", "NCCL_PROTO", "NCCL_SHM_LOCALITY", "NCCL_SOCKET_NTHREADS",
        "NCCL_NET_PLUGIN", "NCCL_GRAPH_FILE", "NCCL_MAX_NRINGS", "NCCL_QUITE_ANOTHER_THING"}) {
    CHECK(warning(name).starts_with("rondo has no counterpart for " + name + " and goes on"));
  }
  for (const Setting& row : settings()) CHECK(words_of_what_was_meant(row.alias).empty());
}

TEST_CASE("whole numbers are written as in C") {
  CHECK(config_of({"NCCL_IB_TC=0x6a"}).infiniband.traffic_class == 106);
  CHECK(config_of({"NCCL_IB_TC=0X6A"}).infiniband.traffic_class == 106);
  CHECK(config_of({"NCCL_IB_TC=0152"}).infiniband.traffic_class == 106);
  CHECK(config_of({"NCCL_IB_TC=-0x1"}).infiniband.traffic_class == 0);
  CHECK(config_of({"NCCL_IB_TC=0"}).warning.empty());
  CHECK(config_of({"NCCL_IB_DISABLE=0x1"}).infiniband.disable);
  CHECK(config_of({"RONDO_PORT=0x7fff"}).port == 32767);
}

TEST_CASE("NCCL's ways to leave a transport out add up; RONDO_TRANSPORT wins over them") {
  CHECK(config_of({"NCCL_NET=Socket"}).transport == "^verbs");
  CHECK(config_of({"NCCL_NET=ib"}).transport == "^tcp");
  CHECK(config_of({"NCCL_NET=SOCKET", "NCCL_SHM_DISABLE=1"}).transport == "^verbs,shm");
  CHECK(config_of({"NCCL_SHM_DISABLE=1", "RONDO_TRANSPORT=shm"}).transport == "shm");
  const auto plugin = config_of({"NCCL_NET=AWS Libfabric", "NCCL_SHM_DISABLE=yes"});
  CHECK(plugin.transport.empty());
  CHECK(plugin.warning.find("NCCL_NET=AWS Libfabric, NCCL_SHM_DISABLE=yes") != std::string::npos);
}

TEST_CASE("NCCL's files hold where the environment is silent, the user's before the system's") {
  const std::string folder = RONDO_TEST_FOLDER;
  std::ofstream(folder + "/.nccl.conf") << "# a comment\nNCCL_HOSTID=mine\r\nNCCL_IB_SL=3\n"
                                           "RONDO_PORT=1\nHOME=/\nNCCL_ALGO\nNCCL_IB_TC=4";
  std::ofstream(folder + "/other.conf") << "NCCL_HOSTID=other\n";
  std::ofstream(folder + "/system.conf") << "NCCL_HOSTID=system\nNCCL_IB_PKEY=7\n";
  const auto config = [&](Entries entries) {
    return config_of(with_nccl_files(std::move(entries), folder + "/system.conf"));
  };
  const auto own = config({"HOME=" + folder, "NCCL_IB_SL="});
  CHECK(own.host_id == "mine");
  CHECK(own.infiniband == InfinibandConfig{.traffic_class = 4, .pkey_index = 7});
  CHECK(own.port == 0);
  CHECK(own.warning.empty());
  const auto named = config({"HOME=" + folder, "NCCL_CONF_FILE=" + folder + "/other.conf"});
  CHECK(named.host_id == "other");
  CHECK(named.infiniband.traffic_class == 0);
  CHECK(named.warning.empty());
  CHECK(config({"NCCL_HOSTID=asked", "HOME=" + folder}).host_id == "asked");
  CHECK(config({}).host_id == "system");
  CHECK(
      config({"NCCL_CONF_FILE=/not/there", "NCCL_PROTO=LL"}).warning ==
      "cannot read /not/there, which NCCL_CONF_FILE names; rondo has no counterpart for "
      "NCCL_PROTO and goes on without; the RONDO_ settings are listed in core/settings/README.md");
}

TEST_CASE("settings that cannot be honoured give one warning that names them all") {
  const auto config =
      config_of({"NCCL_PROTO=LL128", "NCCL_ALGO=NVLS", "NCCL_DEBUG=LOUD", "NCCL_BUFFSIZE=8388608",
                 "NCCL_TESTS_DEVICE=0", "NCCL_VERSION=2.20.3", "NCCL_MULTI_RANK_GPU_ENABLE=1"});
  CHECK(config.algorithm.empty());
  CHECK(config.debug.level == LogLevel::warn);
  CHECK(config.warning ==
        "rondo has no counterpart for NCCL_ALGO=NVLS, NCCL_BUFFSIZE, NCCL_DEBUG=LOUD, NCCL_PROTO "
        "and goes on without; the RONDO_ settings are listed in core/settings/README.md");
}

}  // namespace
}  // namespace rondo
