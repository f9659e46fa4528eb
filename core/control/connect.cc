#include "core/control/connect.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include "core/control/analyzer.h"
#include "core/control/credential.h"
#include "core/control/times.h"

namespace rondo::control {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Connections that wait in the kernel: all ranks may come at once, beside strangers.
constexpr int most_waiting = 4096;

/// This try failed; the next may not.
struct TryAgain : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Its process has ended: nothing listens at the place.
struct NobodyThere : TryAgain {
  using TryAgain::TryAgain;
};

/// Its machine does not answer.
struct Unreachable : TryAgain {
  using TryAgain::TryAgain;
};

/// The caller does not wait any more.
struct GivenUp {};

/// Until when to wait.
struct Limit {
  Clock::time_point deadline{};
  int given_up = -1;  ///< a descriptor: once it is readable, GivenUp is thrown

  Limit at_most(milliseconds time) const {
    return {std::min(deadline, Clock::now() + time), given_up};
  }
};

/// The job's own service went without a word.
struct ServiceEnded : TryAgain {
  using TryAgain::TryAgain;
};

std::string system_message(int number) { return std::generic_category().message(number); }

milliseconds until(Clock::time_point time) {
  return std::max(milliseconds{0}, std::chrono::ceil<milliseconds>(time - Clock::now()));
}

/// False when the time is up first.
bool wait_for(int descriptor, short events, const Limit& limit) {
  for (;;) {
    std::array<pollfd, 2> entries{pollfd{.fd = descriptor, .events = events, .revents = 0},
                                  pollfd{.fd = limit.given_up, .events = POLLIN, .revents = 0}};
    const int ready =
        ::poll(entries.data(), entries.size(), static_cast<int>(until(limit.deadline).count()));
    if (ready > 0 && entries[1].revents != 0) throw GivenUp{};
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) throw TryAgain(system_message(errno));
  }
}

/// On one machine a connection to a free port can reach itself, when the kernel picks that very
/// port for its own end.
bool is_connected_to_itself(int descriptor) {
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t here_length = sizeof(here);
  socklen_t there_length = sizeof(there);
  return ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&here), &here_length) == 0 &&
         ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&there), &there_length) == 0 &&
         here_length == there_length && std::memcmp(&here, &there, here_length) == 0;
}

[[noreturn]] void throw_refusal(int error) {
  if (error == ECONNREFUSED) throw NobodyThere(system_message(error));
  throw Unreachable(system_message(error));
}

UniqueFd connect_to(const addrinfo& target, const Limit& limit) {
  UniqueFd socket(::socket(target.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket && (errno == EMFILE || errno == ENFILE)) throw no_descriptors();
  if (!socket) throw TryAgain(system_message(errno));
  if (::connect(socket.get(), target.ai_addr, target.ai_addrlen) != 0 && errno != EINPROGRESS) {
    throw_refusal(errno);
  }
  if (!wait_for(socket.get(), POLLOUT, limit)) throw Unreachable("no answer");
  int error = 0;
  socklen_t length = sizeof(error);
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) throw_refusal(error);
  if (is_connected_to_itself(socket.get())) throw_refusal(ECONNREFUSED);
  return socket;
}

/// The first address of the name that answers.
UniqueFd connect_to(const BootstrapPoint& point, const Limit& limit) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* head = nullptr;
  const int status = ::getaddrinfo(meeting_address(point).c_str(),
                                   std::to_string(point.port).c_str(), &hints, &head);
  if (status != 0) {
    throw TryAgain("the name " + point.address + " is not known: " + ::gai_strerror(status));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(head, &::freeaddrinfo);
  for (const addrinfo* target = head;; target = target->ai_next) {
    try {
      return connect_to(*target, limit.at_most(times::for_address));
    } catch (const TryAgain&) {
      if (target->ai_next == nullptr) throw;
    }
  }
}

void send_all(int descriptor, std::string_view bytes, const Limit& limit) {
  while (!bytes.empty()) {
    const auto sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      throw TryAgain(system_message(errno));
    } else if (!wait_for(descriptor, POLLOUT, limit)) {
      throw TryAgain("it accepts no data");
    }
  }
}

/// False when the time is up first.
bool receive_some(int descriptor, FrameReader& reader, const Limit& limit) {
  if (!wait_for(descriptor, POLLIN, limit)) return false;
  std::array<char, std::size_t{1} << 16> bytes{};
  const auto count = ::recv(descriptor, bytes.data(), bytes.size(), 0);
  if (count == 0) throw TryAgain("it closed the connection");
  if (count > 0) {
    reader.feed({bytes.data(), static_cast<std::size_t>(count)});
  } else if (errno != EAGAIN && errno != EINTR) {
    throw TryAgain(system_message(errno));
  }
  return true;
}

/// A socket that listens on the interface that `connection` uses, at a port of the kernel's choice.
/// Invalid where none is to be had: then this rank will not serve.
UniqueFd listen_beside(int connection, Standby& standby) {
  sockaddr_storage name{};
  socklen_t length = sizeof(name);
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const auto look = [&](int descriptor) {
    length = sizeof(name);
    return ::getsockname(descriptor, address, &length) == 0 &&
           ::getnameinfo(address, length, host.data(), host.size(), port.data(), port.size(),
                         NI_NUMERICHOST | NI_NUMERICSERV) == 0;
  };
  if (!look(connection)) return {};
  // Both families have it at this place.
  reinterpret_cast<sockaddr_in*>(address)->sin_port = 0;
  UniqueFd socket(::socket(name.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket || ::bind(socket.get(), address, length) != 0 ||
      ::listen(socket.get(), most_waiting) != 0 || !look(socket.get()))
    return {};
  standby = {.address = host.data(), .port = static_cast<std::uint16_t>(std::atoi(port.data()))};
  return socket;
}
static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));

/// One conversation, see credential.h.
class Conversation {
 public:
  Conversation(UniqueFd socket, const BootstrapPoint& point, const Hello& hello, const Limit& limit)
      : point_(point),
        hello_(hello),
        limit_(limit),
        own_{.nonce = random_nonce()},
        joined_{.socket = std::move(socket), .reader = FrameReader(longest_of_newcomer)} {
    if (hello_.standby.address.empty())
      joined_.standby = UnforkedFd(listen_beside(joined_.socket.get(), hello_.standby));
    send_all(joined_.socket.get(), encode(own_), limit_);
  }

  /// True when welcomed; false when the time is up first.
  bool wait_for_welcome(const Limit& limit) {
    for (;;) {
      if (!service_) greet();
      const auto message = service_ ? joined_.reader.next() : std::nullopt;
      if (message && take(*message)) return true;
      if (!message && !receive_more(limit)) return false;
    }
  }

  /// The other end speaks the protocol.
  bool greeted() const { return service_.has_value(); }
  Joined join_world() { return std::move(joined_); }

  void give_up(milliseconds waited) {
    const BootstrapExpired expired{.milliseconds = static_cast<std::uint64_t>(waited.count())};
    send_all(joined_.socket.get(), encode(Message(expired)), {Clock::now() + times::for_answer});
  }

 private:
  void greet() {
    service_ = joined_.reader.preamble();
    if (!service_) return;
    joined_.session = service_->nonce;
    if (service_->version != protocol_version) throw TryAgain(another_version());
    send_all(
        joined_.socket.get(),
        encode(Message(rank_credential(point_.secret, own_, *service_))) + encode(Message(hello_)),
        limit_);
  }

  /// It may be another job's, which ends.
  std::string another_version() const {
    return "the process that serves there speaks version " + std::to_string(service_->version) +
           " of the control protocol, this rank version " + std::to_string(protocol_version) +
           ": every rank needs the same version of rondo";
  }

  bool take(const Message& message) {
    if (!is_known_) return recognise(message), false;
    if (const auto* welcome = std::get_if<Welcome>(&message)) {
      joined_.welcome = *welcome;
      return true;
    }
    const auto* refused = std::get_if<Refused>(&message);
    if (refused == nullptr) return false;
    if (refused->retry != 0) throw TryAgain(refused->message);
    throw Error(ErrorCode::bootstrap, refused->message,
                {.rank = hello_.rank,
                 .peer = refused->peer == hello_.rank ? -1 : refused->peer,
                 .remedy = refused->remedy});
  }

  /// What this job's own service says may be long: it has an entry for each rank.
  void recognise(const Message& message) {
    const auto* shown = std::get_if<Credential>(&message);
    if (shown == nullptr || !is_service(*shown, point_.secret, own_, *service_))
      throw TryAgain(
          "the service there has another secret: it is another job's, or RONDO_SECRET differs");
    is_known_ = true;
    joined_.reader.set_longest(longest_message);
  }

  bool receive_more(const Limit& limit) {
    try {
      return receive_some(joined_.socket.get(), joined_.reader, limit);
    } catch (const TryAgain& failed) {
      if (is_known_) throw ServiceEnded(failed.what());
      throw;
    }
  }

  const BootstrapPoint& point_;
  Hello hello_;
  const Limit limit_;
  const Preamble own_;
  Joined joined_;
  std::optional<Preamble> service_{};
  bool is_known_ = false;  ///< the service has shown that it knows the secret
};

/// std::nullopt: nothing that ends the conversation has been said by the deadline.
std::optional<Joined> try_once(const BootstrapPoint& point, const Hello& hello, const Limit& limit,
                               milliseconds allowed) {
  try {
    Conversation conversation(connect_to(point, limit), point, hello, limit);
    // A listener of some other kind may take the connection and say nothing.
    if (conversation.wait_for_welcome(limit)) return conversation.join_world();
    if (!conversation.greeted()) throw TryAgain("something that is not rondo listens there");
    conversation.give_up(allowed);
    if (conversation.wait_for_welcome({Clock::now() + times::for_answer, limit.given_up}))
      return conversation.join_world();
    throw TryAgain("the bootstrap service does not answer");
  } catch (const NotRondo& stranger) {
    throw TryAgain(std::string("something that is not rondo answers: ") + stranger.what());
  }
}

Error nobody_met(const BootstrapPoint& point, const Hello& hello, milliseconds allowed,
                 const std::string& why) {
  const std::string place = point.address + ", port " + std::to_string(point.port) + " within " +
                            seconds(static_cast<std::uint64_t>(allowed.count())) + ": " + why;
  if (point.by_id) {  // by a unique id
    return {ErrorCode::bootstrap,
            "cannot join the process that made the unique id, at " + place,
            {.rank = hello.rank,
             .remedy =
                 "check that every rank has the unique id of this run, that the process that made "
                 "it still lives, and that no firewall blocks the port"}};
  }
  return {
      ErrorCode::bootstrap,
      "cannot join rank 0 at " + place,
      {.rank = hello.rank,
       .peer = hello.rank == 0 ? -1 : 0,
       .remedy = "check that rank 0 runs, that every rank has the machine and port of rank 0 in " +
                 point.named_by + ", and that no firewall blocks the port"}};
}

/// Nobody else will ever serve this bootstrap.
Error maker_ended(const BootstrapPoint& point, const Hello& hello) {
  return {ErrorCode::bootstrap,
          "the process that made the unique id, at " + point.address + ", port " +
              std::to_string(point.port) +
              ", ended, died or was killed before all ranks had joined",
          {.rank = hello.rank,
           .remedy = "look at the end of its output, or the kernel's log, for why"}};
}

}  // namespace

Error no_descriptors() {
  return {ErrorCode::system,
          "out of file descriptors while joining the other ranks",
          {.remedy = "raise the limit of open files (ulimit -n)"}};
}

Joined join_world(const BootstrapPoint& point, const Hello& hello, milliseconds allowed) {
  const auto deadline = Clock::now() + allowed;
  std::string why = "there was no time for a try";
  bool ended = false;
  for (bool first = true;; first = false) {
    try {
      if (auto joined = try_once(point, hello, {deadline}, allowed)) return *std::move(joined);
    } catch (const ServiceEnded& failed) {
      if (point.by_id) throw maker_ended(point, hello);
      why = failed.what();  // this job's rank 0 may come to the port of one that has ended
      ended = true;
    } catch (const TryAgain& failed) {
      // What the deadline cut off tells less than the tries before.
      if (first || Clock::now() < deadline) why = failed.what();
    }
    if (until(deadline) <= times::between_tries) break;
    std::this_thread::sleep_for(times::between_tries);
  }
  if (ended) why += "; an earlier rank 0 there has ended";
  throw nobody_met(point, hello, allowed, why);
}

Standing join_standby(const BootstrapPoint& point, const Hello& hello, milliseconds allowed,
                      int given_up) {
  const Limit limit{Clock::now() + allowed, given_up};
  const auto to_be_reached = limit.at_most(times::for_machine).deadline;
  try {
    for (;;) {
      try {
        if (auto joined = try_once(point, hello, limit, allowed))
          return {.joined = std::move(joined), .presence = Presence::come};
      } catch (const NobodyThere&) {
        return {.presence = Presence::dead};
      } catch (const Unreachable&) {
        if (until(to_be_reached) <= times::between_tries) return {.presence = Presence::unknown};
      } catch (const TryAgain&) {
        // It may die in the middle of this, or a network may come back.
      }
      if (until(limit.deadline) <= times::between_tries) return {};
      wait_for(-1, 0, limit.at_most(times::between_tries));
    }
  } catch (const GivenUp&) {
    return {.is_given_up = true};
  }
}

}  // namespace rondo::control
