#include "transports/verbs/library.h"

#include <dlfcn.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "core/base/log.h"
#include "rondo/error.h"

namespace rondo::verbs {
namespace {

constexpr const char* soname = "libibverbs.so.1";

/// Looks symbols up; remembers the first that is missing.
class Symbols {
 public:
  explicit Symbols(void* handle) : handle_(handle) {}

  /// The symbol's default version: for libibverbs the newest of its ABI 1.
  template <class Function>
  void want(const char* name, Function& into) const {
    into = reinterpret_cast<Function>(::dlsym(handle_, name));
  }
  template <class Function>
  void need(const char* name, Function& into) {
    want(name, into);
    if (into == nullptr && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* handle_;
  std::string missing_;
};

void find_devices(Symbols& symbols, Library& table) {
  symbols.need("ibv_get_device_list", table.get_device_list);
  symbols.need("ibv_free_device_list", table.free_device_list);
  symbols.need("ibv_get_device_name", table.get_device_name);
  symbols.need("ibv_get_device_guid", table.get_device_guid);
  symbols.need("ibv_open_device", table.open_device);
  symbols.need("ibv_close_device", table.close_device);
  symbols.need("ibv_query_device", table.query_device);
  symbols.need("ibv_query_port", table.query_port_compat);
  symbols.need("_ibv_query_gid_table", table.query_gid_table);
  symbols.need("ibv_query_pkey", table.query_pkey);
  symbols.need("ibv_get_async_event", table.get_async_event);
  symbols.need("ibv_ack_async_event", table.ack_async_event);
}

void find_memory(Symbols& symbols, Library& table) {
  symbols.need("ibv_alloc_pd", table.alloc_pd);
  symbols.need("ibv_dealloc_pd", table.dealloc_pd);
  symbols.need("ibv_reg_mr", table.reg_mr);
  symbols.need("ibv_reg_mr_iova2", table.reg_mr_iova2);
  symbols.want("ibv_reg_dmabuf_mr", table.reg_dmabuf_mr);
  symbols.need("ibv_dereg_mr", table.dereg_mr);
}

void find_queues(Symbols& symbols, Library& table) {
  symbols.need("ibv_create_comp_channel", table.create_comp_channel);
  symbols.need("ibv_destroy_comp_channel", table.destroy_comp_channel);
  symbols.need("ibv_create_cq", table.create_cq);
  symbols.need("ibv_destroy_cq", table.destroy_cq);
  symbols.need("ibv_get_cq_event", table.get_cq_event);
  symbols.need("ibv_ack_cq_events", table.ack_cq_events);
  symbols.need("ibv_create_srq", table.create_srq);
  symbols.need("ibv_modify_srq", table.modify_srq);
  symbols.need("ibv_destroy_srq", table.destroy_srq);
  symbols.need("ibv_create_qp", table.create_qp);
  symbols.need("ibv_modify_qp", table.modify_qp);
  symbols.need("ibv_query_qp", table.query_qp);
  symbols.need("ibv_destroy_qp", table.destroy_qp);
}

/// Destructors cannot throw, and logging may not either.
void report(const char* what, int error) noexcept {
  if (error == 0) return;
  try {
    log(LogLevel::warn, -1,
        std::string("verbs: ") + what + " failed: " + std::generic_category().message(error) +
            "; a bug in rondo, or a device that went away");
  } catch (...) {  // out of memory: the failure itself leaves only a leak
    return;
  }
}

}  // namespace

Loaded load(const char* file) {
  Loaded result;
  // NODELETE: providers leave threads and fork handlers behind. NOW: what is missing shows here.
  void* const handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* const why = ::dlerror();
    result.obstacle = std::string("libibverbs cannot be loaded (") +
                      (why == nullptr ? "no reason given" : why) + ")";
    return result;
  }
  Symbols symbols(handle);
  find_devices(symbols, result.table);
  find_memory(symbols, result.table);
  find_queues(symbols, result.table);
  result.usable = symbols.missing().empty();
  if (!result.usable) {
    result.obstacle =
        std::string(file) + " lacks " + symbols.missing() + ": rondo needs rdma-core 32 or newer";
  }
  return result;
}

const Loaded& loaded() {
  static const Loaded the_library = load(soname);
  return the_library;
}

const Library& library() {
  if (!loaded().usable) {
    throw Error(ErrorCode::configuration, loaded().obstacle,
                {.remedy = "apt install libibverbs1 ibverbs-providers"});
  }
  return loaded().table;
}

int query_port(const Library& table, ibv_context* context, int port, ibv_port_attr& attributes) {
  attributes = {};
  const auto number = static_cast<std::uint8_t>(port);
  const verbs_context* const extended = verbs_get_ctx(context);
  // sz says how much of verbs_context the library knows, counted from its end.
  if (extended != nullptr &&
      extended->sz >= sizeof(*extended) - offsetof(verbs_context, query_port) &&
      extended->query_port != nullptr) {
    return extended->query_port(context, number, &attributes, sizeof(attributes));
  }
  // _compat_ibv_port_attr, which no header defines, is the beginning of ibv_port_attr.
  return table.query_port_compat(context, number,
                                 reinterpret_cast<_compat_ibv_port_attr*>(&attributes));
}

void FreeProtectionDomain::operator()(ibv_pd* domain) const noexcept {
  report("freeing a protection domain", loaded().table.dealloc_pd(domain));
}
void DestroyCompletionChannel::operator()(ibv_comp_channel* channel) const noexcept {
  report("destroying a completion channel", loaded().table.destroy_comp_channel(channel));
}
void DestroyCompletionQueue::operator()(ibv_cq* queue) const noexcept {
  report("destroying a completion queue", loaded().table.destroy_cq(queue));
}
void DestroySharedReceiveQueue::operator()(ibv_srq* queue) const noexcept {
  report("destroying a shared receive queue", loaded().table.destroy_srq(queue));
}
void DestroyQueuePair::operator()(ibv_qp* pair) const noexcept {
  report("destroying a queue pair", loaded().table.destroy_qp(pair));
}
void DeregisterMemory::operator()(ibv_mr* region) const noexcept {
  report("deregistering memory", loaded().table.dereg_mr(region));
}

MemoryRegion register_memory(ibv_pd* domain, void* address, std::size_t bytes, int access) {
  return register_memory(library(), domain, address, bytes, access);
}

MemoryRegion register_memory(const Library& table, ibv_pd* domain, void* address, std::size_t bytes,
                             int access) {
  const auto flags = static_cast<unsigned>(access);
  if ((flags & IBV_ACCESS_OPTIONAL_RANGE) == 0)
    return MemoryRegion(table.reg_mr(domain, address, bytes, access));
  // Its own address as the remote one. The library leaves out what the device cannot do.
  const auto iova = reinterpret_cast<std::uintptr_t>(address);
  return MemoryRegion(table.reg_mr_iova2(domain, address, bytes, iova, flags));
}

MemoryRegion register_dmabuf(const Library& table, ibv_pd* domain, const DmaBuffer& buffer,
                             int access) {
  errno = EOPNOTSUPP;
  if (table.reg_dmabuf_mr == nullptr) return nullptr;
  return MemoryRegion(table.reg_dmabuf_mr(domain, buffer.offset, buffer.bytes, buffer.address,
                                          buffer.descriptor, access));
}

std::string why_no_dmabuf(const Library& table, ibv_pd* domain) {
  if (table.reg_dmabuf_mr == nullptr) return "libibverbs lacks it: rdma-core 34 or newer has it";
  constexpr int none = -1;
  const MemoryRegion region =
      register_dmabuf(table, domain, {.descriptor = none, .bytes = 4096}, IBV_ACCESS_LOCAL_WRITE);
  if (region || errno == EBADF) return {};
  return "the driver refuses (" + std::generic_category().message(errno) + ")";
}

}  // namespace rondo::verbs
