#include "core/control/connect.h"

#include <optional>
#include <thread>

#include "core/control/analyzer.h"
#include "core/control/credential.h"
#include "core/control/dialling.h"
#include "core/control/times.h"

namespace rondo::control {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The job's own service went without a word.
struct ServiceEnded : TryAgain {
  using TryAgain::TryAgain;
};

/// One conversation, see credential.h.
class Conversation {
 public:
  Conversation(UniqueFd socket, const BootstrapPoint& point, const Hello& hello, const Limit& limit)
      : point_(point),
        hello_(hello),
        limit_(limit),
        own_{.nonce = random_nonce()},
        joined_{.socket = std::move(socket), .reader = FrameReader(longest_of_newcomer)} {
    joined_.place = place_of(joined_.socket.get(), &::getpeername)
                        .value_or(Standby{meeting_address(point), point.port});
    if (hello_.standby.address.empty() && hello_.session == Nonce{})
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
    if (!conversation.greeted()) throw NothingSaid("something that is not rondo listens there");
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

Joined join_world(const BootstrapPoint& point, const Hello& hello, milliseconds allowed) {
  const auto deadline = Clock::now() + allowed;
  std::string why = "there was no time for a try";
  bool ended = false;
  bool heard = false;
  for (;;) {
    try {
      if (auto joined = try_once(point, hello, {deadline}, allowed)) return *std::move(joined);
    } catch (const ServiceEnded& failed) {
      if (point.by_id) throw maker_ended(point, hello);
      why = failed.what();  // this job's rank 0 may come to the port of one that has ended
      ended = true;
    } catch (const TryAgain& failed) {
      // A try that the deadline cuts off takes nothing from what was said to those before.
      const bool said = dynamic_cast<const NothingSaid*>(&failed) == nullptr;
      if (said || !heard || Clock::now() < deadline) why = failed.what();
      heard = heard || said;
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
  Presence presence = Presence::unknown;
  try {
    for (;;) {
      try {
        if (auto joined = try_once(point, hello, limit, allowed))
          return {.joined = std::move(joined), .presence = Presence::alive};
      } catch (const NobodyThere&) {
        return {.presence = Presence::dead};
      } catch (const Unreachable&) {
        presence = Presence::unknown;
        if (until(to_be_reached) <= times::between_tries) return {};
      } catch (const TryAgain&) {
        presence = Presence::alive;  // it may die in the middle of this, or a network may come back
      }
      if (until(limit.deadline) <= times::between_tries) return {.presence = presence};
      wait_for(-1, 0, limit.at_most(times::between_tries));
    }
  } catch (const GivenUp&) {
    return {.is_given_up = true};
  }
}

}  // namespace rondo::control
