#include "core/control/connect.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include "core/control/analyzer.h"
#include "core/control/credential.h"

namespace rondo::control {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds pause_between_tries{50};
/// For one address of several to answer.
constexpr milliseconds longest_try{3000};
/// Time for the service to say which ranks were missing, after the deadline.
constexpr milliseconds grace{5000};

/// This try failed; the next may not.
struct TryAgain : std::runtime_error {
  using std::runtime_error::runtime_error;
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
bool wait_for(int descriptor, short events, Clock::time_point deadline) {
  for (;;) {
    pollfd entry{.fd = descriptor, .events = events, .revents = 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(until(deadline).count()));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) throw TryAgain(system_message(errno));
  }
}

Error no_descriptors() {
  return {ErrorCode::system,
          "out of file descriptors while joining the other ranks",
          {.remedy = "raise the limit of open files (ulimit -n)"}};
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

UniqueFd connect_to(const addrinfo& target, Clock::time_point deadline) {
  UniqueFd socket(::socket(target.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket && (errno == EMFILE || errno == ENFILE)) throw no_descriptors();
  if (!socket) throw TryAgain(system_message(errno));
  if (::connect(socket.get(), target.ai_addr, target.ai_addrlen) != 0 && errno != EINPROGRESS) {
    throw TryAgain(system_message(errno));
  }
  if (!wait_for(socket.get(), POLLOUT, deadline)) throw TryAgain("no answer");
  int error = 0;
  socklen_t length = sizeof(error);
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) throw TryAgain(system_message(error));
  if (is_connected_to_itself(socket.get())) throw TryAgain(system_message(ECONNREFUSED));
  return socket;
}

/// The first address of the name that answers.
UniqueFd connect_to(const BootstrapPoint& point, Clock::time_point deadline) {
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
  std::string why;
  for (const addrinfo* target = head; target != nullptr; target = target->ai_next) {
    try {
      return connect_to(*target, std::min(deadline, Clock::now() + longest_try));
    } catch (const TryAgain& refused) {
      why = refused.what();
    }
  }
  throw TryAgain(why);
}

void send_all(int descriptor, std::string_view bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const auto sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      throw TryAgain(system_message(errno));
    } else if (!wait_for(descriptor, POLLOUT, deadline)) {
      throw TryAgain("it accepts no data");
    }
  }
}

/// False when the time is up first.
bool receive_some(int descriptor, FrameReader& reader, Clock::time_point deadline) {
  if (!wait_for(descriptor, POLLIN, deadline)) return false;
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

/// One conversation, see credential.h.
class Conversation {
 public:
  Conversation(UniqueFd socket, const BootstrapPoint& point, const Hello& hello,
               Clock::time_point deadline)
      : point_(point),
        hello_(hello),
        deadline_(deadline),
        own_{.nonce = random_nonce()},
        joined_{.socket = std::move(socket), .reader = FrameReader(longest_of_newcomer)} {
    send_all(joined_.socket.get(), encode(own_), deadline_);
  }

  /// True when welcomed; false when the time is up first.
  bool wait_for_welcome(Clock::time_point deadline) {
    for (;;) {
      if (!service_) greet();
      const auto message = service_ ? joined_.reader.next() : std::nullopt;
      if (message && take(*message)) return true;
      if (!message && !receive_more(deadline)) return false;
    }
  }

  /// The other end speaks the protocol.
  bool greeted() const { return service_.has_value(); }
  Joined join_world() { return std::move(joined_); }

  void give_up(milliseconds waited) {
    const BootstrapExpired expired{.milliseconds = static_cast<std::uint64_t>(waited.count())};
    send_all(joined_.socket.get(), encode(Message(expired)), Clock::now() + grace);
  }

 private:
  void greet() {
    service_ = joined_.reader.preamble();
    if (!service_) return;
    if (service_->version != protocol_version) throw TryAgain(another_version());
    send_all(
        joined_.socket.get(),
        encode(Message(rank_credential(point_.secret, own_, *service_))) + encode(Message(hello_)),
        deadline_);
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

  bool receive_more(Clock::time_point deadline) {
    try {
      return receive_some(joined_.socket.get(), joined_.reader, deadline);
    } catch (const TryAgain& failed) {
      if (is_known_) throw ServiceEnded(failed.what());
      throw;
    }
  }

  const BootstrapPoint& point_;
  const Hello& hello_;
  const Clock::time_point deadline_;
  const Preamble own_;
  Joined joined_;
  std::optional<Preamble> service_{};
  bool is_known_ = false;  ///< the service has shown that it knows the secret
};

/// std::nullopt: nothing that ends the conversation has been said by the deadline.
std::optional<Joined> try_once(const BootstrapPoint& point, const Hello& hello,
                               Clock::time_point deadline, milliseconds allowed) {
  try {
    Conversation conversation(connect_to(point, deadline), point, hello, deadline);
    // A listener of some other kind may take the connection and say nothing.
    if (conversation.wait_for_welcome(deadline)) return conversation.join_world();
    if (!conversation.greeted()) throw TryAgain("something that is not rondo listens there");
    conversation.give_up(allowed);
    if (conversation.wait_for_welcome(Clock::now() + grace)) return conversation.join_world();
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

Joined join_world(const BootstrapPoint& point, const Hello& hello, milliseconds allowed) {
  const auto deadline = Clock::now() + allowed;
  std::string why = "there was no time for a try";
  bool ended = false;
  for (;;) {
    try {
      if (auto joined = try_once(point, hello, deadline, allowed)) return *std::move(joined);
    } catch (const ServiceEnded& failed) {
      if (point.by_id) throw maker_ended(point, hello);
      why = failed.what();  // this job's rank 0 may come to the port of one that has ended
      ended = true;
    } catch (const TryAgain& failed) {
      why = failed.what();
    }
    if (until(deadline) <= pause_between_tries) break;
    std::this_thread::sleep_for(pause_between_tries);
  }
  if (ended) why += "; an earlier rank 0 there has ended";
  throw nobody_met(point, hello, allowed, why);
}

}  // namespace rondo::control
