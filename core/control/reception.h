// Connections of the service, until they are ranks; strangers never are. For .cc files only: Asio.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "core/base/newcomers.h"
#include "core/base/rare_log.h"
#include "core/control/listener.h"
#include "core/control/message.h"
#include "core/control/stream.h"

namespace rondo::control {

/// One connection of the service.
struct Connection {
  explicit Connection(Stream::Socket socket);

  std::shared_ptr<Stream> stream;
  std::string address{};    ///< of the other end, for words
  Preamble own{};           ///< the service's
  Preamble peers{};         ///< the other end's
  bool is_known = false;    ///< has shown that it knows the secret
  bool introduced = false;  ///< is a rank
  bool departed = false;    ///< has said Bye, or was refused
  int untold = 0;           ///< goodbyes that were said to it, and that it has not answered
  Hello hello{};
  Ending ending{};  ///< how it broke, of a rank that may come back over another one
};
using ConnectionPointer = std::shared_ptr<Connection>;

/// Takes connections, and gives those that know the secret to the service, with their hello. All
/// others end here. Used on the thread of its io_context only, which is destroyed after it.
class Reception {
 public:
  struct Events {
    /// To be accepted or refused.
    std::function<void(const ConnectionPointer&, const Hello&)> introduced{};
    /// From those that were accepted.
    std::function<void(const ConnectionPointer&, const Message&)> received{};
    std::function<void(const ConnectionPointer&, const Ending&)> closed{};
  };

  Reception(boost::asio::io_context& io, const BootstrapPoint& point, const std::string& hostname);
  Reception(boost::asio::io_context& io, UniqueFd listening, const Secret& secret);

  const Listener& listener() const { return listener_; }
  /// Call it once.
  void begin(Events events);
  /// It is a rank from here on.
  void accept(const ConnectionPointer& newcomer, const Hello& hello);
  /// Newcomer or rank: says so, and lets it end.
  static void refuse(const ConnectionPointer& connection, const Refused& refusal);
  /// At once.
  void drop(const ConnectionPointer& connection);
  /// How many ranks are still to come.
  void expect(std::size_t ranks);
  /// Nobody comes any more.
  void close() { listener_.close(); }

 private:
  void welcome_in(Stream::Socket socket);
  void greeted(const ConnectionPointer& newcomer, const Preamble& preamble);
  void received(const ConnectionPointer& connection, const Message& message);
  void recognise(const ConnectionPointer& newcomer, const Message& message);
  void closed(const ConnectionPointer& connection, const Ending& ending);
  void warn(const Connection& stranger, const std::string& what);
  void remove(const ConnectionPointer& newcomer);
  void sweep();

  const Secret secret_;
  Listener listener_;
  Events events_{};
  boost::asio::steady_timer timer_;  ///< for the oldest newcomer
  Newcomers<ConnectionPointer> newcomers_{};
  RareLog log_{};
};

/// Lets this process hold a descriptor for each rank beside strangers. Empty, or why it may not.
std::string descriptor_obstacle(int ranks);

}  // namespace rondo::control
