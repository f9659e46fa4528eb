#include "tests/control/bad_path.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <list>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/control/speaker.h"

namespace rondo {
namespace {

/// What ranks say until they have met is shorter.
constexpr std::size_t bytes_to_meet = 3000;

struct Line {
  std::array<UniqueFd, 2> ends{};  ///< the rank's, the target's
  std::size_t left = 0;            ///< bytes until the fault
};

class Carrier {
 public:
  Carrier(UniqueFd listener, int target, PathFault fault, int ranks, std::size_t most_faults,
          const test::Pipe& happened)
      : listener_(std::move(listener)),
        target_(target),
        fault_(fault),
        ranks_(ranks),
        faults_left_(most_faults),
        happened_(happened) {}

  void carry() {
    for (;;) {
      std::vector<pollfd> entries{{.fd = listener_.get(), .events = POLLIN, .revents = 0}};
      for (const Line& line : lines_)
        for (const UniqueFd& end : line.ends)
          entries.push_back({.fd = end.get(), .events = POLLIN, .revents = 0});
      if (::poll(entries.data(), entries.size(), -1) < 0) throw std::runtime_error("poll");
      std::size_t at = 1;
      for (Line& line : lines_)
        for (const std::size_t side : {0, 1})
          if (entries[at++].revents != 0 && line.ends[side]) carry(line, side);
      std::erase_if(lines_, [](const Line& line) { return !line.ends[0] && !line.ends[1]; });
      if (entries.front().revents != 0) add_line();
    }
  }

 private:
  std::size_t some_bytes() { return 1 + random_() % 2500; }

  void add_line() {
    UniqueFd rank(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    lines_.push_back({.ends = {std::move(rank), connect_plainly(target_)},
                      .left = some_bytes() + (ranks_-- > 0 ? bytes_to_meet : 0)});
  }

  void carry(Line& line, std::size_t side) {
    std::array<char, 4096> bytes{};
    const auto count = ::recv(line.ends[side].get(), bytes.data(), bytes.size(), 0);
    if (count <= 0) return close(line);
    const std::span got(bytes.data(), static_cast<std::size_t>(count));
    if (got.size() < line.left || faults_left_ == 0) {
      line.left -= std::min(line.left, got.size());
      return send(line, 1 - side, got);
    }
    --faults_left_;
    happened_.write(".");
    const std::size_t before = std::exchange(line.left, some_bytes());
    if (fault_ == PathFault::flip) {
      got[before - 1] = static_cast<char>(got[before - 1] ^ 16);
      return send(line, 1 - side, got);
    }
    send(line, 1 - side, got.first(before));
    fault_ == PathFault::cut ? close(line) : reset(line.ends[0]);
  }

  static void send(Line& line, std::size_t side, std::span<const char> bytes) {
    if (line.ends[side]) ::send(line.ends[side].get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void close(Line& line) const {
    for (UniqueFd& end : line.ends) fault_ == PathFault::reset ? reset(end) : end.reset();
  }
  static void reset(UniqueFd& end) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(end.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    end.reset();
  }

  UniqueFd listener_;
  const int target_;
  const PathFault fault_;
  int ranks_;
  std::size_t faults_left_;
  const test::Pipe& happened_;
  std::mt19937 random_{1};
  std::list<Line> lines_{};
};

}  // namespace

BadPath::BadPath(int port, int target, PathFault fault, int ranks, std::size_t most_faults)
    : carrier_([this, port, target, fault, ranks, most_faults]() -> std::string {
        Carrier(listen_plainly(port), target, fault, ranks, most_faults, happened_).carry();
        return {};
      }) {}

std::size_t BadPath::faults() const {
  ::fcntl(happened_.from.get(), F_SETFL, O_NONBLOCK);
  std::size_t count = 0;
  std::array<char, 100> tokens{};
  for (;;) {
    const auto some = ::read(happened_.from.get(), tokens.data(), tokens.size());
    if (some <= 0) return count;
    count += static_cast<std::size_t>(some);
  }
}

}  // namespace rondo
