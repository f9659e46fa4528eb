// Failures of the verbs as errors for people: where it happened, what it likely means, what to do.
//
// Only sources that are built when libibverbs's headers are there include this one.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/error.h"

namespace rondo::verbs {

/// Where a failure happened. What is unknown stays at its default and out of the text.
struct Link {
  int rank = -1;
  int peer = -1;
  std::string device{};  ///< "mlx5_0"
  int port = 0;
  std::string gid{};       ///< to_text() of the own one; with its index, "10.0.0.1 (GID 3)"
  std::string peer_gid{};  ///< to_text() of the peer's
};
/// "mlx5_0 port 1, GID 10.0.0.1, to 10.0.0.2"; empty for an empty link.
std::string to_text(const Link& link);

/// A work completion that failed. Every ibv_wc_status has words of its own; a status this header
/// does not know is told by number. Error{peer_lost} where the peer is most likely gone (retries
/// exceeded, response timeout, remote abort), Error{internal} where rondo itself must be wrong
/// (lengths, protection), Error{system} else. `action`: "sending", "receiving"...
Error completion_error(ibv_wc_status status, std::uint32_t vendor_error, std::string_view action,
                       const Link& link);
/// True for the one status that only follows another failure. Report it only if no other came.
bool is_flush(ibv_wc_status status);

/// What has become of a port whose work failed.
enum class PortCondition : std::uint8_t { well, down, gone };
/// The error instead of a completion's status where the port is not well, since the status then
/// only says where the device noticed: Error{system}.
Error port_error(PortCondition condition, std::string_view action, const Link& link);

/// What an asynchronous event ends.
enum class Reach : std::uint8_t {
  nobody,   ///< good news or none: log it at most
  warning,  ///< work goes on, people should know: log `error.what()`
  queue,    ///< the queue pair, completion queue or shared receive queue in the event's element
  port,     ///< every queue pair of the port in the event's element, if it stays down
  back,     ///< nobody: the port in the event's element is well again
  device,   ///< everything made from the context
};
struct EventReport {
  Reach reach = Reach::nobody;
  Error error;
};
/// Every ibv_event_type, an unknown one included (a warning). The event stays the caller's to
/// acknowledge.
EventReport event_report(ibv_event_type event, const Link& link);
/// False for events of another port of the device: every context gets the events of all ports.
bool concerns(const ibv_async_event& event, int port);

/// A verb that failed with `error` (an errno; verbs that return -1 leave it in errno). `action`:
/// "creating a queue pair", "registering 4194304 bytes", "moving a queue pair to RTR".
/// Error{out_of_memory} for ENOMEM (with the memlock limit in words), Error{peer_lost} for an
/// address that nobody answers for, Error{system} else.
Error call_error(std::string_view action, int error, const Link& link);

}  // namespace rondo::verbs
