// What ranks and the coordinator say to each other, as values, and their form on a TCP
// connection.
//
//   connection = preamble frame*          both ways
//   preamble   = "RONDOCTL" version:u32 zero:u32 nonce:16 bytes
//   frame      = length:u32 checksum:u32 of_header:u32 kind:u8 fields        little-endian
//                length counts kind and fields, checksum is their CRC32C, of_header that of the two
//                numbers before it: with a wrong length a reader would wait for what never comes
//   fields     = see core/base/archive.h; lists with an entry for each rank have what is equal once
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/archive.h"
#include "core/base/secret.h"
#include "core/control/call.h"
#include "core/transport/host.h"

namespace rondo::control {

/// A rank's report of its calls: the range that was asked for and the newest.
struct CallReport {
  std::uint64_t begun = 0;
  std::uint64_t completed = 0;
  std::vector<Call> calls{};

  const Call* find(std::uint64_t sequence) const;
};

// From a rank to the coordinator.

/// This rank has a channel to `communicator`.
struct Open {
  std::uint64_t communicator = 0;
  std::vector<std::int32_t> members{};
  std::uint8_t again = 0;  ///< 1: it had the channel under a coordinator that was lost
                           ///< 2: under one that ended in order, and said who had left
};
/// It has told a new coordinator all that it knows of the time before.
struct Told {};
/// Its part of an exchange.
struct Blob {
  std::uint64_t communicator = 0;
  /// Of an exchange among the living, which goes on without ranks that are gone, and which a failure
  /// of the communicator does not end: its number, from 1. 0: an exchange of all ranks.
  std::uint64_t round = 0;
  std::uint64_t of_all =
      0;  ///< the rank's exchanges of all so far, with this one: none counts twice
  std::string bytes{};
};
struct ExchangeExpired {
  std::uint64_t communicator = 0;
  std::uint64_t milliseconds = 0;
};
/// It has not moved. `from` to `to` are its incomplete calls; 0 where it waits for `peer` in
/// `what`, a send or receive.
struct Stall {
  std::uint64_t communicator = 0;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t milliseconds = 0;  ///< the deadline, for words; 0: unknown
  std::int32_t peer = -1;
  std::string what{};
  std::uint8_t expired = 0;
  std::uint8_t mismatch = 0;              ///< a frame of `peer` bore another call's fingerprint
  std::uint8_t timeout_from_program = 0;  ///< `milliseconds` are not RONDO_TIMEOUT's; for words
};
struct Answer {
  std::uint64_t communicator = 0;
  std::uint64_t diagnosis = 0;
  CallReport report{};
};
struct Leave {
  std::uint64_t communicator = 0;
  CallReport report{};
};
/// It is about to leave, and waits for Alike.
struct Compare {
  std::uint64_t communicator = 0;
  CallReport report{};
};
/// It goes; its connection's end is no failure.
struct Bye {};

// From the coordinator to a rank.

/// Both ways: a rank tells a new coordinator of its last exchange among the living.
struct Blobs {
  std::uint64_t communicator = 0;
  std::uint64_t round = 0;              ///< as Blob's
  std::vector<std::string> bytes{};     ///< by rank; empty for those that are gone
  std::vector<std::int32_t> missing{};  ///< those: they died, left, or did not come in time
  std::string refusal{};                ///< not empty: why these ranks must not go on
};
struct Query {
  std::uint64_t communicator = 0;
  std::uint64_t diagnosis = 0;  ///< 0: a comparison
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};
/// Both ways, for the next coordinator: these ranks had left the communicator.
struct Departed {
  std::uint64_t communicator = 0;
  std::vector<std::int32_t> ranks{};
  std::vector<CallReport> reports{};  ///< one for each of them; only the newest call is listed
};
/// All ranks that are still there have made as many calls as it has, and none of them differs.
struct Alike {
  std::uint64_t communicator = 0;
};
/// To be logged as a warning.
struct Note {
  std::uint64_t communicator = 0;
  std::string text{};
};
/// Both ways: the communicator has failed.
struct Failure {
  std::uint64_t communicator = 0;
  std::uint8_t code = 0;  ///< an ErrorCode
  std::int32_t peer = -1;
  std::string message{};
  std::string call{};
  std::string remedy{};
};

// Bootstrap, see credential.h for its beginning.

/// Both ways: the sender knows the job's secret. Each side's first frame, but for Refused.
struct Credential {
  Proof proof{};
};
/// Where a rank's process listens, to serve the job if the coordinator is lost.
struct Standby {
  std::string address{};  ///< a number; empty: nowhere
  std::uint16_t port = 0;
};
struct Hello {
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
  HostInfo host{};
  Standby standby{};
  Nonce session{};             ///< that is to go on, see session.h; zeros: it comes anew
  std::uint64_t received = 0;  ///< messages of that session
};
struct BootstrapExpired {
  std::uint64_t milliseconds = 0;
};
struct Welcome {
  std::vector<HostInfo> hosts{};
  HostInfo service{};
  std::vector<Standby> standbys{};  ///< by rank
  std::uint64_t received = 0;       ///< where a session goes on: messages of it; all else is empty
};
struct Refused {
  std::uint8_t retry = 0;  ///< 1: try later, an earlier job or another one still serves there
  std::int32_t peer = -1;
  std::string message{};
  std::string remedy{};
};
/// Both ways: so many messages of the session have come.
struct Received {
  std::uint64_t count = 0;
};
/// The service may go from here on, in order, and the next rank is to serve. The answer is an empty
/// one: it was read.
struct Closing {
  std::vector<std::int32_t> left{};  ///< ranks that have ended in order
  std::vector<std::int32_t> dead{};  ///< and those that are known to have died
};

/// The index is the kind on the wire: append only, or raise protocol_version.
using Message = std::variant<Credential, Hello, BootstrapExpired, Welcome, Refused, Received,
                             Closing, Open, Blob, ExchangeExpired, Stall, Answer, Leave, Bye, Blobs,
                             Query, Note, Failure, Compare, Alike, Departed, Told>;

/// False for what a single connection is about: it is not sent again over another one.
inline bool is_of_session(const Message& message) {
  return message.index() > Message(Received{}).index();
}

/// The communicator that a message is about; std::nullopt for those of the bootstrap and Bye.
std::optional<std::uint64_t> communicator_of(const Message& message);

inline constexpr std::uint32_t protocol_version = 16;

struct Preamble {
  std::uint32_t version = protocol_version;
  Nonce nonce{};
};
inline constexpr std::size_t preamble_bytes = 32;

/// Longest frame taken from somebody who has not shown that it knows the secret, from one that has,
/// and from a rank or the service once the bootstrap is complete.
inline constexpr std::size_t longest_of_stranger = 1024;
inline constexpr std::size_t longest_of_newcomer = std::size_t{1} << 16;
inline constexpr std::size_t longest_message = std::size_t{1} << 30;

std::string encode(const Preamble& preamble);
std::string encode(const Message& message);

/// The other side does not speak this protocol; what() says what it sent instead.
using NotRondo = Malformed;

/// Cuts a byte stream into messages. Trusts nothing: a wrong byte throws NotRondo as soon as it is
/// there, and no length makes it allocate more than was received.
class FrameReader {
 public:
  /// Longest frame taken.
  explicit FrameReader(std::size_t longest = longest_of_stranger) : longest_(longest) {}
  void set_longest(std::size_t longest) { longest_ = longest; }

  void feed(std::span<const char> bytes) { bytes_.append(bytes.data(), bytes.size()); }
  /// Once, before next(). std::nullopt: more bytes are needed.
  std::optional<Preamble> preamble();
  /// std::nullopt: more bytes are needed.
  std::optional<Message> next();

 private:
  void drop(std::size_t count);

  std::string bytes_;
  std::size_t start_ = 0;  ///< bytes before it were taken
  std::size_t longest_;
};

}  // namespace rondo::control
