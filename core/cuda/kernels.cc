#include "core/cuda/kernels.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/cuda/handles.h"
#include "kernels/cuda/image.h"

namespace rondo::cuda {
namespace {

constexpr std::size_t vector_bytes = 16;

[[noreturn]] void reject(const std::string& what, const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument, what, {.remedy = remedy});
}

void check_work(const Work& work) {
  const std::size_t each = work.sources + work.targets;
  const auto in_range = [](std::size_t number) {
    return number >= 1 && number <= Kernels::max_sources;
  };
  if (!in_range(work.sources) || !in_range(work.targets) || work.pointers.size() % each != 0 ||
      (!work.scales.empty() && work.scales.size() != work.sources) || work.how.divisor == 0) {
    reject("no kernel combines " + std::to_string(work.sources) + " sources into " +
               std::to_string(work.targets) + " targets with " +
               std::to_string(work.pointers.size()) + " pointers, " +
               std::to_string(work.scales.size()) + " scalars and divisor " +
               std::to_string(work.how.divisor),
           "1 to 64 of each, pointers for whole pieces, and a divisor above 0");
  }
  for (const DevicePointer pointer : work.pointers) {
    if (pointer % size_of(work.how.type) == 0) continue;
    reject(
        "a device pointer is not aligned to its " + std::string(name(work.how.type)) + " elements",
        "align device buffers to the element size, best to 16 bytes");
  }
}

/// Copies move bits, whatever they mean: by the widest integers that all pointers are aligned to.
struct Units {
  DataType type;
  std::size_t count;
};

Units units_of_copy(const Work& work) {
  const std::size_t bytes = work.count * size_of(work.how.type);
  std::uint64_t together = bytes;
  for (const DevicePointer pointer : work.pointers) together |= pointer;
  for (const std::size_t width : {8, 4, 2}) {
    if (together % width == 0) return {device::copying_type(width), bytes / width};
  }
  return {DataType::uint8, bytes};
}

bool is_copy(const Work& work) {
  const bool scaled =
      std::ranges::any_of(work.scales, [](const Scale& scale) { return scale.used; });
  return work.sources == 1 && work.how.divisor == 1 && !scaled;
}

/// All but the pointers.
device::Pieces pieces_of(const Work& work, const Units& units) {
  const bool divides = work.how.divisor != 1;
  device::Pieces pieces{};
  pieces.count = units.count;
  pieces.factor = divides ? 1.0 / static_cast<double>(work.how.divisor) : 1.0;
  pieces.divisor = work.how.divisor;
  pieces.sources = static_cast<std::uint32_t>(work.sources);
  pieces.targets = static_cast<std::uint32_t>(work.targets);
  pieces.op = work.how.op;
  for (std::size_t j = 0; j < work.scales.size(); ++j) {
    const Scale& scale = work.scales[j];
    if (!scale.used) continue;
    pieces.scaled |= std::uint64_t{1} << j;
    if (scale.at != 0) pieces.scales_in_memory |= std::uint64_t{1} << j;
    pieces.scales[j] = scale.at != 0 ? scale.at : scale.bits;
  }
  return pieces;
}

int processors() {
  int device = 0;
  int count = 0;
  check(driver().ctx_get_device(&device), "cuCtxGetDevice");
  check(driver().device_get_attribute(&count, attribute_multiprocessors, device),
        "cuDeviceGetAttribute");
  return count;
}

/// Global, as contexts are; never destroyed: graphs hold kernels for as long as they like.
struct Loaded {
  std::mutex mutex{};
  std::map<Context, std::unique_ptr<const Kernels>> by_context{};  ///< under mutex
};

Loaded& loaded() {
  static Loaded& loaded = *std::make_unique<Loaded>().release();
  return loaded;
}

}  // namespace

const Kernels& Kernels::of(Context context) {
  Loaded& all = loaded();
  const std::scoped_lock lock(all.mutex);
  auto& kernels = all.by_context[context];
  if (kernels == nullptr) {
    const RelaxedCapture relaxed;
    const CurrentContext current(context);
    kernels = std::make_unique<const Kernels>(kernel_image());
  }
  return *kernels;
}

Kernels::Kernels(std::span<const std::byte> image) {
  if (image.empty()) {
    throw Error(ErrorCode::invalid_usage, "this rondo has no device kernels",
                {.remedy = "build it where nvcc is found"});
  }
  Module module = nullptr;  // stays as long as the context
  check(driver().module_load_data(&module, image.data()), "cuModuleLoadData");
  const int each = processors();
  for (std::size_t type = 0; type < by_type_.size(); ++type) {
    Kernel& kernel = by_type_[type];
    int blocks = 0;
    check(driver().module_get_function(&kernel.function, module, device::kernel_names[type]),
          "cuModuleGetFunction");
    check(driver().occupancy_blocks(&blocks, kernel.function, device::combine_threads, 0),
          "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    kernel.blocks = static_cast<unsigned>(std::max(1, blocks * each));
  }
}

void Kernels::run(const Work& work, Stream stream) const {
  check_work(work);
  if (work.count == 0 || work.pointers.empty()) return;
  const Units units = is_copy(work) ? units_of_copy(work) : Units{work.how.type, work.count};
  device::Pieces pieces = pieces_of(work, units);
  const std::size_t each = work.sources + work.targets;
  const std::size_t most = device::max_pointers / each * each;
  for (std::size_t first = 0; first < work.pointers.size(); first += most) {
    const std::size_t pointers = std::min(most, work.pointers.size() - first);
    std::copy_n(work.pointers.data() + first, pointers, pieces.pointers);
    launch(pieces, pointers / each, units.type, stream);
  }
}

/// As many blocks as have a vector for each thread, and no more than run at once: they go through
/// their elements in strides.
void Kernels::launch(const device::Pieces& pieces, std::size_t count, DataType type,
                     Stream stream) const {
  const Kernel& kernel = by_type_[static_cast<std::size_t>(type)];
  const std::size_t each_block = device::combine_threads * (vector_bytes / size_of(type));
  const std::size_t wanted = (pieces.count + each_block - 1) / each_block;
  const std::size_t most = std::max<std::size_t>(1, kernel.blocks / count);
  device::Pieces arguments = pieces;
  std::array<void*, 1> list{&arguments};
  check(driver().launch_kernel(kernel.function, static_cast<unsigned>(std::min(wanted, most)),
                               static_cast<unsigned>(count), 1, device::combine_threads, 1, 1, 0,
                               stream, list.data(), nullptr),
        "cuLaunchKernel");
}

void Kernels::combine(const Combination& how, DevicePointer target,
                      std::span<const DevicePointer> sources, std::size_t count,
                      Stream stream) const {
  Work work{.how = how, .count = count, .sources = sources.size()};
  work.pointers.assign(sources.begin(), sources.end());
  work.pointers.push_back(target);
  run(work, stream);
}

void Kernels::copy(std::span<const DevicePointer> targets, DevicePointer source, std::size_t bytes,
                   Stream stream) const {
  Work work{.how = {.type = DataType::uint8}, .count = bytes, .targets = targets.size()};
  work.pointers.push_back(source);
  work.pointers.insert(work.pointers.end(), targets.begin(), targets.end());
  run(work, stream);
}

}  // namespace rondo::cuda
