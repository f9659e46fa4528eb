// The parts of rondorun: hosts, plans, options, lines, messages, and the port for the ranks.
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "tests/catch.h"
#include "tools/rondorun/hosts.h"
#include "tools/rondorun/launch_error.h"
#include "tools/rondorun/lines.h"
#include "tools/rondorun/message.h"
#include "tools/rondorun/options.h"
#include "tools/rondorun/plan.h"
#include "tools/rondorun/port.h"
#include "tools/rondorun/remote_node.h"
#include "tools/rondorun/swap.h"

using namespace rondo::launch;

namespace {

using Words = std::vector<std::string>;

Options parse(const Words& words) {
  std::vector<const char*> pointers{"rondorun"};
  for (const std::string& word : words) pointers.push_back(word.c_str());
  return parse_options(static_cast<int>(pointers.size()), pointers.data()).value();
}

/// Tries to listen on that port, with SO_REUSEADDR or without. Returns 0 or errno.
int listening(const in6_addr& host, std::uint16_t port, int reuse) {
  const rondo::UniqueFd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = host;
  address.sin6_port = htons(port);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  const bool listens =
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(socket.get(), 1) == 0;
  return listens ? 0 : errno;
}

}  // namespace

TEST_CASE("a port is kept from programs that do not ask for it, on one address as on all") {
  const PortReservation port;
  for (const in6_addr& host : {in6addr_any, in6addr_loopback}) {
    const int taken = listening(host, port.port(), 0);
    if (taken == EAFNOSUPPORT || taken == EBADF || taken == EADDRNOTAVAIL) continue;  // no IPv6
    CHECK(taken == EADDRINUSE);
    CHECK(listening(host, port.port(), 1) == 0);
  }
}

TEST_CASE("hosts are written NAME:RANKS") {
  CHECK(parse_hosts("a:4") == std::vector<Host>{{"a", 4}});
  CHECK(parse_hosts("me@a:2,b,[::1]:3,[fe80::1]") ==
        std::vector<Host>{{"me@a", 2}, {"b", 1}, {"[::1]", 3}, {"[fe80::1]", 1}});
  for (const char* wrong :
       {"", "a,", ":4", "a:", "a:0", "a:-1", "a:x", "a:4x", "-oProxy:1", "a b:1"})
    CHECK_THROWS_AS(parse_hosts(wrong), LaunchError);
}

TEST_CASE("hosts are filled in order") {
  const auto hosts = parse_hosts("a:2,b:2,c:2");
  CHECK(limit_hosts(hosts, 3) == std::vector<Host>{{"a", 2}, {"b", 1}});
  CHECK(limit_hosts(hosts, 6) == hosts);
  CHECK_THROWS_AS(limit_hosts(hosts, 7), LaunchError);
}

TEST_CASE("an address has no user and no brackets") {
  CHECK(address_of({"me@a", 1}) == "a");
  CHECK(address_of({"me@[::1]", 1}) == "::1");
}

TEST_CASE("hosts of different sizes share the world") {
  const auto options = parse({"--hosts", "me@a:1,b:3", "--env", "RONDO_X=2", "--env", "Y=3", "x"});
  const auto plans = host_plans(options, Words{"RONDO_X=1", "NCCL_Z=4", "HOME=h"}, "/here");
  REQUIRE(plans.size() == 2);
  CHECK(plans[0].first_rank == 0);
  CHECK(plans[1].first_rank == 1);
  CHECK(plans[1].ranks == 3);
  CHECK(plans[1].node == 1);
  for (const NodePlan& plan : plans) {
    CHECK(plan.world == 4);
    CHECK(plan.nodes == 2);
    CHECK(plan.master_address == "a");
    CHECK(plan.directory == "/here");
    CHECK(plan.variables == Words{"NCCL_Z=4", "RONDO_X=2", "Y=3"});
  }
}

TEST_CASE("variables that name this host do not travel to others unless they are asked to") {
  const Words environment{"RONDO_HOSTID=here", "NCCL_HOSTID=here", "RONDO_HOSTIDS=1"};
  const auto variables = [&](const Words& options) {
    Words words{"--hosts", "a:1,b:1"};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back("x");
    return host_plans(parse(words), environment, "/").at(1).variables;
  };
  CHECK(variables({}) == Words{"RONDO_HOSTIDS=1"});
  CHECK(variables({"--env", "RONDO_HOSTID=all"}) == Words{"RONDO_HOSTIDS=1", "RONDO_HOSTID=all"});
}

TEST_CASE("a job gets a secret of its own, unless the user gives one") {
  const auto secret = [](const Words& options, const Words& environment) {
    Words words = options;
    words.push_back("x");
    return secret_for(parse(words), environment).value_or("none");
  };
  const std::string made = secret({"-n", "2"}, {"HOME=h"});
  CHECK(made.starts_with("RONDO_SECRET="));
  CHECK(made.size() == std::string("RONDO_SECRET=").size() + 64);
  CHECK(secret({"--hosts", "a:1,b:1"}, {}) != made);
  CHECK(secret({"-n", "2"}, {"RONDO_SECRET=s"}) == "none");
  CHECK(secret({"-n", "2"}, {"RONDO_SECRET_FILE=s"}) == "none");
  CHECK(secret({"-n", "2"}, {"RONDO_SECRET=", "RONDO_SECRET_FILE="}) != "none");
  CHECK(secret({"-n", "2", "--env", "RONDO_SECRET_FILE=s"}, {}) == "none");
  // Each node has a rondorun of its own.
  CHECK(secret({"-n", "3", "--nnodes", "4", "--node-rank", "2", "--master-addr", "m",
                "--master-port", "77"},
               {}) == "none");
}

TEST_CASE("the first host's address must mean the same to all hosts") {
  const auto address = [](const char* hosts) {
    return host_plans(parse({"--hosts", hosts, "x"}), {}, "/")[0].master_address;
  };
  CHECK(address("localhost:1,localhost:2") == "127.0.0.1");
  CHECK(address("localhost:1,elsewhere:1") == this_machine());
  CHECK(address("elsewhere:1,localhost:1") == "elsewhere");
}

TEST_CASE("a rank's environment replaces and adds, --env last") {
  NodePlan plan;
  plan.variables = {"A=2", "NODE_RANK=9"};
  const auto environment =
      rank_environment(plan, 0, Words{"A=1", "RANK=8", "B=5", "TORCHELASTIC_RUN_ID=x"});
  CHECK(environment == Words{"B=5", "RANK=0", "WORLD_SIZE=1", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1",
                             "GROUP_RANK=0", "GROUP_WORLD_SIZE=1", "MASTER_ADDR=", "MASTER_PORT=0",
                             "A=2", "NODE_RANK=9", "CUDA_DEVICE_MAX_CONNECTIONS=32"});
}

TEST_CASE("a rank's processes have all queues of a GPU, unless somebody says how many") {
  const std::string ours = "CUDA_DEVICE_MAX_CONNECTIONS=32";
  const std::string theirs = "CUDA_DEVICE_MAX_CONNECTIONS=1";
  const auto has = [](const NodePlan& plan, const Words& inherited, const std::string& entry) {
    return std::ranges::count(rank_environment(plan, 0, inherited), entry) == 1;
  };
  NodePlan plan;
  CHECK(has(plan, {}, ours));
  CHECK(has(plan, {theirs}, theirs));
  CHECK_FALSE(has(plan, {theirs}, ours));
  plan.variables = {theirs};
  CHECK(has(plan, {}, theirs));
  CHECK_FALSE(has(plan, {}, ours));
}

TEST_CASE("ssh's command is split as a shell would, and gets options after the user's") {
  const Words options{"-o", "BatchMode=yes",         "-o", "ConnectTimeout=20",
                      "-o", "ServerAliveInterval=10"};
  Words expected{"/usr/bin/ssh", "-p", "22", "-i", "my key"};
  expected.insert(expected.end(), options.begin(), options.end());
  expected.insert(expected.end(), {"me@b", "'/a b/rondo'\\''run'", "--serve"});
  CHECK(remote_command({"me@b", 1}, "/usr/bin/ssh -p 22 -i 'my key'", "/a b/rondo'run") ==
        expected);
  CHECK(remote_command({"[::1]", 1}, "other", "/r") == Words{"other", "::1", "/r", "--serve"});
  CHECK(remote_command({"localhost", 1}, "ssh", "/r") == Words{"/r", "--serve"});
  CHECK_THROWS_AS(remote_command({"b", 1}, "ssh 'x", "/r"), LaunchError);
  CHECK_THROWS_AS(remote_command({"b", 1}, " ", "/r"), LaunchError);
}

TEST_CASE("lines come out whole, however they go in") {
  const std::string text = "one\n\ntwo\rthree\r\nfour";
  const std::string expected = "> one\n> \n> two\r> three\r\n> four";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    LineCutter cutter("> ");
    std::string result;
    for (std::size_t begin = 0; begin < text.size(); begin += piece)
      result += cutter.add(text.substr(begin, piece));
    CHECK(result + cutter.take_partial() == expected);
  }
}

TEST_CASE("an unfinished line is continued, or begun again when others came between") {
  LineCutter cutter("> ");
  CHECK(cutter.add("half") == "");
  CHECK(cutter.take_partial() == "> half");
  CHECK(cutter.inside_line());
  CHECK(cutter.add(" whole\nnext") == " whole\n");
  CHECK(cutter.take_partial() == "> next");
  cutter.restart_line();
  CHECK(cutter.add("rest\n") == "> rest\n");
}

TEST_CASE("a line without end does not fill the memory") {
  LineCutter cutter("");
  std::size_t given = 0;
  for (int i = 0; i < 64; ++i) given += cutter.add(std::string(std::size_t{1} << 16, 'x')).size();
  CHECK(given > std::size_t{3} << 20);
}

TEST_CASE("messages survive any cut, after any noise") {
  NodePlan plan;
  plan.world = 6;
  plan.nodes = 2;
  plan.node = 1;
  plan.first_rank = 4;
  plan.ranks = 2;
  plan.master_address = "m";
  plan.master_port = 65535;
  plan.bind_to_core = true;
  plan.directory = "/a b\n";
  plan.variables = {"A=", "B=\n1 2 3 4\n"};
  plan.command = {"p", "", "two words"};
  const std::string text = "Welcome!\n" + std::string(greeting) + encode(plan);
  for (std::size_t piece : {1, 7, 1000}) {
    MessageReader reader;
    NodePlan read;
    for (std::size_t begin = 0; begin < text.size(); begin += piece) {
      reader.add(text.substr(begin, piece));
      while (const auto message = reader.next()) CHECK(apply(*message, read));
    }
    CHECK(read == plan);
  }
}

TEST_CASE("bytes that are no message are refused") {
  for (const char* wrong :
       {"nonsense 1 2 3\n", "output 1 2\n", "output a b c\n", "output 1 1 99999999999\n",
        "output 99999999999 1 1\n", "output 1 1 -1\n", "output 1 1 1 1\n", "output  1 1 1\n",
        "output 1 1 1x\n", "\n"}) {
    MessageReader reader;
    reader.add(greeting);
    reader.add(wrong);
    CHECK_THROWS_AS(reader.next(), LaunchError);
  }
  MessageReader newer;
  newer.add("rondorun speaks 999\n");
  CHECK_THROWS_AS(newer.next(), LaunchError);
  MessageReader endless;
  endless.add(greeting);
  endless.add(std::string(200, 'x'));
  CHECK_THROWS_AS(endless.next(), LaunchError);
  // A good beginning without an end was taken again and again.
  MessageReader unended;
  unended.add(greeting);
  unended.add("output 0 0 5 " + std::string(200, ' '));
  CHECK_THROWS_AS(unended.next(), LaunchError);
  MessageReader chatty;
  chatty.add(std::string(std::size_t{2} << 20, 'x'));
  CHECK_THROWS_AS(chatty.next(), LaunchError);
}

TEST_CASE("--nccl preloads its library before others") {
  CHECK(preload("/a/libnccl.so.2", nullptr) == "LD_PRELOAD=/a/libnccl.so.2");
  CHECK(preload("/a/libnccl.so.2", "b.so:c.so") == "LD_PRELOAD=/a/libnccl.so.2:b.so:c.so");
  CHECK(preloaded_nccl(Words{"A=1", preload("/a/libnccl.so.2", "b.so")}) == "/a/libnccl.so.2");
  CHECK(preloaded_nccl(Words{"A=1", "LD_PRELOAD=/a/libjemalloc.so"}).empty());
  CHECK(preloaded_nccl(Words{}).empty());
}

TEST_CASE("--share-gpu shows every rank the first device") {
  CHECK(shared_gpu(nullptr) == Words{"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=0"});
  CHECK(shared_gpu("3,5") == Words{"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=3"});
  CHECK(parse({"-n", "2", "--share-gpu", "x"}).variables.front() == "LOCAL_RANK=0");
}
