#include "core/control/service.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <set>

#include "core/base/awake.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/control/attendance.h"
#include "core/control/coordinator.h"
#include "core/control/listener.h"
#include "core/control/stream.h"
#include "rondo/error.h"

namespace rondo::control {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr int most_ranks = 1'000'000;
constexpr std::size_t most_strangers = 512;
/// How long a new connection may take to introduce its rank.
constexpr std::chrono::seconds patience{10};

std::string words(const tcp::endpoint& endpoint) {
  const auto address = endpoint.address();
  const auto text =
      address.is_v6() && address.to_v6().is_v4_mapped()
          ? asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string()
          : address.to_string();
  return text + ":" + std::to_string(endpoint.port());
}

/// One connection.
struct Guest {
  Guest(tcp::socket socket, std::string from, asio::io_context& io)
      : stream(std::make_shared<Stream>(std::move(socket))),
        address(std::move(from)),
        timer(io, patience) {}

  std::shared_ptr<Stream> stream;
  std::string address;
  asio::steady_timer timer;
  bool introduced = false;  ///< has said Hello
  bool departed = false;    ///< has said Bye, or was refused
  bool told = false;        ///< knows that the service may end
  Hello hello{};
};
using GuestPointer = std::shared_ptr<Guest>;

std::string describe(const Hello& hello) {
  return control::describe(hello.rank, {.host = hello.host, .world_rank = hello.rank});
}

}  // namespace

class Service::Room {
 public:
  Room(const MeetingPoint& point, const HostInfo& host)
      : host_(host),
        named_by_(point.named_by),
        listener_(io_, point, host.hostname),
        magic_(point.magic != 0 ? point.magic : default_magic(port())),
        ticker_(io_) {
    listener_.accept([this](tcp::socket socket) { welcome_in(std::move(socket)); });
    thread_ = quiet_thread("rondo-meeting", [this] { run_handlers(io_); });
  }

  ~Room() {
    let_others_leave();
    attendance_.end([this] { asio::post(io_, [this] { say_goodbye(true); }); });
    io_.stop();
    thread_.join();
  }

  std::uint16_t port() const { return listener_.port(); }
  void let_others_leave() {
    attendance_.let_others_leave(linger,
                                 [this] { asio::post(io_, [this] { say_goodbye(false); }); });
  }
  bool is_over() const { return attendance_.is_over(); }

 private:
  void welcome_in(tcp::socket socket);
  void greeted(const GuestPointer& guest, const Preamble& preamble);
  void received(const GuestPointer& guest, const Message& message);
  void introduce(const GuestPointer& guest, const Hello& hello);
  void check_complete();
  void closed(const GuestPointer& guest, const std::string& why);
  void expired(std::uint64_t milliseconds);
  void refuse(const GuestPointer& guest, const Refused& refusal);
  void fail_meeting(const Refused& refusal);
  void drop(const GuestPointer& guest);
  void arm_ticker();
  void say_goodbye(bool goes);
  void count();

  const HostInfo host_;
  const std::string named_by_;  ///< MeetingPoint's
  asio::io_context io_{1};
  // Down to the attendance: used by the room's own thread only.
  Listener listener_;
  const std::uint64_t magic_;
  asio::steady_timer ticker_;
  AwakeClock clock_;  ///< the coordinator's
  std::set<GuestPointer> guests_;
  std::vector<GuestPointer> by_rank_;       ///< sized by the first Hello
  std::optional<Refused> refusal_;          ///< the meeting has failed
  std::optional<Coordinator> coordinator_;  ///< the meeting is complete
  bool closing_ = false;                    ///< has said that it may end
  Attendance attendance_;
  std::thread thread_;
};

void Service::Room::welcome_in(tcp::socket socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error || guests_.size() >= by_rank_.size() + most_strangers) return;
  set_socket_options(socket.native_handle());
  const auto guest = std::make_shared<Guest>(std::move(socket), words(endpoint), io_);
  guests_.insert(guest);
  // The room outlives its guests' streams: both live on its io_context.
  const std::weak_ptr<Guest> weak = guest;
  const auto with_guest = [weak](auto&& action) {
    if (const auto present = weak.lock()) action(present);
  };
  guest->timer.async_wait([this, with_guest](const error_code& cancelled) {
    if (cancelled) return;
    with_guest([this](const GuestPointer& late) {
      if (!late->introduced) closed(late, "it said nothing");
    });
  });
  guest->stream->start({
      .greeted =
          [this, with_guest](const Preamble& preamble) {
            with_guest([&](const GuestPointer& present) { greeted(present, preamble); });
          },
      .received =
          [this, with_guest](const Message& message) {
            with_guest([&](const GuestPointer& present) { received(present, message); });
          },
      .closed =
          [this, with_guest](const std::string& why) {
            with_guest([&](const GuestPointer& present) { closed(present, why); });
          },
  });
}

void Service::Room::greeted(const GuestPointer& guest, const Preamble& preamble) {
  guest->stream->send(encode(Preamble{.magic = magic_}));
  if (preamble.magic != magic_) {
    log(LogLevel::warn, -1, "refused a rank of another job from " + guest->address);
    refuse(guest, {.retry = 1, .message = "the service there belongs to another job"});
  } else if (preamble.version != protocol_version) {
    const Refused refusal{.message = "the process at " + guest->address + " speaks version " +
                                     std::to_string(preamble.version) +
                                     " of the control protocol, the others version " +
                                     std::to_string(protocol_version),
                          .remedy = "run every rank with the same version of rondo"};
    refuse(guest, refusal);
    fail_meeting(refusal);
  }
}

void Service::Room::received(const GuestPointer& guest, const Message& message) {
  if (guest->departed) return;
  if (const auto* hello = std::get_if<Hello>(&message); hello != nullptr && !guest->introduced) {
    introduce(guest, *hello);
  } else if (!guest->introduced) {
    closed(guest, "it sent a message before its name");
  } else if (const auto* late = std::get_if<MeetingExpired>(&message)) {
    expired(late->milliseconds);
  } else if (std::holds_alternative<Closing>(message)) {
    guest->told = true;
    count();
  } else if (coordinator_) {
    coordinator_->receive(guest->hello.rank, message, clock_.now());
    if (std::holds_alternative<Bye>(message)) {
      guest->departed = true;
      guest->stream->finish();
    }
    arm_ticker();
  }
}

void Service::Room::introduce(const GuestPointer& guest, const Hello& hello) {
  if (refusal_) return refuse(guest, *refusal_);
  if (coordinator_) {
    return refuse(guest, {.retry = 1,
                          .message = "the job there is complete: all " +
                                     std::to_string(by_rank_.size()) + " ranks have joined"});
  }
  guest->introduced = true;
  guest->hello = hello;
  const auto first = std::find_if(by_rank_.begin(), by_rank_.end(),
                                  [](const GuestPointer& other) { return other != nullptr; });
  if (hello.ranks < 1 || hello.ranks > most_ranks || hello.rank < 0 || hello.rank >= hello.ranks) {
    return fail_meeting({.peer = hello.rank,
                         .message = "a process joined as " + describe(hello) + " of a world of " +
                                    std::to_string(hello.ranks) + " ranks",
                         .remedy = "number the ranks from 0 to one less than WORLD_SIZE"});
  }
  if (first != by_rank_.end() && hello.ranks != static_cast<int>(by_rank_.size())) {
    return fail_meeting({.peer = hello.rank,
                         .message = describe(hello) + " counts " + std::to_string(hello.ranks) +
                                    " ranks in the world but " + describe((*first)->hello) +
                                    " counts " + std::to_string(by_rank_.size()),
                         .remedy = "set the same WORLD_SIZE on every rank"});
  }
  by_rank_.resize(static_cast<std::size_t>(hello.ranks));
  auto& seat = by_rank_[static_cast<std::size_t>(hello.rank)];
  if (seat != nullptr) {
    return fail_meeting({.peer = hello.rank,
                         .message = "two processes joined as rank " + std::to_string(hello.rank) +
                                    ": host " + seat->hello.host.hostname + ", pid " +
                                    std::to_string(seat->hello.host.pid) + " and host " +
                                    hello.host.hostname + ", pid " + std::to_string(hello.host.pid),
                         .remedy = "give every process a RANK of its own"});
  }
  seat = guest;
  count();
  check_complete();
}

void Service::Room::check_complete() {
  if (std::count(by_rank_.begin(), by_rank_.end(), nullptr) != 0) return;
  Welcome welcome{.service = host_};
  for (const auto& guest : by_rank_) welcome.hosts.push_back(guest->hello.host);
  coordinator_.emplace(welcome.hosts, [this](int rank, const Message& message) {
    const auto& guest = by_rank_[static_cast<std::size_t>(rank)];
    if (guest != nullptr) guest->stream->send(encode(message));
  });
  const auto bytes = encode(Message(std::move(welcome)));
  for (const auto& guest : by_rank_) {
    guest->stream->set_longest(longest_message);
    guest->stream->send(bytes);
  }
}

void Service::Room::closed(const GuestPointer& guest, const std::string& why) {
  drop(guest);
  if (guest->departed) return;
  if (!guest->introduced) {
    const auto level = why.empty() ? LogLevel::info : LogLevel::warn;
    log(level, -1,
        "dropped a connection from " + guest->address +
            " that named no rank: " + (why.empty() ? "the other end closed it" : why));
  } else if (coordinator_) {
    coordinator_->died(guest->hello.rank, clock_.now());
    arm_ticker();
  } else {
    fail_meeting(
        {.peer = guest->hello.rank,
         .message = describe(guest->hello) + " joined and left before all ranks had joined",
         .remedy = "look at the end of its output for the reason"});
  }
}

void Service::Room::drop(const GuestPointer& guest) {
  guest->stream->close();
  guest->timer.cancel();
  std::ranges::replace(by_rank_, guest, nullptr);
  guests_.erase(guest);
  count();
}

void Service::Room::expired(std::uint64_t milliseconds) {
  if (coordinator_ || refusal_) return;
  std::vector<int> missing;
  for (std::size_t rank = 0; rank < by_rank_.size(); ++rank) {
    if (by_rank_[rank] == nullptr) missing.push_back(static_cast<int>(rank));
  }
  fail_meeting({.peer = missing.front(),
                .message = rank_list(missing) + " of " + std::to_string(by_rank_.size()) +
                           " did not join at port " + std::to_string(port()) + " of " +
                           host_.hostname + " within " + seconds(milliseconds),
                .remedy = "check that every rank was started, with the same " + named_by_ +
                          ", and can reach that port, or raise RONDO_BOOTSTRAP_TIMEOUT"});
}

void Service::Room::refuse(const GuestPointer& guest, const Refused& refusal) {
  guest->departed = true;
  guest->stream->send(encode(Message(refusal)));
  guest->stream->finish();
}

void Service::Room::fail_meeting(const Refused& refusal) {
  if (coordinator_ || refusal_) return;
  refusal_ = refusal;
  attendance_.note_failure();
  for (const auto& guest : guests_) {
    if (guest->introduced && !guest->departed) refuse(guest, *refusal_);
  }
}

void Service::Room::arm_ticker() {
  const auto next = coordinator_ ? coordinator_->next_tick() : std::nullopt;
  if (!next) return;
  ticker_.expires_after(std::min<Coordinator::Clock::duration>(*next - clock_.now(), awake_step));
  ticker_.async_wait([this](const error_code& cancelled) {
    if (cancelled) return;
    coordinator_->tick(clock_.now());
    arm_ticker();
  });
}

/// `goes`: now, not only soon.
void Service::Room::say_goodbye(bool goes) {
  closing_ = true;
  if (coordinator_) coordinator_->tell_of_departed();
  for (const auto& guest : by_rank_) {
    if (guest == nullptr || guest->departed) continue;
    guest->stream->send(encode(Message(Closing{})));
    if (goes) guest->stream->finish();
    guest->departed = goes;
  }
  count();
}

/// Once all have left, it listens no more, and its thread ends with the last stranger.
void Service::Room::count() {
  Attendance::Counts counts{.told = closing_};
  for (const GuestPointer& guest : by_rank_) {
    if (guest == nullptr) continue;
    ++counts.present;
    if (!same_process(guest->hello.host, host_)) ++counts.others;
    counts.told = counts.told && (guest->departed || guest->told);
  }
  counts.is_over = coordinator_ && counts.present == 0;
  if (counts.is_over) listener_.close();
  attendance_.set(counts);
}

Service::Service(const MeetingPoint& point, const HostInfo& host)
    : room_(std::make_unique<Room>(point, host)) {}

Service::~Service() {
  if (!maker_.is_this()) static_cast<void>(room_.release());
}

std::uint16_t Service::port() const { return room_->port(); }
void Service::let_others_leave() { room_->let_others_leave(); }
bool Service::is_over() const { return room_->is_over(); }

}  // namespace rondo::control
