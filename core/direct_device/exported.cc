#include "core/direct_device/exported.h"

#include <numeric>

#include "core/cuda/handles.h"
#include "core/transport/host.h"

namespace rondo::direct_device {

using cuda::check;
using cuda::driver;

Exported export_memory(cuda::Context context, cuda::DevicePointer address, bool shared) {
  Exported mine{.process = this_host({}).process,
                .context = reinterpret_cast<std::uintptr_t>(context),
                .address = address,
                .shared = shared};
  if (shared) check(driver().ipc_get_mem_handle(&mine.handle, address), "cuIpcGetMemHandle");
  return mine;
}

Exported export_segments(cuda::Context context, const std::vector<cuda::Range>& segments,
                         bool to_processes) {
  Exported mine = export_memory(context, segments.front().begin, false);
  for (const cuda::Range& each : segments) mine.segments.push_back(each.bytes);
  if (!to_processes) return mine;
  try {
    std::vector<UniqueFd> files;
    for (const cuda::Range& each : segments) files.push_back(cuda::share_segment(each));
    mine.serving = std::make_shared<DescriptorServer>(std::move(files));
    mine.server = mine.serving->name();
  } catch (const std::exception& error) {
    mine.refusal = error.what();
  }
  return mine;
}

Mapped::Mapped(const Exported& theirs, std::chrono::milliseconds patience)
    : address_(theirs.address) {
  if (theirs.process == this_host({}).process) {
    reach_in_process(theirs);
  } else {
    map(theirs, patience);
  }
}

void Mapped::reach_in_process(const Exported& theirs) {
  const auto context = reinterpret_cast<cuda::Context>(theirs.context);
  if (context == cuda::current_context()) return;
  if (!theirs.segments.empty()) {
    const auto& segments = theirs.segments;
    return cuda::open_segments(theirs.address,
                               std::accumulate(segments.begin(), segments.end(), std::size_t{0}));
  }
  cuda::reach(context);
}

void Mapped::map(const Exported& theirs, std::chrono::milliseconds patience) {
  if (!theirs.segments.empty()) {
    DescriptorClient client(theirs.server, patience);
    segments_.emplace(theirs.segments, [&] { return client.next(); });
    address_ = segments_->address();
    return;
  }
  check(driver().ipc_open_mem_handle(&address_, theirs.handle, cuda::ipc_lazy_peer_access),
        "cuIpcOpenMemHandle");
  opened_ = true;
}

Mapped::~Mapped() {
  if (opened_) driver().ipc_close_mem_handle(address_);
}

void Mapped::abandon() {
  opened_ = false;
  if (segments_) segments_->abandon();
}

}  // namespace rondo::direct_device
