// What tests of the bootstrap share: ranks, and somebody who speaks the protocol by hand.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <optional>
#include <string>

#include "core/base/unique_fd.h"
#include "core/control/control.h"
#include "core/control/credential.h"
#include "core/control/message.h"
#include "tests/catch.h"
#include "tests/control/processes.h"

namespace rondo {

using std::chrono::milliseconds;

inline constexpr milliseconds long_enough{30000};

inline HostInfo child_host() {
  auto host = this_host("");
  host.hostname = "x";
  host.pid = 77;
  return host;
}

inline BootstrapPoint point_at(int port) {
  return {.address = "127.0.0.1", .port = static_cast<std::uint16_t>(port)};
}

/// A rank that meets the others, hears their names and leaves.
inline std::string meet_and_exchange(int port, int rank, int ranks, milliseconds deadline) {
  const auto control = meet(point_at(port), rank, ranks, rank == 0, child_host(), deadline);
  std::vector<int> members;
  for (int member = 0; member < ranks; ++member) members.push_back(member);
  const auto channel = control->open(0, members);
  std::string text;
  for (int round = 0; round < 3; ++round) {
    text.clear();
    for (const auto& blob : channel->exchange(std::to_string(rank))) text += blob;
  }
  return text;
}

/// Whether a rank that meets others reports the words when its time is up. A machine that is slow or
/// stands still may leave no time for one whole try: then it gets more.
inline bool is_told_in_time(const std::string& words,
                            const std::function<std::string(milliseconds deadline)>& meet) {
  for (milliseconds deadline{500}; deadline < long_enough; deadline *= 2) {
    Child rank([=] { return meet(deadline); });
    if (says(rank.report(), words)) return true;
  }
  return false;
}

inline sockaddr_in here_at(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

inline UniqueFd listen_plainly(int port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const sockaddr_in address = here_at(port);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  REQUIRE(::listen(socket.get(), 8) == 0);
  return socket;
}

inline UniqueFd connect_plainly(int port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = here_at(port);
  const bool connected = eventually([&] {
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
           0;
  });
  if (!connected) throw std::runtime_error("nobody listens");
  return socket;
}

/// Somebody who speaks the protocol by hand, as a rank up to its hello or as the service.
class Speaker {
 public:
  explicit Speaker(int port) : socket_(connect_plainly(port)) {}
  /// To the next that comes.
  explicit Speaker(const UniqueFd& listener)
      : socket_(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)) {
    if (!socket_) throw std::runtime_error("nobody came");
  }

  void say(const std::string& bytes) const {
    ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  /// Says its own preamble, hears the service's, and shows a credential for `secret`.
  void introduce(const Secret& secret) {
    const control::Preamble own{.nonce = random_nonce()};
    say(encode(own));
    std::optional<control::Preamble> service;
    while (!(service = reader_.preamble())) hear();
    session_ = service->nonce;
    say(encode(control::Message(rank_credential(secret, own, *service))));
  }
  /// The name of what began so.
  const Nonce& session() const { return session_; }
  /// As the service: hears who comes, and shows that it knows the secret.
  control::Hello recognise(const Secret& secret) {
    std::optional<control::Preamble> rank;
    while (!(rank = reader_.preamble()))
      if (!hear()) throw std::runtime_error("it went");
    const control::Preamble own{.nonce = random_nonce()};
    say(encode(own) + encode(control::Message(service_credential(secret, *rank, own))));
    for (;;) {
      const auto message = next();
      if (!message) throw std::runtime_error("it went");
      if (const auto* hello = std::get_if<control::Hello>(&*message)) return *hello;
    }
  }
  /// Says no more, and waits until the other end has closed.
  void finish() {
    ::shutdown(socket_.get(), SHUT_WR);
    while (hear()) {
    }
  }
  /// The next message; nothing where the service has closed.
  std::optional<control::Message> next() {
    for (;;) {
      if (auto message = reader_.next()) return message;
      if (!hear()) return std::nullopt;
    }
  }

 private:
  bool hear() {
    std::array<char, 4096> bytes{};
    const auto count = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (count > 0) reader_.feed({bytes.data(), static_cast<std::size_t>(count)});
    return count > 0;
  }

  UniqueFd socket_;
  Nonce session_{};
  control::FrameReader reader_{control::longest_message};
};

inline control::Hello hello_of(int rank, int ranks) {
  return {.rank = rank, .ranks = ranks, .host = child_host()};
}

}  // namespace rondo
