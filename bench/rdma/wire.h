// Two processes that send each other messages, by one of rondo's transports or by a plain socket.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace rondo::bench {

/// One end of the pair. One thread at a time. Errors are thrown as rondo::Error.
class Wire {
 public:
  Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  virtual ~Wire() = default;

  /// Returns when the message needs `bytes` no more.
  virtual void send(std::span<const std::byte> bytes) = 0;
  /// Waits for a message of this length.
  virtual void receive(std::span<std::byte> bytes) = 0;
};

struct WireSettings {
  int rank = 0;
  std::string way{};         ///< "verbs", "tcp" or "socket"
  int queue_pairs = 1;       ///< verbs only
  std::string hca{};         ///< verbs: the device, as RONDO_IB_HCA
  std::string address{};     ///< socket: this end's IPv4 address
  std::string interface {};  ///< tcp: as RONDO_SOCKET_IFNAME
  int reading = -1;          ///< pipe from the other process
  int writing = -1;          ///< pipe to the other process
};
/// Connects the two processes.
std::unique_ptr<Wire> make_wire(const WireSettings& settings);
std::unique_ptr<Wire> make_socket_wire(const WireSettings& settings);

/// Sends the other process a text and returns its own.
std::string swap_texts(const WireSettings& settings, const std::string& mine);

}  // namespace rondo::bench
