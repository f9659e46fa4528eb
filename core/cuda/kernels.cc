#include "core/cuda/kernels.h"

#include <algorithm>
#include <string>

#include "core/cuda/modules.h"
#include "core/cuda/per_context.h"

namespace rondo::cuda {
namespace {

constexpr std::size_t vector_bytes = 16;

int processors() {
  int count = 0;
  check(driver().device_get_attribute(&count, attribute_multiprocessors, current_device()),
        "cuDeviceGetAttribute");
  return count;
}

/// Whether the current device has domains of memory synchronisation, as those of compute capability
/// 9.0 do with a driver of CUDA 12.
bool has_sync_domains() {
  return driver().launch_kernel_ex != nullptr &&
         device_attribute(attribute_sync_domains, current_device()).value_or(0) > 1;
}

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
      std::ranges::any_of(work.scales, [](const device::Scalar& scale) { return scale.used; });
  return work.sources == 1 && work.how.divisor == 1 && !scaled;
}

/// Small floats are worked on in float32 anyway.
std::size_t kernel_of(const Combination& how) {
  const bool in_double = how.type == DataType::float32 && how.accumulate == DataType::float64;
  return in_double ? device::float32_in_double : static_cast<std::size_t>(how.type);
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
    const device::Scalar& scale = work.scales[j];
    if (!scale.used) continue;
    pieces.scaled |= std::uint64_t{1} << j;
    if (scale.at != nullptr) pieces.scales_in_memory |= std::uint64_t{1} << j;
    pieces.scales[j] = scale.at != nullptr ? address_of(scale.at) : scale.bits;
  }
  return pieces;
}

}  // namespace

Kernel find_kernel(Module module, const char* name, unsigned threads) {
  Kernel kernel;
  int blocks = 0;
  check(driver().module_get_function(&kernel.function, module, name), "cuModuleGetFunction");
  check(driver().occupancy_blocks(&blocks, kernel.function, static_cast<int>(threads), 0),
        "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  kernel.blocks = static_cast<unsigned>(std::max(1, blocks * processors()));
  return kernel;
}

const Kernels& Kernels::of(Context context) {
  return PerContext::of<Kernels>(context,
                                 [] { return std::make_unique<const Kernels>(kernel_image()); });
}

Kernels::Kernels(const DeviceImage& image) {
  const Module module =
      load_module(image, "reductions of GPU buffers go through the host's memory");
  for (std::size_t i = 0; i < kernels_.size(); ++i)
    kernels_[i] = find_kernel(module, device::kernel_names[i], device::combine_threads);
}

void Kernels::run(const Work& work, Stream stream) const {
  check_work(work);
  if (work.count == 0 || work.pointers.empty()) return;
  const bool copies = is_copy(work);
  const Units units = copies ? units_of_copy(work) : Units{work.how.type, work.count};
  const Combination how = copies ? Combination{.type = units.type} : work.how;
  device::Pieces pieces = pieces_of(work, units);
  const std::size_t each = work.sources + work.targets;
  const std::size_t most = device::max_pointers / each * each;
  for (std::size_t first = 0; first < work.pointers.size(); first += most) {
    const std::size_t pointers = std::min(most, work.pointers.size() - first);
    std::copy_n(work.pointers.data() + first, pointers, pieces.pointers);
    launch(pieces, pointers / each, how, stream);
  }
}

/// As many blocks as have a vector for each thread, and no more than run at once: they go through
/// their elements in strides.
void Kernels::launch(const device::Pieces& pieces, std::size_t count, const Combination& how,
                     Stream stream) const {
  const Kernel& kernel = kernels_[kernel_of(how)];
  const std::size_t each_block = device::combine_threads * (vector_bytes / size_of(how.type));
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

const ResidentKernels& ResidentKernels::of(Context context) {
  return PerContext::of<ResidentKernels>(context,
                                         [] { return std::make_unique<const ResidentKernels>(); });
}

ResidentKernels::ResidentKernels() {
  const Module module = load_module(resident_image(), "calls between GPUs go by copies");
  small_ = find_kernel(module, device::small_kernel, device::resident_threads);
  program_ = find_kernel(module, device::program_kernel, device::resident_threads);
  in_own_domain_ = has_sync_domains();
}

void ResidentKernels::launch(const device::SmallCall& call, Stream stream) const {
  launch_blocks(small_.function, &call, call.stripes, stream);
}

void ResidentKernels::launch(const device::RankContext& call, unsigned blocks,
                             Stream stream) const {
  launch_blocks(program_.function, &call, blocks, stream);
}

/// The driver copies the arguments. In a domain of their own the kernels' fences do not wait for the
/// writes of kernels that compute meanwhile. All their flags are system-scope, as domains ask for.
void ResidentKernels::launch_blocks(Function function, const void* call, unsigned blocks,
                                    Stream stream) const {
  std::array<void*, 1> arguments{const_cast<void*>(call)};
  if (!in_own_domain_) {
    return check(driver().launch_kernel(function, blocks, 1, 1, device::resident_threads, 1, 1, 0,
                                        stream, arguments.data(), nullptr),
                 "cuLaunchKernel");
  }
  LaunchAttribute domain{.name = launch_sync_domain, .value = remote_sync_domain};
  const LaunchShape shape{.blocks = {blocks, 1, 1},
                          .threads = {device::resident_threads, 1, 1},
                          .stream = stream,
                          .attributes = &domain,
                          .attribute_count = 1};
  check(driver().launch_kernel_ex(&shape, function, arguments.data(), nullptr), "cuLaunchKernelEx");
}

}  // namespace rondo::cuda
