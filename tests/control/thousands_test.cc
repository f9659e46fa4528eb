// A meeting of many ranks over loopback. Each is a connection and no process, so that thousands
// fit on one machine.
#include <sys/resource.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <numeric>

#include "core/control/credential.h"
#include "core/control/message.h"
#include "core/control/service.h"
#include "tests/catch.h"

namespace rondo::control {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

const Secret secret = secret_from("4711");
constexpr std::uint64_t world = 1;

HostInfo host_of(int rank) {
  return {.host = "host" + std::to_string(rank / 8),
          .hostname = "node" + std::to_string(rank / 8),
          .process = static_cast<std::uint64_t>(rank) + 1,
          .pid = rank,
          .no_rdma = "this machine has no RDMA device"};
}

std::string address_of(int rank) { return "10.0.0.1:" + std::to_string(10000 + rank); }

/// What all speakers together have seen.
struct Seen {
  std::size_t bytes = 0;
  int met = 0;
  int told = 0;   ///< know every rank's address
  int wrong = 0;  ///< heard something else
};

/// A rank's side of the meeting and of one exchange.
class Speaker : public std::enable_shared_from_this<Speaker> {
 public:
  Speaker(asio::io_context& io, std::uint16_t port, int rank, int ranks, Seen& seen)
      : io_(io), socket_(io), port_(port), rank_(rank), ranks_(ranks), seen_(seen) {}

  void start() {
    socket_ = tcp::socket(io_);
    reader_ = FrameReader(longest_message);
    greeted_ = false;
    socket_.async_connect({asio::ip::address_v4::loopback(), port_},
                          [self = shared_from_this()](const error_code& error) {
                            if (error) return self->start();
                            self->introduce();
                          });
  }
  void leave() { say(encode(Message(Leave{.communicator = world})) + encode(Message(Bye{}))); }

 private:
  void introduce() {
    own_.nonce = random_nonce();
    say(encode(own_));
    listen();
  }

  void say(std::string bytes) {
    const auto kept = std::make_shared<std::string>(std::move(bytes));
    asio::async_write(socket_, asio::buffer(*kept), [kept](const error_code&, std::size_t) {});
  }

  void listen() {
    socket_.async_read_some(asio::buffer(received_),
                            [self = shared_from_this()](const error_code& error, std::size_t size) {
                              self->take(error, size);
                            });
  }

  /// A connection that ends before the meeting came at a bad time, as ranks' may.
  void take(const error_code& error, std::size_t size) {
    if (error) {
      if (!met_) start();
      return;
    }
    seen_.bytes += size;
    reader_.feed({received_.data(), size});
    if (!greeted_) show(reader_.preamble());
    while (greeted_) {
      const auto message = reader_.next();
      if (!message) break;
      answer(*message);
    }
    listen();
  }

  void show(const std::optional<Preamble>& service) {
    greeted_ = service.has_value();
    if (!greeted_) return;
    say(encode(Message(rank_credential(secret, own_, *service))) +
        encode(Message(Hello{.rank = rank_, .ranks = ranks_, .host = host_of(rank_)})));
  }

  void answer(const Message& message) {
    if (std::holds_alternative<Credential>(message)) return;
    if (const auto* welcome = std::get_if<Welcome>(&message)) {
      met_ = true;
      ++seen_.met;
      const bool right = welcome->hosts.size() == static_cast<std::size_t>(ranks_) &&
                         welcome->hosts.back() == host_of(ranks_ - 1) &&
                         welcome->hosts[static_cast<std::size_t>(rank_)] == host_of(rank_);
      seen_.wrong += right ? 0 : 1;
      std::vector<std::int32_t> members(static_cast<std::size_t>(ranks_));
      std::iota(members.begin(), members.end(), 0);
      say(encode(Message(Open{.communicator = world, .members = members})) +
          encode(Message(Blob{.communicator = world, .of_all = 1, .bytes = address_of(rank_)})));
    } else if (const auto* blobs = std::get_if<Blobs>(&message)) {
      ++seen_.told;
      const bool right = blobs->bytes.size() == static_cast<std::size_t>(ranks_) &&
                         blobs->bytes.back() == address_of(ranks_ - 1);
      seen_.wrong += right ? 0 : 1;
    } else {
      ++seen_.wrong;
    }
  }

  asio::io_context& io_;
  tcp::socket socket_;
  std::uint16_t port_;
  int rank_;
  int ranks_;
  Seen& seen_;
  FrameReader reader_{longest_message};
  Preamble own_{};
  bool greeted_ = false;
  bool met_ = false;
  std::array<char, std::size_t{1} << 14> received_{};
};

Seen meet_by_speakers(int ranks) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto wanted = static_cast<rlim_t>(2 * ranks + 2000);
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  Seen seen;
  const Service service({.secret = secret}, host_of(0));
  asio::io_context io{1};
  std::vector<std::shared_ptr<Speaker>> speakers;
  for (int rank = 0; rank < ranks; ++rank) {
    speakers.push_back(std::make_shared<Speaker>(io, service.port(), rank, ranks, seen));
    speakers.back()->start();
  }
  while (seen.told < ranks && seen.wrong == 0 && io.run_one() > 0) {
  }
  for (const auto& speaker : speakers) speaker->leave();
  io.run();  // until the service has closed every connection
  return seen;
}

TEST_CASE("a thousand ranks meet, and learn of each other") {
  const Seen seen = meet_by_speakers(1000);
  CHECK(seen.met == 1000);
  CHECK(seen.told == 1000);
  CHECK(seen.wrong == 0);
  // A rank learns of another one's process, host and address in so many bytes.
  CHECK(seen.bytes < std::size_t{1000} * 1000 * 64);
}

TEST_CASE("4096 ranks: what the control plane carries", "[.measure]") {
  const Seen seen = meet_by_speakers(4096);
  CHECK(seen.told == 4096);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("4096 ranks: %.1f MB to all ranks, %.1f bytes for each pair; %ld MB of memory\n",
              static_cast<double>(seen.bytes) / 1e6,
              static_cast<double>(seen.bytes) / (4096.0 * 4096.0), usage.ru_maxrss / 1024);
}

}  // namespace
}  // namespace rondo::control
