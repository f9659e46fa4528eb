// Two machines with a cable between them: two network namespaces joined by a pair of virtual
// interfaces. Needs root, unshare, nsenter and ip; says so where it cannot run.
#include <chrono>
#include <memory>

#include "tests/catch.h"
#include "tests/job/support/job.h"

using namespace rondo::test;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

bool succeeds(const Words& words) {
  Command command;
  command.words = words;
  return finish(command).status == 0;
}

/// Namespaces without names: they and the cable end with the last process in them.
class TwoMachines {
 public:
  static constexpr const char* interface_name = "rondocable";
  static constexpr const char* first_address = "10.213.7.1";

  TwoMachines() {
    for (auto& machine : machines_) {
      Command command;
      command.words = {"unshare", "--net", "sh", "-c", "echo ready; exec sleep 60"};
      machine = std::make_unique<Process>(command);
      machine->wait_for("ready");
    }
    lay_cable();
  }

  /// `words`, to be run on a machine.
  Words on(int machine, const Words& words) const {
    Words all{"nsenter", "--net=/proc/" + id(machine) + "/ns/net"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
  void pull_cable() const { set_link("down"); }
  void plug_cable() const { set_link("up"); }

 private:
  std::string id(int machine) const {
    return std::to_string(machines_[static_cast<std::size_t>(machine)]->id());
  }
  void lay_cable() const {
    const std::string link = interface_name;
    require({"ip", "link", "add", link, "netns", id(0), "type", "veth", "peer", "name", link,
             "netns", id(1)});
    for (const int machine : {0, 1}) {
      const std::string address = "10.213.7." + std::to_string(machine + 1) + "/24";
      require(on(machine, {"ip", "address", "add", address, "dev", link}));
      require(on(machine, {"ip", "link", "set", link, "up"}));
      require(on(machine, {"ip", "link", "set", "lo", "up"}));
    }
  }
  void set_link(const std::string& state) const {
    require(on(0, {"ip", "link", "set", interface_name, state}));
  }
  static void require(const Words& words) {
    if (!succeeds(words)) throw std::runtime_error(words[0] + " failed");
  }

  std::unique_ptr<Process> machines_[2];
};

/// Says why not, where it is not so.
bool can_make_machines() {
  if (succeeds({"unshare", "--net", "true"}) && succeeds({"nsenter", "--version"}) &&
      succeeds({"ip", "link"}))
    return true;
  WARN(
      "SKIPPED: no network namespaces here; this needs root and the programs unshare, nsenter and "
      "ip (util-linux, iproute2)");
  return false;
}

/// Two ranks on each machine, started by hand.
Command node(const TwoMachines& machines, int machine, const Words& options, const Words& script) {
  Words words{rondorun(),
              "-n",
              "2",
              "--nnodes",
              "2",
              "--node-rank",
              std::to_string(machine),
              "--master-addr",
              TwoMachines::first_address,
              "--master-port",
              "29577"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back(job_rank_program());
  words.insert(words.end(), script.begin(), script.end());
  Command command;
  command.words = machines.on(machine, words);
  command.environment = {std::string("RONDO_SOCKET_IFNAME=") + TwoMachines::interface_name};
  return command;
}

}  // namespace

TEST_CASE("two machines: shared memory within each, TCP between them") {
  if (!can_make_machines()) return;
  const TwoMachines machines;
  const Words script{"join",
                     "describe=1000",
                     "every_collective=0",
                     "every_collective=1000",
                     "every_collective=1000000",
                     "overlap=3000",
                     "split=1000",
                     "say=done"};
  Process first(node(machines, 0, {}, script));
  Process second(node(machines, 1, {}, script));
  for (Process* process : {&first, &second}) {
    CHECK(process->wait() == 0);
    INFO(process->output() << process->error());
    CHECK(process->error() == "");
    CHECK(count_of(process->output(), "done ") == 2);
    CHECK(count_of(process->output(), "over shm+tcp") +
              count_of(process->output(), "over tcp+shm") ==
          2);
  }
}

TEST_CASE(
    "a pulled cable is an error on both machines within the deadline, naming the other side") {
  if (!can_make_machines()) return;
  const TwoMachines machines;
  const Words script{"up", "join", "loop=all_reduce,10000"};
  Process first(node(machines, 0, {"--timeout", "2"}, script));
  Process second(node(machines, 1, {"--timeout", "2"}, script));
  first.wait_for("turning ", 2);
  second.wait_for("turning ", 2);
  const auto begin = Clock::now();
  machines.pull_cable();
  CHECK(first.wait() == 3);
  CHECK(second.wait() == 3);
  CHECK(Clock::now() - begin < 15s);
  INFO(first.output() << first.error() << second.output() << second.error());
  auto failures = failures_in(first.output());
  failures.merge(failures_in(second.output()));
  CHECK(failures.size() == 4);
  for (const auto& [rank, failure] : failures) {
    INFO(failure.text);
    CHECK(failure.code == "timeout");
    CHECK(failure.seconds < 8);
    CHECK(failure.peer / 2 == 1 - rank / 2);
    CHECK(contains(failure.text, "Try: "));
  }
}

TEST_CASE("a cable that is plugged in again in time costs time only") {
  if (!can_make_machines()) return;
  const TwoMachines machines;
  const TemporaryFolder folder;
  const std::string file = folder / "unplugged";
  const Words script{"join",
                     "call=all_reduce,1000",
                     "say=ready",
                     "wait_for_file=" + file,
                     "say=calling",
                     "call=all_reduce,100000",
                     "every_collective=1000"};
  Process first(node(machines, 0, {"--timeout", "20"}, script));
  Process second(node(machines, 1, {"--timeout", "20"}, script));
  first.wait_for("ready ", 2);
  second.wait_for("ready ", 2);
  machines.pull_cable();
  write_file(file, "");
  first.wait_for("calling ", 2);
  second.wait_for("calling ", 2);
  machines.plug_cable();
  CHECK(first.wait() == 0);
  CHECK(second.wait() == 0);
}
