// Log lines: whole, in the right file, from any thread; and other small tools of the base.
#include "core/base/log.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <thread>

#include "core/base/text.h"
#include "core/transport/host.h"
#include "rondo/error.h"
#include "tests/catch.h"

namespace rondo {
namespace {

/// A file that goes when the test does.
struct TemporaryFile {
  explicit TemporaryFile(const std::string& name)
      : path(std::filesystem::temp_directory_path() / (name + "." + std::to_string(::getpid()))) {}
  ~TemporaryFile() { std::filesystem::remove(path); }
  std::vector<std::string> lines() const {
    std::ifstream file(path);
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }
  std::filesystem::path path;
};

TEST_CASE("lines name time, host, process and rank, and are never mixed") {
  const TemporaryFile file("rondo_log");
  const auto pattern = file.path.parent_path() / "rondo_log.%p";
  configure_log({.level = LogLevel::info, .file = pattern.string()});
  CHECK(log_enabled(LogLevel::warn));
  CHECK(log_enabled(LogLevel::info));
  CHECK_FALSE(log_enabled(LogLevel::trace));
  log(LogLevel::trace, 0, "not written");
  log(LogLevel::info, -1, "no rank");
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank) {
    threads.emplace_back([rank] {
      for (int i = 0; i < 200; ++i) log(LogLevel::warn, rank, std::string(100, 'a'));
    });
  }
  for (auto& thread : threads) thread.join();
  configure_log({.level = LogLevel::none});
  log(LogLevel::warn, 0, "not written");
  configure_log({});
  const auto lines = file.lines();
  REQUIRE(lines.size() == 801);
  const std::string start = R"(\[rondo \d\d:\d\d:\d\d\.\d{3} [^ :]+:)" + std::to_string(::getpid());
  CHECK(std::regex_match(lines[0], std::regex(start + R"(\] INFO  no rank)")));
  const std::regex form(start + R"( rank [0-3]\] WARN  a{100})");
  for (std::size_t i = 1; i < lines.size(); ++i) REQUIRE(std::regex_match(lines[i], form));
}

TEST_CASE("a process knows itself, and its machine may be renamed") {
  const auto host = this_host("");
  CHECK(host == this_host(""));
  CHECK(host.pid == ::getpid());
  CHECK(host.process != 0);
  CHECK_FALSE(host.hostname.empty());
  CHECK_FALSE(host.host.empty());
  auto renamed = this_host("other");
  CHECK(renamed.host == "other");
  renamed.host = host.host;
  CHECK(renamed == host);
}

TEST_CASE("lists of ranks are short and in order") {
  CHECK(rank_list({2}) == "rank 2");
  CHECK(rank_list({7, 5, 6, 2}) == "ranks 2, 5-7");
  CHECK(rank_list({0, 1, 3, 4}) == "ranks 0, 1, 3, 4");
  CHECK(rank_list({0, 1, 2}) == "ranks 0-2");
}

TEST_CASE("below warnings the log has only the subsystems that are asked for") {
  const TemporaryFile file("rondo_log_subsystems");
  configure_log({.level = LogLevel::info,
                 .subsystems = bits_of(LogSubsystem::net),
                 .file = file.path.string()});
  CHECK(log_enabled(LogLevel::info));
  CHECK(log_enabled(LogLevel::info, LogSubsystem::net));
  CHECK(log_enabled(LogLevel::warn, LogSubsystem::tuning));
  CHECK_FALSE(log_enabled(LogLevel::info, LogSubsystem::tuning));
  CHECK_FALSE(log_enabled(LogLevel::trace, LogSubsystem::net));
  log(LogLevel::info, 0, "not written", LogSubsystem::tuning);
  log(LogLevel::info, 0, "of a network", LogSubsystem::net);
  log(LogLevel::info, 0, "of everything");
  log(LogLevel::warn, 0, "a warning", LogSubsystem::tuning);
  configure_log({.level = LogLevel::info, .subsystems = 0});
  log(LogLevel::info, 0, "not written");
  log(LogLevel::warn, 0, "another warning");
  configure_log({});
  std::vector<std::string> texts;
  for (const std::string& line : file.lines()) texts.push_back(line.substr(line.find("] ") + 2));
  CHECK(texts == std::vector<std::string>{"INFO  of a network", "INFO  of everything",
                                          "WARN  a warning", "WARN  another warning"});
}

TEST_CASE("a typing error finds its word, another word does not") {
  const std::vector<std::string_view> words{"ring", "chain", "double_tree"};
  CHECK(nearest("rign", words).empty());
  CHECK(nearest("rin", words) == "ring");
  CHECK(nearest("doubel_tree", words) == "double_tree");
  CHECK(nearest("two_shot", words).empty());
}

TEST_CASE("an error's text has the parts that are known") {
  CHECK(std::string(Error(ErrorCode::system, "m").what()) == "rondo: m");
  CHECK(
      std::string(Error(ErrorCode::system, "m", {.rank = 1, .peer = 2, .call = "c", .remedy = "r"})
                      .what()) == "rondo: rank 1: m [peer rank 2] [in c]. Try: r");
}

}  // namespace
}  // namespace rondo
