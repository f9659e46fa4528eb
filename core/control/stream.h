// One connection of the control plane: whole messages over a TCP socket. For .cc files only: Asio.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/fork.h"
#include "core/control/message.h"

namespace rondo::control {

/// What is known of a process.
enum class Presence : std::uint8_t {
  unknown,  ///< it does not answer, or cannot be asked
  alive,    ///< its kernel takes connections
  dead,     ///< its kernel refuses them
  come,
};

/// Used on the thread of its io_context only. Keeps itself alive while it reads or writes.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  /// How a connection ended.
  struct Ending {
    std::string why{};        ///< empty: the peer closed it in order
    bool by_network = false;  ///< the path to the peer is broken; its process may live
  };
  struct Events {
    std::function<void(const Preamble&)> greeted{};
    std::function<void(const Message&)> received{};
    /// Called once, unless close() came first.
    std::function<void(const Ending&)> closed{};
  };

  /// `reader` may hold what was received already; `greeted`: the preamble was among it.
  explicit Stream(Socket socket, FrameReader reader = FrameReader(), bool greeted = false);

  /// What many streams send is in memory once.
  using Bytes = std::shared_ptr<const std::string>;

  void start(Events events);
  void send(Bytes bytes);
  void send(std::string bytes) { send(std::make_shared<const std::string>(std::move(bytes))); }
  /// Longest message taken from now on.
  void set_longest(std::size_t longest) { reader_.set_longest(longest); }
  /// Sends what waits, then says that nothing follows; goes on reading until the peer closes.
  /// Closing at once instead could throw away bytes that the peer has not read yet.
  void finish();
  /// At once, without an event.
  void close();

 private:
  void read();
  void take(std::size_t count);
  void consume();
  void write();
  void end(const Ending& ending);

  Socket socket_;
  std::optional<KeptFromChildren> unforked_;  ///< while it is open: the socket
  FrameReader reader_;
  bool greeted_;
  bool finishing_ = false;
  Events events_;
  std::array<char, 4096> received_{};
  std::deque<Bytes> waiting_;  ///< the front one is being written
};

/// Why the process at the other end may live, where it has not come back; empty: it has ended. Only a
/// process's end ends a connection in order, unless the process still answers.
std::string why_unproven(const Stream::Ending& ending, Presence presence);

/// Runs handlers until stopped or out of work. One that throws (no memory, say) is logged and
/// forgotten: the program's own threads go on, and deadlines hold.
void run_handlers(boost::asio::io_context& io);

/// Throws Error{system} where none is left. `name` is for debuggers.
std::thread named_thread(const char* name, std::function<void()> body);

}  // namespace rondo::control
