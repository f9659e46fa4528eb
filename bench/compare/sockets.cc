// The bound for tcp: ranks exchange the bytes that a collective must move through plain sockets,
// without a library, a reduction or a check. Reads RANK and WORLD_SIZE, and SOCKETS_STORE, an empty
// folder where the ranks find each other's ports.
//
// Every pair of ranks exchanges the least that a collective sends between them: one block, or two
// for all_reduce (with two ranks: the vector). A broadcast goes down a chain in which no rank waits
// for data before it forwards. So this is not an algorithm's time, but no algorithm can be faster.
// The rank's own block is copied where it belongs to the output.
// Variants: both directions over one connection, or one connection for each direction.
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "bench/common/plain_socket.h"
#include "bench/compare/loop.h"

namespace {

using namespace rondo::bench;
using rondo::UniqueFd;
using rondo::compare::Call;
using rondo::compare::Collective;
using rondo::compare::number_in;

class Sockets final : public rondo::compare::Library {
 public:
  Sockets() : rank_(number_in("RANK")), ranks_(number_in("WORLD_SIZE")), ends_(count(ranks_)) {
    const char* store = std::getenv("SOCKETS_STORE");
    store_ = store == nullptr ? "." : store;
    const UniqueFd listener = listening_socket(loopback);
    publish(port_of(listener));
    for (int peer = 0; peer < rank_; ++peer) {
      for (int way = 0; way < 2; ++way) connect(peer, way);
    }
    for (int more = 2 * (ranks_ - 1 - rank_); more > 0; --more) accept(listener);
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  std::string version() const override { return "plain sockets"; }
  bool computes() const override { return false; }

  void choose(const std::string& variant) override {
    if (variant != "one" && variant != "two")
      throw std::invalid_argument("sockets has no variant '" + variant + "'");
    separate_ = variant == "two";
  }

  void run(const Call& call) override {
    if (is_ragged(call.collective)) throw std::invalid_argument("blocks here are of one size");
    if (call.collective == Collective::broadcast) {
      begin_chain(call);
    } else {
      begin_swaps(call);
    }
    finish();
  }

 private:
  struct Move {
    int socket;
    std::byte* at;
    std::size_t left;
    bool sends;
  };

  static std::size_t count(int value) { return static_cast<std::size_t>(value); }

  /// What this rank sends to the peer goes by the first, what it receives comes by the second.
  std::pair<int, int> sockets_to(int peer) const {
    const auto& ends = ends_[count(peer)];
    const std::pair both{ends[0].get(), ends[separate_ ? 1 : 0].get()};
    return rank_ < peer ? both : std::pair{both.second, both.first};
  }

  void begin_chain(const Call& call) {
    const int place = (rank_ - call.root + ranks_) % ranks_;
    const std::size_t bytes = call.block * sizeof(float);
    auto* const memory = reinterpret_cast<std::byte*>(place == 0 ? call.input : call.output);
    if (place > 0) {
      const int from = sockets_to((rank_ + ranks_ - 1) % ranks_).second;
      moves_.push_back({from, memory, bytes, false});
    }
    if (place + 1 < ranks_)
      moves_.push_back({sockets_to((rank_ + 1) % ranks_).first, memory, bytes, true});
  }

  /// Bytes that two ranks send each other.
  std::size_t swapped(const Call& call) const {
    const std::size_t bytes = call.block * sizeof(float);
    if (call.collective != Collective::all_reduce || ranks_ == 2) return bytes;
    return std::max<std::size_t>(1, 2 * bytes / count(ranks_));
  }

  void begin_swaps(const Call& call) {
    const std::size_t bytes = swapped(call);
    const bool blocks_in = call.collective == Collective::all_to_all;
    const bool blocks_out = blocks_in || call.collective == Collective::all_gather;
    for (int distance = 1; distance < ranks_; ++distance) {
      const int to = (rank_ + distance) % ranks_;
      const int from = (rank_ + ranks_ - distance) % ranks_;
      auto* const input = reinterpret_cast<std::byte*>(call.input);
      auto* const output = reinterpret_cast<std::byte*>(call.output);
      moves_.push_back(
          {sockets_to(to).first, input + (blocks_in ? count(to) * bytes : 0), bytes, true});
      moves_.push_back(
          {sockets_to(from).second, output + (blocks_out ? count(from) * bytes : 0), bytes, false});
    }
    if (!blocks_out) return;
    for (Move& move : moves_) advance(move);
    std::memcpy(call.output + count(rank_) * call.block,
                call.input + (blocks_in ? count(rank_) * call.block : 0), bytes);
  }

  void finish() {
    while (!moves_.empty()) {
      std::size_t moved = 0;
      for (Move& move : moves_) moved += advance(move);
      if (moved == 0) ::sched_yield();
      std::erase_if(moves_, [](const Move& move) { return move.left == 0; });
    }
  }

  static std::size_t advance(Move& move) {
    if (move.left == 0) return 0;
    const std::size_t moved = move_some(move.socket, move.at, move.left, move.sends);
    move.at += moved;
    move.left -= moved;
    return moved;
  }

  std::filesystem::path port_file(int rank) const {
    return store_ / ("port-" + std::to_string(rank));
  }

  void publish(int port) const {
    const auto whole = port_file(rank_);
    std::ofstream(whole.string() + "~") << port << std::flush;
    std::filesystem::rename(whole.string() + "~", whole);
  }

  void connect(int peer, int way) {
    while (!std::filesystem::exists(port_file(peer))) ::usleep(1000);
    int port = 0;
    std::ifstream(port_file(peer)) >> port;
    UniqueFd socket = connected_socket(loopback, loopback, port);
    const std::array<int, 2> hello{rank_, way};
    checked(static_cast<int>(::write(socket.get(), hello.data(), sizeof(hello))), "hello");
    keep(peer, way, std::move(socket));
  }

  void accept(const UniqueFd& listener) {
    UniqueFd socket = accepted_socket(listener);
    std::array<int, 2> hello{};
    if (::recv(socket.get(), hello.data(), sizeof(hello), MSG_WAITALL) != sizeof(hello))
      throw std::runtime_error("no hello");
    keep(hello[0], hello[1], std::move(socket));
  }

  void keep(int peer, int way, UniqueFd socket) {
    prepare(socket);
    // Where it is permitted: no wire, so nothing to pace. See transports/tcp/connector.cc.
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    ends_.at(count(peer)).at(count(way)) = std::move(socket);
  }

  int rank_;
  int ranks_;
  std::filesystem::path store_{};
  std::vector<std::array<UniqueFd, 2>> ends_;  ///< by peer and way
  std::vector<Move> moves_{};
  bool separate_ = false;
};

}  // namespace

int main(int argc, char** argv) { return rondo::compare::drive<Sockets>(argc, argv); }
