#include "transports/verbs/port_errors.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

namespace rondo::verbs {
namespace {

constexpr const char* ours =
    "report it, with the output of RONDO_DEBUG=INFO; RONDO_TRANSPORT=^verbs avoids it";
constexpr const char* unused =
    "an error of the driver, since rondo uses nothing of that kind: see dmesg";
constexpr const char* look_at_cable =
    "look at the cable, the switch and `ip link`; RONDO_IB_HCA chooses other ports";
constexpr const char* kernel_log = "look at the kernel's log (dmesg) on both hosts";

struct Words {
  ErrorCode code;
  std::string_view what;
  std::string_view remedy;
};
struct StatusWords {
  ibv_wc_status status;
  ErrorCode code;
  std::string_view what;
  std::string_view remedy;
};

constexpr std::array status_words{
    StatusWords{IBV_WC_SUCCESS, ErrorCode::internal,
                "a completion without an error was taken for one", ours},
    StatusWords{IBV_WC_LOC_LEN_ERR, ErrorCode::internal,
                "local length error: a message was longer than the buffer posted for it or than "
                "the port's largest message",
                ours},
    StatusWords{IBV_WC_LOC_QP_OP_ERR, ErrorCode::internal,
                "local operation error: a work request does not fit its queue pair", ours},
    StatusWords{IBV_WC_LOC_EEC_OP_ERR, ErrorCode::system,
                "local end-to-end context error (reliable datagrams)", unused},
    StatusWords{IBV_WC_LOC_PROT_ERR, ErrorCode::internal,
                "local protection error: a work request named memory that is not registered (any "
                "more)",
                "keep buffers allocated until their call has ended; else report it"},
    StatusWords{IBV_WC_WR_FLUSH_ERR, ErrorCode::system,
                "flushed: the queue pair had failed before, which ends all its work",
                "look for the first error, on this rank and on the peer"},
    StatusWords{IBV_WC_MW_BIND_ERR, ErrorCode::system, "memory window bind error", unused},
    StatusWords{IBV_WC_BAD_RESP_ERR, ErrorCode::system,
                "the peer's device sent an answer that fits no request",
                "use the same driver and firmware on both hosts"},
    StatusWords{IBV_WC_LOC_ACCESS_ERR, ErrorCode::internal,
                "local access error: the peer wrote to memory of this rank that is not open to it",
                ours},
    StatusWords{IBV_WC_REM_INV_REQ_ERR, ErrorCode::system,
                "remote invalid request: the peer's device refused a request as too long or out "
                "of order",
                "set RONDO_IB_TIMEOUT=18 or more on every rank (Soft-RoCE refuses messages that "
                "are repeated too early)"},
    StatusWords{IBV_WC_REM_ACCESS_ERR, ErrorCode::internal,
                "remote access error: the peer's device refused the address or the key: that "
                "memory is not registered there (any more)",
                "keep buffers allocated on every rank until the call has ended; else report it"},
    StatusWords{IBV_WC_REM_OP_ERR, ErrorCode::system,
                "remote operation error: the peer's device could not do it",
                "look at the peer's own error and its kernel's log (dmesg)"},
    StatusWords{
        IBV_WC_RETRY_EXC_ERR, ErrorCode::peer_lost,
        "retries exceeded: the peer's device acknowledged nothing",
        "see whether the peer's process and port work. Compare the GIDs of both ends "
        "(`rondo rdma`, RONDO_IB_GID_INDEX) and ping between them. On RoCE, see whether a "
        "firewall drops UDP port 4791. See whether the switches keep RoCE's traffic class free "
        "of loss (PFC or ECN, RONDO_IB_TC). On a congested network raise RONDO_IB_TIMEOUT"},
    StatusWords{IBV_WC_RNR_RETRY_EXC_ERR, ErrorCode::timeout,
                "receiver not ready: the peer had no buffer posted for too long",
                "see whether the peer's process is stopped or starved; else report it"},
    StatusWords{IBV_WC_LOC_RDD_VIOL_ERR, ErrorCode::system,
                "local reliable datagram domain violation", unused},
    StatusWords{IBV_WC_REM_INV_RD_REQ_ERR, ErrorCode::system,
                "remote invalid reliable datagram request", unused},
    StatusWords{IBV_WC_REM_ABORT_ERR, ErrorCode::peer_lost,
                "the peer's device aborted the operation",
                "look at the peer's own error and its kernel's log (dmesg)"},
    StatusWords{IBV_WC_INV_EECN_ERR, ErrorCode::system,
                "invalid end-to-end context number (reliable datagrams)", unused},
    StatusWords{IBV_WC_INV_EEC_STATE_ERR, ErrorCode::system,
                "invalid end-to-end context state (reliable datagrams)", unused},
    StatusWords{IBV_WC_FATAL_ERR, ErrorCode::system,
                "fatal error: the device or its driver is broken", kernel_log},
    StatusWords{IBV_WC_RESP_TIMEOUT_ERR, ErrorCode::peer_lost,
                "the peer's response did not come in time",
                "see whether the peer's process and port work; raise RONDO_IB_TIMEOUT"},
    StatusWords{IBV_WC_GENERAL_ERR, ErrorCode::system, "an error that the device does not describe",
                kernel_log},
    StatusWords{IBV_WC_TM_ERR, ErrorCode::system, "tag matching error", unused},
    StatusWords{IBV_WC_TM_RNDV_INCOMPLETE, ErrorCode::system,
                "tag matching left a rendezvous unfinished", unused},
};

struct EventWords {
  ibv_event_type event;
  Reach reach;
  std::string_view what;
  std::string_view remedy{};
  ErrorCode code = ErrorCode::system;
};

constexpr std::array event_words{
    EventWords{IBV_EVENT_CQ_ERR, Reach::queue, "a completion queue failed or was overrun", ours,
               ErrorCode::internal},
    EventWords{IBV_EVENT_QP_FATAL, Reach::queue, "a queue pair failed for good", kernel_log},
    EventWords{IBV_EVENT_QP_REQ_ERR, Reach::queue,
               "the peer sent a queue pair a request that is not valid", ours},
    EventWords{IBV_EVENT_QP_ACCESS_ERR, Reach::queue,
               "the peer sent a queue pair a request for memory that is not open to it", ours,
               ErrorCode::internal},
    EventWords{IBV_EVENT_COMM_EST, Reach::nobody, "a queue pair received its first packet"},
    EventWords{IBV_EVENT_SQ_DRAINED, Reach::nobody, "a send queue is drained"},
    EventWords{IBV_EVENT_PATH_MIG, Reach::warning, "a connection moved to its other path",
               "look at the network"},
    EventWords{IBV_EVENT_PATH_MIG_ERR, Reach::warning,
               "a connection could not move to its other path", "look at the network"},
    EventWords{IBV_EVENT_DEVICE_FATAL, Reach::device, "the device failed for good",
               "look at the kernel's log (dmesg); RONDO_IB_HCA=^<device> leaves it out"},
    EventWords{IBV_EVENT_PORT_ACTIVE, Reach::back, "the port became active", "nothing"},
    EventWords{IBV_EVENT_PORT_ERR, Reach::port, "the port went down", look_at_cable},
    EventWords{IBV_EVENT_LID_CHANGE, Reach::warning,
               "the subnet manager gave the port another LID: connections made before may fail",
               "leave the subnet manager alone while jobs run"},
    EventWords{IBV_EVENT_PKEY_CHANGE, Reach::warning,
               "the port's partition keys changed: connections made before may fail",
               "see that RONDO_IB_PKEY still names the right entry"},
    EventWords{IBV_EVENT_SM_CHANGE, Reach::nobody, "the subnet manager changed"},
    EventWords{IBV_EVENT_SRQ_ERR, Reach::queue, "a shared receive queue failed", ours,
               ErrorCode::internal},
    EventWords{IBV_EVENT_SRQ_LIMIT_REACHED, Reach::nobody, "a shared receive queue runs low"},
    EventWords{IBV_EVENT_QP_LAST_WQE_REACHED, Reach::nobody,
               "a queue pair took its last receive buffer"},
    EventWords{IBV_EVENT_CLIENT_REREGISTER, Reach::nobody,
               "the subnet manager asks for registrations anew"},
    EventWords{IBV_EVENT_GID_CHANGE, Reach::warning,
               "an address of the port was added or removed: connections from or to a removed "
               "one fail",
               "leave the network device's addresses alone while jobs run"},
    EventWords{IBV_EVENT_WQ_FATAL, Reach::queue, "a work queue failed for good", kernel_log},
};

Error make_error(const Words& words, const std::string& before, const std::string& after,
                 const Link& link) {
  const std::string place = to_text(link);
  return Error(words.code,
               before + std::string(words.what) + after + (place.empty() ? "" : " on " + place),
               {.rank = link.rank, .peer = link.peer, .remedy = std::string(words.remedy)});
}

std::string vendor_text(std::uint32_t vendor_error) {
  if (vendor_error == 0) return {};
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), " (vendor's code 0x%x)", vendor_error);
  return text.data();
}

std::string locked_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return "; this process may lock " + std::to_string(limit.rlim_cur >> 10) + " KiB";
}

Words words_of_call(int error) {
  switch (error) {
    case ENOMEM:
      return {ErrorCode::out_of_memory, "",
              "ulimit -l unlimited (--ulimit memlock=-1 for a container, LimitMEMLOCK=infinity "
              "for a service), or fewer ranks on this host"};
    case EACCES:
    case EPERM:
      return {ErrorCode::system, "", "be root or in the group that owns /dev/infiniband/uverbs*"};
    case EINVAL:
      return {
          ErrorCode::system, "",
          "`rondo rdma`: do RONDO_IB_GID_INDEX, RONDO_IB_PKEY and RONDO_IB_SL fit this port and "
          "the peer's?"};
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return {ErrorCode::peer_lost, "",
              "ping from GID to GID: nobody answers for the peer's address. RONDO_IB_GID_INDEX or "
              "RONDO_IB_HCA choose others"};
    case EOPNOTSUPP:
    case ENOSYS:
      return {ErrorCode::system, "", "another device by RONDO_IB_HCA: this one cannot do that"};
    case ENODEV:
    case EIO:
      return {ErrorCode::system, "", "look at the kernel's log (dmesg): the device went away"};
    default:
      return {ErrorCode::system, "", kernel_log};
  }
}

}  // namespace

std::string to_text(const Link& link) {
  std::string text = link.device;
  if (link.port > 0) text += " port " + std::to_string(link.port);
  if (!link.gid.empty()) text += (text.empty() ? "GID " : ", GID ") + link.gid;
  if (!link.peer_gid.empty()) text += (text.empty() ? "the path to " : ", to ") + link.peer_gid;
  return text;
}

Error completion_error(ibv_wc_status status, std::uint32_t vendor_error, std::string_view action,
                       const Link& link) {
  const std::string before = std::string(action) + " failed: ";
  const auto found = std::ranges::find(status_words, status, &StatusWords::status);
  if (found != status_words.end())
    return make_error({found->code, found->what, found->remedy}, before, vendor_text(vendor_error),
                      link);
  const std::string number = "unknown status " + std::to_string(static_cast<int>(status));
  return make_error({ErrorCode::system, number, kernel_log}, before, vendor_text(vendor_error),
                    link);
}

Error port_error(PortCondition condition, std::string_view action, const Link& link) {
  const Words down{ErrorCode::system, "the port is down", look_at_cable};
  const Words gone{ErrorCode::system, "the device is gone",
                   "look at the kernel's log (dmesg) for what removed it; RONDO_IB_HCA chooses "
                   "other devices"};
  const Words well{ErrorCode::internal, "a port that is well was taken for one that is not", ours};
  const Words& words = condition == PortCondition::down   ? down
                       : condition == PortCondition::gone ? gone
                                                          : well;
  return make_error(words, std::string(action) + " failed: ", "", link);
}

bool is_flush(ibv_wc_status status) { return status == IBV_WC_WR_FLUSH_ERR; }

EventReport event_report(ibv_event_type event, const Link& link) {
  const auto found = std::ranges::find(event_words, event, &EventWords::event);
  if (found != event_words.end())
    return {found->reach, make_error({found->code, found->what, found->remedy}, "", "", link)};
  const std::string number = "unknown event " + std::to_string(static_cast<int>(event));
  return {Reach::warning, make_error({ErrorCode::system, number, kernel_log}, "", "", link)};
}

bool concerns(const ibv_async_event& event, int port) {
  switch (event.event_type) {
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
      return event.element.port_num == port;
    default:
      return true;
  }
}

Error call_error(std::string_view action, int error, const Link& link) {
  const std::string text = std::string(action) +
                           " failed: " + std::generic_category().message(error) +
                           (error == ENOMEM ? locked_limit() : std::string());
  return make_error(words_of_call(error), text, "", link);
}

}  // namespace rondo::verbs
