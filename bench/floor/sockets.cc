#include "bench/floor/sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace rondo::bench {
namespace {

/// One system call moves at most so much, so that both directions advance together.
constexpr std::size_t most_at_once = std::size_t{256} << 10;
/// How often to look at an empty socket before poll(): the answer is likely on its way.
constexpr int looks_before_poll = 50;

int check(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::system_category(), what);
  return result;
}

void prepare(int socket) {
  const int yes = 1;
  check(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)), "TCP_NODELAY");
  check(::fcntl(socket, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
}

std::array<UniqueFd, 2> connection() {
  UniqueFd listener(check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof(address);
  check(::bind(listener.get(), name, length), "bind to the loopback");
  check(::listen(listener.get(), 1), "listen");
  check(::getsockname(listener.get(), name, &length), "getsockname");
  UniqueFd first(check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  check(::connect(first.get(), name, length), "connect over the loopback");
  UniqueFd second(check(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
  prepare(first.get());
  prepare(second.get());
  return {std::move(first), std::move(second)};
}

/// Bytes that a system call moved; 0 when it would have to wait.
std::size_t moved(ssize_t result, const char* what) {
  if (result > 0) return static_cast<std::size_t>(result);
  if (result == 0) throw std::runtime_error("the other process closed its socket");
  if (errno != EAGAIN && errno != EINTR)
    throw std::system_error(errno, std::system_category(), what);
  return 0;
}

void wait_for(int out, bool sends, int in, bool receives) {
  std::array<pollfd, 2> waits{};
  nfds_t count = 0;
  if (sends) waits[count++] = {.fd = out, .events = POLLOUT, .revents = 0};
  if (receives) waits[count++] = {.fd = in, .events = POLLIN, .revents = 0};
  constexpr int second_ms = 1000;
  ::poll(waits.data(), count, second_ms);
}

}  // namespace

Sockets::Sockets(int members) {
  for (int pair = 0; pair < members / 2; ++pair) {
    for (int way = 0; way < 2; ++way) connections_.push_back({connection()});
  }
}

int Sockets::end(int member, int way) const {
  const auto at = static_cast<std::size_t>(member / 2 * 2 + way);
  if (at >= connections_.size()) return -1;
  return connections_[at].ends[static_cast<std::size_t>(member % 2)].get();
}

SocketProbes::SocketProbes(const Member& member, const Sockets& sockets, std::size_t largest)
    : member_(member), sockets_(sockets), sent_(2 * largest), received_(2 * largest) {}

void SocketProbes::swap(int out, int in, std::size_t bytes) {
  std::size_t sent = 0;
  std::size_t received = 0;
  for (int idle = 0; sent < bytes || received < bytes;) {
    std::size_t now = 0;
    if (sent < bytes) {
      const std::size_t part = std::min(most_at_once, bytes - sent);
      now += moved(::send(out, sent_.data() + sent, part, MSG_NOSIGNAL), "send");
      sent += now;
    }
    if (received < bytes) {
      const std::size_t part = std::min(most_at_once, bytes - received);
      const std::size_t got = moved(::recv(in, received_.data() + received, part, 0), "receive");
      received += got;
      now += got;
    }
    idle = now > 0 ? 0 : idle + 1;
    if (idle > looks_before_poll) wait_for(out, sent < bytes, in, received < bytes);
  }
}

void SocketProbes::add(std::size_t bytes, std::vector<Probe>& probes) {
  if (member_.size() < 2) return;
  const auto ranks = static_cast<std::size_t>(member_.size());
  const std::size_t each = std::max<std::size_t>(1, bytes * 2 * (ranks - 1) / ranks);
  const int way = member_.rank() % 2;
  const int first = sockets_.end(member_.rank(), way);
  const int second = sockets_.end(member_.rank(), 1 - way);
  const int both = sockets_.end(member_.rank(), 0);
  const double traffic = static_cast<double>(each * (ranks / 2 * 2));
  probes.push_back({probe::sockets, bytes, traffic, {.run = [=, this](int calls) {
                      for (int call = 0; both >= 0 && call < calls; ++call) swap(both, both, each);
                    }}});
  probes.push_back({probe::two_sockets, bytes, traffic, {.run = [=, this](int calls) {
                      for (int call = 0; both >= 0 && call < calls; ++call)
                        swap(first, second, each);
                    }}});
}

}  // namespace rondo::bench
