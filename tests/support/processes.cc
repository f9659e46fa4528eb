#include "tests/support/processes.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <stdexcept>
#include <utility>

namespace rondo::test {

Pipe::Pipe() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  from = UniqueFd(ends[0]);
  to = UniqueFd(ends[1]);
}

void Pipe::write(const std::string& text) const {
  std::size_t written = 0;
  while (written < text.size()) {
    const auto count = ::write(to.get(), text.data() + written, text.size() - written);
    if (count <= 0) throw std::runtime_error("the pipe is broken");
    written += static_cast<std::size_t>(count);
  }
}

std::string Pipe::read() const {
  std::array<char, 4096> bytes{};
  const auto count = ::read(from.get(), bytes.data(), bytes.size());
  if (count <= 0) throw std::runtime_error("the pipe is closed");
  return {bytes.data(), static_cast<std::size_t>(count)};
}

void Gate::open(int children) const {
  pipe_.write(std::string(static_cast<std::size_t>(children), '.'));
}

void Gate::pass() const {
  char token = 0;
  if (::read(pipe_.from.get(), &token, 1) != 1) throw std::runtime_error("the gate is gone");
}

Child::Child(const std::function<std::string()>& body, Also also) : also_(also) {
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("no process");
  if (pid_ > 0) {
    pipe_.to = UniqueFd();
    return;
  }
  int status = 0;
  std::string report;
  try {
    if (also == Also::standard_error) ::dup2(pipe_.to.get(), STDERR_FILENO);
    report = body();
  } catch (const std::exception& error) {
    report = error.what();
    if (also == Also::standard_error) status = 1;
  }
  try {
    pipe_.write(report + "\n");
  } catch (const std::exception&) {
    status = 1;  // the parent is gone
  }
  ::_exit(status);  // without the parent's destructors
}

Child::~Child() { kill(); }

void Child::kill() {
  if (pid_ < 0 || reaped_) return;
  ::kill(pid_, SIGKILL);
  reaped_ = ::waitpid(pid_, &status_, 0) == pid_;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      status_(other.status_),
      reaped_(other.reaped_),
      also_(other.also_),
      pipe_(std::move(other.pipe_)) {}

void Child::signal(int number) const { ::kill(pid_, number); }

void Child::wait_until_stopped() const {
  int status = 0;
  if (::waitpid(pid_, &status, WUNTRACED) != pid_ || !WIFSTOPPED(status))
    throw std::runtime_error("the child did not stop");
}

std::string Child::report() {
  std::string text;
  const auto is_whole = [&] {
    return also_ == Also::nothing && !text.empty() && text.back() == '\n';
  };
  while (!is_whole()) {
    pollfd entry{.fd = pipe_.from.get(), .events = POLLIN, .revents = 0};
    if (::poll(&entry, 1, 120'000) <= 0) throw std::runtime_error("a child reports nothing");
    try {
      text += pipe_.read();
    } catch (const std::runtime_error&) {
      break;  // it has ended
    }
  }
  const bool ended = is_whole() || also_ == Also::standard_error;
  if (!text.empty() && text.back() == '\n') text.pop_back();
  if (ended) reaped_ = ::waitpid(pid_, &status_, 0) == pid_;
  if (status_ != 0 && also_ == Also::nothing) text += " (status " + std::to_string(status_) + ")";
  return text;
}

std::vector<Child> start_ranks(int ranks, const std::function<std::string(int rank)>& body) {
  std::vector<Child> children;
  for (int rank = 0; rank < ranks; ++rank)
    children.emplace_back([&body, rank] { return body(rank); });
  return children;
}

std::vector<std::string> run_ranks(int ranks, const std::function<std::string(int rank)>& body) {
  std::vector<std::string> reports;
  for (Child& child : start_ranks(ranks, body)) reports.push_back(child.report());
  return reports;
}

}  // namespace rondo::test
