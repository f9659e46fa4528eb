// libibverbs, loaded at run time: rondo is not linked with it, so one build runs with and without.
//
// How to call it: functions that infiniband/verbs.h only declares are called through the table,
// `library().create_qp(...)`. Its inline functions that go straight to the provider
// (ibv_post_send, ibv_post_recv, ibv_poll_cq, ibv_req_notify_cq, ibv_create_cq_ex, ibv_wr_*) are
// called as they are. Inline functions and macros that fall back to an exported one do not link and
// must not be used: ibv_reg_mr, ibv_query_port, ibv_query_gid_ex, ibv_create_qp_ex,
// ibv_get_device_list. Their counterparts are here.
//
// Only sources that are built when the headers are there include this one.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/base/symbols.h"
#include "transports/verbs/devices.h"

namespace rondo::verbs {

/// The exported functions that rondo uses, under their names without "ibv_". All are set, but for
/// those that say so. Immutable, so thread-safe; the verbs themselves are.
struct Library {
  /// `library`: as dlopen() returned it; null: a table without functions.
  explicit Library(void* library = nullptr) : find(library) {}
  Symbols find;

  decltype(&::ibv_get_device_list) get_device_list = find("ibv_get_device_list");
  decltype(&::ibv_free_device_list) free_device_list = find("ibv_free_device_list");
  decltype(&::ibv_get_device_name) get_device_name = find("ibv_get_device_name");
  decltype(&::ibv_get_device_guid) get_device_guid =
      find("ibv_get_device_guid");  ///< network order
  decltype(&::ibv_open_device) open_device = find("ibv_open_device");
  decltype(&::ibv_close_device) close_device = find("ibv_close_device");
  decltype(&::ibv_query_device) query_device = find("ibv_query_device");
  decltype(&::ibv_query_port) query_port_compat =
      find("ibv_query_port");  ///< see query_port() below
  decltype(&::_ibv_query_gid_table) query_gid_table = find("_ibv_query_gid_table");
  decltype(&::ibv_alloc_pd) alloc_pd = find("ibv_alloc_pd");
  decltype(&::ibv_dealloc_pd) dealloc_pd = find("ibv_dealloc_pd");
  decltype(&::ibv_reg_mr) reg_mr =
      find("ibv_reg_mr");  ///< no optional access flags; see register_memory()
  decltype(&::ibv_reg_mr_iova2) reg_mr_iova2 =
      find("ibv_reg_mr_iova2");  ///< with optional access flags
  decltype(&::ibv_dereg_mr) dereg_mr = find("ibv_dereg_mr");
  decltype(&::ibv_create_comp_channel) create_comp_channel = find("ibv_create_comp_channel");
  decltype(&::ibv_destroy_comp_channel) destroy_comp_channel = find("ibv_destroy_comp_channel");
  decltype(&::ibv_create_cq) create_cq = find("ibv_create_cq");
  decltype(&::ibv_destroy_cq) destroy_cq = find("ibv_destroy_cq");
  decltype(&::ibv_get_cq_event) get_cq_event = find("ibv_get_cq_event");
  decltype(&::ibv_ack_cq_events) ack_cq_events = find("ibv_ack_cq_events");
  decltype(&::ibv_create_qp) create_qp = find("ibv_create_qp");
  decltype(&::ibv_modify_qp) modify_qp = find("ibv_modify_qp");
  decltype(&::ibv_destroy_qp) destroy_qp = find("ibv_destroy_qp");
  decltype(&::ibv_get_async_event) get_async_event = find("ibv_get_async_event");
  decltype(&::ibv_ack_async_event) ack_async_event = find("ibv_ack_async_event");
};

/// The library, or why there is none. Value type.
struct Loaded {
  bool usable = false;
  Library table{};
  std::string obstacle{};  ///< "libibverbs.so.1 cannot be loaded: ...", "... lacks ibv_..."
};

/// Loads `file` and fills the table; for tests, with names of files that are not there. Never
/// unloads: providers leave threads and handlers behind.
Loaded load(const char* file);

/// libibverbs.so.1, loaded at the first call and kept to the end of the process; never changes
/// after that. Thread-safe.
const Loaded& loaded();
/// The same where it must be there (a context is open). Throws Error{configuration} if it is not.
const Library& library();

/// ibv_query_port() with every field, as the header's inline function does it. 0 or an errno.
int query_port(const Library& table, ibv_context* context, int port, ibv_port_attr& attributes);

/// Handles. Each deleter goes through library() and never throws: what cannot be destroyed (EBUSY:
/// something made from it still lives) is logged as an internal error. Members of
/// a class stand in this order, so that they go in the reverse: context, domain, channel,
/// completion queue, memory regions, queue pairs.
struct FreeProtectionDomain {
  void operator()(ibv_pd* domain) const noexcept;
};
struct DestroyCompletionChannel {
  void operator()(ibv_comp_channel* channel) const noexcept;
};
struct DestroyCompletionQueue {
  void operator()(ibv_cq* queue) const noexcept;  ///< acknowledge all its events before
};
struct DestroyQueuePair {
  void operator()(ibv_qp* pair) const noexcept;
};
struct DeregisterMemory {
  void operator()(ibv_mr* region) const noexcept;
};
using ProtectionDomain = std::unique_ptr<ibv_pd, FreeProtectionDomain>;
using CompletionChannel = std::unique_ptr<ibv_comp_channel, DestroyCompletionChannel>;
using CompletionQueue = std::unique_ptr<ibv_cq, DestroyCompletionQueue>;
using QueuePair = std::unique_ptr<ibv_qp, DestroyQueuePair>;
using MemoryRegion = std::unique_ptr<ibv_mr, DeregisterMemory>;

/// ibv_reg_mr(), optional access flags (IBV_ACCESS_RELAXED_ORDERING) included. Null with errno set
/// where it fails; call_error() in port_errors.h makes words of it.
MemoryRegion register_memory(ibv_pd* domain, void* address, std::size_t bytes, int access);
MemoryRegion register_memory(const Library& table, ibv_pd* domain, void* address, std::size_t bytes,
                             int access);

}  // namespace rondo::verbs
