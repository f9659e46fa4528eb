#include "transports/shm/handshake.h"

#include <array>
#include <utility>

#include "core/transport/unix_socket.h"

namespace rondo::shm {

Error Errors::make(ErrorCode code, int peer, std::string message, std::string remedy) const {
  return Error(code, std::move(message), {.rank = rank, .peer = peer, .remedy = std::move(remedy)});
}

Error Errors::no_descriptors(int peer) const {
  return make(ErrorCode::system, peer, "out of file descriptors",
              "raise the limit of open files (ulimit -n)");
}

Error Errors::peer_died(int peer) const {
  return make(ErrorCode::peer_lost, peer, "the peer process ended or closed its connection",
              "look at that rank's own output for why");
}

Error Errors::other_protocol(int peer) const {
  return make(ErrorCode::bootstrap, peer, "the peer speaks another shm protocol",
              "use the same version of rondo on every rank");
}

Error Errors::cannot_connect(int peer, const std::system_error& failure) const {
  const bool gone = failure.code() == std::errc::connection_refused;
  return gone ? peer_died(peer) : no_descriptors(peer);
}

std::optional<UniqueFd> greet(const std::string& address, const Hello& hello,
                              const Doorbell& doorbell) {
  std::optional<UniqueFd> socket = unix_socket::connect_to(address);
  if (!socket) return std::nullopt;
  if (!unix_socket::same_user(*socket)) {
    throw Errors{hello.from}.make(ErrorCode::bootstrap, hello.to, "the peer runs as another user",
                                  "start all ranks as one user, or RONDO_TRANSPORT=^shm");
  }
  // The first message on a fresh socket always finds room; a peer that died shows when reading.
  unix_socket::send(*socket, bytes_of(hello), doorbell.descriptors());
  return socket;
}

}  // namespace rondo::shm
