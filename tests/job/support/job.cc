#include "tests/job/support/job.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <sstream>

namespace rondo::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Numbers of the inodes of established connections, from the kernel's table.
std::set<std::string> established(const std::string& table) {
  std::set<std::string> inodes;
  for (const std::string& line : lines_of(table)) {
    std::istringstream fields(line);
    std::string slot, local, remote, state, queues, timer, retransmits, user, timeout, inode;
    fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> user >>
        timeout >> inode;
    if (state == "01") inodes.insert(inode);
  }
  return inodes;
}

bool has_connection(const std::string& folder) {
  auto inodes = established(read_file(folder + "/net/tcp"));
  inodes.merge(established(read_file(folder + "/net/tcp6")));
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(folder + "/fd", gone)) {
    const std::string target = fs::read_symlink(entry.path(), gone);
    if (target.rfind("socket:[", 0) == 0 && inodes.count(target.substr(8, target.size() - 9)) > 0)
      return true;
  }
  return false;
}

bool sleeps(const std::string& folder) {
  const std::string stat = read_file(folder + "/stat");
  const auto name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.substr(name_end, 3) == ") S";
}

}  // namespace

std::string job_rank_program() { return JOB_RANK_PROGRAM_PATH; }

Command job_of(int ranks, const Words& options, const Words& script) {
  Command command;
  command.words = {rondorun(), "-n", std::to_string(ranks)};
  command.words.insert(command.words.end(), options.begin(), options.end());
  if (std::find(options.begin(), options.end(), "--grace") == options.end())
    command.words.insert(command.words.end(), {"--grace", "20"});
  command.words.push_back(job_rank_program());
  command.words.insert(command.words.end(), script.begin(), script.end());
  return command;
}

Command rank_of(int rank, int ranks, int port, const Words& script) {
  Command command;
  command.words = {job_rank_program()};
  command.words.insert(command.words.end(), script.begin(), script.end());
  command.environment = {"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(ranks),
                         "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + std::to_string(port)};
  return command;
}

std::map<int, Failure> failures_in(const std::string& output) {
  std::map<int, Failure> failures;
  for (const std::string& line : lines_of(output)) {
    Failure failure;
    int rank = -1;
    char code[32] = {};
    int length = 0;
    if (std::sscanf(line.c_str(), "rank %d fails %31s %d after %lf s: %n", &rank, code,
                    &failure.peer, &failure.seconds, &length) < 4)
      continue;
    failure.code = code;
    failure.text = line.substr(static_cast<std::size_t>(length));
    failures[rank] = failure;
  }
  return failures;
}

int count_of(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++found;
  return found;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> shared_memory_files() {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/dev/shm", none)) {
    const std::string name = entry.path().filename();
    // Not folders: clones and temporary files of others may lie there, too.
    if (contains(name, "rondo") && entry.is_regular_file(none)) names.push_back(name);
  }
  return names;
}

bool is_waiting_on_a_connection(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  return has_connection(folder) && sleeps(folder);
}

}  // namespace rondo::test
