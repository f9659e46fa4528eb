// One connection of the control plane: whole messages over a TCP socket. For .cc files only: Asio.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/fork.h"
#include "core/control/ending.h"
#include "core/control/message.h"
#include "core/control/session.h"

namespace rondo::control {

/// Used on the thread of its io_context only. Keeps itself alive while it reads or writes.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  struct Events {
    std::function<void(const Preamble&)> greeted{};
    std::function<void(const Message&)> received{};
    /// Called once, unless close() came first.
    std::function<void(const Ending&)> closed{};
  };

  /// `reader` may hold what was received already; `greeted`: the preamble was among it.
  explicit Stream(Socket socket, FrameReader reader = FrameReader(), bool greeted = false);

  /// What many streams send is in memory once.
  using Bytes = Session::Bytes;

  /// Events come later, never before it returns.
  void start(Events events);
  /// What belongs to this connection alone.
  void send(Bytes bytes);
  void send(const Message& message) { send(encoded(message)); }
  void send(const Preamble& preamble) {
    send(std::make_shared<const std::string>(encode(preamble)));
  }
  /// Of its session: what gets lost with this connection, another one sends again.
  void say(Bytes bytes);
  void say(const Message& message) { say(encoded(message)); }
  static Bytes encoded(const Message& message) {
    return std::make_shared<const std::string>(encode(message));
  }
  bool is_open() const { return socket_.is_open(); }
  /// What it carries goes on where the last connection ended. The other side has got `count` messages.
  void carry(Session session, std::uint64_t count);
  Session& session() { return session_; }
  /// Longest message taken from now on.
  void set_longest(std::size_t longest) { reader_.set_longest(longest); }
  /// Sends what waits, then says that nothing follows; goes on reading until the peer closes.
  /// Closing at once instead could throw away bytes that the peer has not read yet.
  void finish();
  /// At once, without an event.
  void close();
  /// The same, and the other end does not take it for the end of this process.
  void reset();

 private:
  void read();
  void take(std::size_t count);
  void consume();
  void write();
  void end(const Ending& ending);

  Socket socket_;
  std::optional<KeptFromChildren> unforked_;  ///< while it is open: the socket
  FrameReader reader_;
  Session session_{};
  bool greeted_;
  bool finishing_ = false;
  Events events_;
  std::array<char, 4096> received_{};
  std::deque<Bytes> waiting_;  ///< the front one is being written
};

/// Runs handlers until stopped or out of work. One that throws (no memory, say) is logged and
/// forgotten: the program's own threads go on, and deadlines hold.
void run_handlers(boost::asio::io_context& io);

/// Throws Error{system} where none is left. `name` is for debuggers.
std::thread named_thread(const char* name, std::function<void()> body);

}  // namespace rondo::control
