#include "transports/verbs/library.h"

#include <dlfcn.h>

#include <system_error>
#include <utility>

#include "core/base/log.h"
#include "rondo/error.h"

namespace rondo::verbs {
namespace {

constexpr const char* soname = "libibverbs.so.1";

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
  result.table = Library(handle);
  const char* const missing = result.table.find.missing();
  result.usable = missing == nullptr;
  if (!result.usable) {
    result.obstacle =
        std::string(file) + " lacks " + missing + ": rondo needs rdma-core 32 or newer";
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

}  // namespace rondo::verbs
