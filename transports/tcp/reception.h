// Reception: the listening sockets of a rank, one for each port of its host, and the strangers among
// those that connect. For .cc files only: Asio.
#pragma once

#include <poll.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/fork.h"
#include "core/base/newcomers.h"
#include "core/base/rare_log.h"
#include "core/base/unique_fd.h"
#include "core/settings/interface.h"
#include "core/transport/transport.h"
#include "rondo/error.h"
#include "transports/tcp/contact.h"
#include "transports/tcp/pacing.h"

namespace rondo::tcp {

using Socket = boost::asio::ip::tcp::socket;

bool out_of_descriptors(const boost::system::error_code& error);
Error no_descriptors(int rank);
void close_on_exec(int descriptor);
/// Of a connected socket, at either end.
void tune(Socket& socket, const Pacing& pacing);
/// The descriptor alone, for the data path.
UniqueFd hand_over(Socket& socket);

/// Works inside its io_context's handlers only, which is destroyed after it.
class Reception {
 public:
  /// A peer has connected and shown that it knows the secret.
  using OnArrival = std::function<void(const Hello&, UniqueFd)>;

  /// All outlive it. Listens on the settings' interfaces; throws Error{system}.
  Reception(boost::asio::io_context& context, const TransportSettings& settings, Pacing& pacing,
            OnArrival on_arrival);

  const Contact& contact() const { return contact_; }
  const std::vector<Port>& ports() const { return ports_; }
  void add_descriptors(std::vector<pollfd>& descriptors);

 private:
  using Acceptor = boost::asio::ip::tcp::acceptor;
  struct Stranger;

  void listen_if_possible(const InterfaceAddress& port);
  void listen(const InterfaceAddress& port);
  void accept(Acceptor& acceptor);
  void reserve();
  void rest(Acceptor& acceptor, const boost::system::error_code& why);
  void greet(Socket socket);
  void recognise(Stranger& stranger);
  bool is_ours(const Hello& hello) const;
  void drop(const Stranger& stranger, const char* why);
  void sweep_soon();
  void sweep();

  boost::asio::io_context& context_;
  const TransportSettings& settings_;
  Pacing& pacing_;
  OnArrival on_arrival_;
  Contact contact_{};
  std::vector<Port> ports_{};
  RareLog log_;
  UniqueFd spare_{};  ///< a descriptor for one more connection when the process has none left
  std::list<Acceptor> acceptors_{};
  std::set<int> accepting_{};               ///< descriptors of those with an accept under way
  std::list<KeptFromChildren> unforked_{};  ///< all of them
  std::vector<Acceptor*> waiting_{};        ///< until there is room for a stranger
  Newcomers<std::shared_ptr<Stranger>> strangers_{};
  std::set<std::uint64_t> heard_{};    ///< challenges of those that were recognised
  boost::asio::steady_timer sweeper_;  ///< for the oldest stranger
  bool sweeps_soon_ = false;
};

}  // namespace rondo::tcp
