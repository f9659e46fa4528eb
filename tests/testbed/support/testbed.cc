#include "tests/testbed/support/testbed.h"

#include <unistd.h>

#include <sstream>
#include <stdexcept>

namespace rondo::test {
namespace {

constexpr int skipped = 77;

Words testbed(const std::string& command, const Words& words) {
  Words all{TESTBED_PATH, command};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

Result run_testbed(const std::string& command, const Words& words) {
  Command request;
  request.words = testbed(command, words);
  return finish(request);
}

void require_testbed(const std::string& command, const Words& words) {
  const Result result = run_testbed(command, words);
  if (result.status != 0) throw std::runtime_error(result.error);
}

/// Tests run side by side; one makes several testbeds, one after another or at once.
std::string new_name() {
  static int counter = 0;
  return "test-" + std::to_string(::getpid()) + "-" + std::to_string(++counter);
}

}  // namespace

Testbed::Testbed(int hosts, int interfaces) : name_(new_name()) {
  require_testbed("up", {"--name", name_, "--hosts", std::to_string(hosts), "--interfaces",
                         std::to_string(interfaces), "--owner", std::to_string(::getpid())});
}

Testbed::~Testbed() {
  try {
    run_testbed("down", {"--name", name_});
  } catch (const std::exception&) {  // it goes with this process at the latest
  }
}

Words Testbed::on(int host, const Words& words) const {
  Words all = testbed("run", {"--name", name_, "h" + std::to_string(host)});
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

std::string Testbed::agent() const {
  return std::string("'") + TESTBED_PATH + "' ssh --name " + name_;
}

void Testbed::cut(int host, int interface) const {
  Words words{"--name", name_, "h" + std::to_string(host)};
  if (interface >= 0) words.insert(words.end(), {"--interface", std::to_string(interface)});
  require_testbed("cut", words);
}

void Testbed::mend(int host) const {
  require_testbed("mend", {"--name", name_, "h" + std::to_string(host)});
}

long Testbed::sent(int host, int interface) const {
  Command command;
  command.words =
      on(host, {"cat", "/sys/class/net/eth" + std::to_string(interface) + "/statistics/tx_bytes"});
  return std::stol(finish(command).output);
}

int Testbed::connections(int host, const std::string& table) const {
  Command command;
  command.words = on(host, {"cat", "/proc/net/" + table});
  std::istringstream lines(finish(command).output);
  int found = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string slot, local, remote, state;
    fields >> slot >> local >> remote >> state;
    found += state == "01";
  }
  return found;
}

std::string Testbed::address(int host, int interface) {
  return "10.77." + std::to_string(interface) + "." + std::to_string(host + 1);
}

std::string Testbed::obstacle() {
  const Result result = run_testbed("check", {});
  if (result.status == 0) return "";
  if (result.status != skipped) throw std::runtime_error(result.error);
  return result.error;
}

Command job_on(const Testbed& testbed, int hosts, int interface, const Words& options,
               const Words& script, int ranks_per_host) {
  std::string list;
  for (int host = 0; host < hosts; ++host) {
    list += (host == 0 ? "" : ",") + Testbed::address(host, interface) + ":" +
            std::to_string(ranks_per_host);
  }
  Command command;
  command.words = {rondorun(), "--hosts", list, "--ssh", testbed.agent()};
  command.words.insert(command.words.end(), options.begin(), options.end());
  command.words.push_back(job_rank_program());
  command.words.insert(command.words.end(), script.begin(), script.end());
  return command;
}

}  // namespace rondo::test
