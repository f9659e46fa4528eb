// Connections that are no ranks yet, and may never be. For .cc files only: Asio.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "core/base/newcomers.h"
#include "core/base/rare_log.h"
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
  bool told = false;        ///< knows that the service may end
  Hello hello{};
};
using ConnectionPointer = std::shared_ptr<Connection>;

/// Used on the thread of its io_context only.
class Strangers {
 public:
  /// `pause`: whether to take no further connection for now.
  Strangers(boost::asio::io_context& io, std::function<void(bool)> pause);

  void add(ConnectionPointer stranger);
  void remove(const ConnectionPointer& stranger);
  /// How many ranks are still to come.
  void expect(std::size_t ranks);
  void warn(const Connection& stranger, const std::string& what);

 private:
  void sweep();

  std::function<void(bool)> pause_;
  boost::asio::steady_timer timer_;  ///< for the oldest
  Newcomers<ConnectionPointer> all_{};
  RareLog log_{};
};

/// Lets this process hold a descriptor for each rank beside strangers. Empty, or why it may not.
std::string descriptor_obstacle(int ranks);

}  // namespace rondo::control
