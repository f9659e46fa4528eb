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

#include "core/control/judge.h"
#include "core/control/service.h"

namespace rondo::control {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds pause_between_tries{50};
/// For one address of several to answer.
constexpr milliseconds longest_try{3000};
/// For the service to say who was missing, after the deadline.
constexpr milliseconds grace{2000};

/// This try failed; the next may not.
struct TryAgain : std::runtime_error {
  using std::runtime_error::runtime_error;
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
          "out of file descriptors while meeting the other ranks",
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
UniqueFd connect_to(const MeetingPoint& point, Clock::time_point deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* head = nullptr;
  const int status =
      ::getaddrinfo(point.address.c_str(), std::to_string(point.port).c_str(), &hints, &head);
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
      throw TryAgain("it takes nothing");
    }
  }
}

/// False when the time is up first.
bool receive_some(int descriptor, FrameReader& reader, Clock::time_point deadline) {
  if (!wait_for(descriptor, POLLIN, deadline)) return false;
  std::array<char, 4096> bytes{};
  const auto count = ::recv(descriptor, bytes.data(), bytes.size(), 0);
  if (count == 0) throw TryAgain("it closed the connection");
  if (count > 0) {
    reader.feed({bytes.data(), static_cast<std::size_t>(count)});
  } else if (errno != EAGAIN && errno != EINTR) {
    throw TryAgain(system_message(errno));
  }
  return true;
}

/// One conversation. std::nullopt: nothing that ends it has been said by the deadline.
class Conversation {
 public:
  Conversation(UniqueFd socket, const MeetingPoint& point, const Hello& hello,
               Clock::time_point deadline)
      : hello_(hello), seat_{.socket = std::move(socket)} {
    const auto magic = point.magic != 0 ? point.magic : default_magic(point.port);
    send_all(seat_.socket.get(), encode(Preamble{.magic = magic}) + encode(Message(hello)),
             deadline);
  }

  /// True when welcomed; false when the time is up first.
  bool wait_for_welcome(Clock::time_point deadline) {
    for (;;) {
      if (!greeted_) greeted_ = seat_.reader.preamble().has_value();
      const auto message = greeted_ ? seat_.reader.next() : std::nullopt;
      if (message && take(*message)) return true;
      if (!message && !receive_some(seat_.socket.get(), seat_.reader, deadline)) return false;
    }
  }

  bool greeted() const { return greeted_; }
  Seat take_seat() { return std::move(seat_); }

  void give_up(milliseconds waited) {
    const MeetingExpired expired{.milliseconds = static_cast<std::uint64_t>(waited.count())};
    send_all(seat_.socket.get(), encode(Message(expired)), Clock::now() + grace);
  }

 private:
  bool take(const Message& message) {
    if (const auto* welcome = std::get_if<Welcome>(&message)) {
      seat_.welcome = *welcome;
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

  const Hello& hello_;
  Seat seat_;
  bool greeted_ = false;
};

std::optional<Seat> try_once(const MeetingPoint& point, const Hello& hello,
                             Clock::time_point deadline, milliseconds allowed) {
  try {
    Conversation conversation(connect_to(point, deadline), point, hello, deadline);
    // A listener of some other kind may take the connection and say nothing.
    if (conversation.wait_for_welcome(deadline)) return conversation.take_seat();
    if (!conversation.greeted()) throw TryAgain("something that is not rondo listens there");
    conversation.give_up(allowed);
    if (conversation.wait_for_welcome(Clock::now() + grace)) return conversation.take_seat();
    throw TryAgain("the meeting service does not answer");
  } catch (const NotRondo& stranger) {
    throw TryAgain(std::string("something that is not rondo answers: ") + stranger.what());
  }
}

}  // namespace

Seat take_seat(const MeetingPoint& point, const Hello& hello, milliseconds allowed) {
  const auto deadline = Clock::now() + allowed;
  std::string why = "no try was made";
  for (;;) {
    try {
      if (auto seat = try_once(point, hello, deadline, allowed)) return *std::move(seat);
    } catch (const TryAgain& failed) {
      why = failed.what();
    }
    if (until(deadline) <= pause_between_tries) break;
    std::this_thread::sleep_for(pause_between_tries);
  }
  throw Error(
      ErrorCode::bootstrap,
      "no meeting with rank 0 at " + point.address + ", port " + std::to_string(point.port) +
          " within " + seconds(static_cast<std::uint64_t>(allowed.count())) + ": " + why,
      {.rank = hello.rank,
       .peer = hello.rank == 0 ? -1 : 0,
       .remedy = "check that rank 0 runs, that MASTER_ADDR and MASTER_PORT (or RONDO_PORT) "
                 "name its machine and port on every rank, and that no firewall is between"});
}

}  // namespace rondo::control
