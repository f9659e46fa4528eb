#include "tests/control/processes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/catch.h"

namespace rondo {
namespace {

void write_all(int descriptor, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const auto count = ::write(descriptor, text.data() + written, text.size() - written);
    if (count <= 0) return;
    written += static_cast<std::size_t>(count);
  }
}

}  // namespace

Child::Child(const std::function<std::string()>& body) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("pipe");
  pipe_ = UniqueFd(ends[0]);
  UniqueFd write_end(ends[1]);
  pid_ = ::fork();
  if (pid_ != 0) return;
  std::string report;
  try {
    report = body();
  } catch (const std::exception& error) {
    report = error.what();
  }
  write_all(write_end.get(), report + "\n");
  ::_exit(0);  // without the parent's destructors
}

Child::~Child() {
  if (pid_ < 0 || reaped_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), reaped_(other.reaped_), pipe_(std::move(other.pipe_)) {}

void Child::signal(int number) const { ::kill(pid_, number); }

void Child::wait_until_stopped() const {
  int status = 0;
  if (::waitpid(pid_, &status, WUNTRACED) != pid_ || !WIFSTOPPED(status)) {
    throw std::runtime_error("the child did not stop");
  }
}

std::string Child::report() {
  std::string text;
  while (text.empty() || text.back() != '\n') {
    pollfd entry{.fd = pipe_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&entry, 1, 60000) <= 0) throw std::runtime_error("a child reports nothing");
    std::array<char, 1024> bytes{};
    const auto count = ::read(pipe_.get(), bytes.data(), bytes.size());
    if (count <= 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
  text.pop_back();
  // A sanitizer that found something in the child says so in its status.
  int status = 0;
  reaped_ = ::waitpid(pid_, &status, 0) == pid_;
  if (status != 0) text += " (status " + std::to_string(status) + ")";
  return text;
}

std::vector<std::string> run_ranks(int ranks, const std::function<std::string(int rank)>& body) {
  std::vector<Child> children;
  for (int rank = 0; rank < ranks; ++rank) {
    children.emplace_back([&body, rank] { return body(rank); });
  }
  std::vector<std::string> reports;
  for (auto& child : children) reports.push_back(child.report());
  return reports;
}

Gate::Gate() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("pipe");
  read_end_ = UniqueFd(ends[0]);
  write_end_ = UniqueFd(ends[1]);
}

void Gate::open(int children) const {
  write_all(write_end_.get(), std::string(static_cast<std::size_t>(children), '.'));
}

void Gate::pass() const {
  char token = 0;
  if (::read(read_end_.get(), &token, 1) != 1) throw std::runtime_error("the gate is gone");
}

bool says(const std::string& text, const std::string& part) {
  UNSCOPED_INFO("the text is: " << text);
  return text.find(part) != std::string::npos;
}

bool eventually(const std::function<bool()>& condition, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

}  // namespace rondo
