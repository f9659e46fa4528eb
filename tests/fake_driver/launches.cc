// Modules and kernels. A kernel is a function of the host, found by the kernel's name in an
// explicit table: the same source as the device's (kernels/device), run thread by thread, the last
// one first.
#include <algorithm>
#include <array>
#include <map>

#include "kernels/device/pieces.h"
#include "tests/fake_driver/state.h"
#include "tests/fake_driver/train_kernels.h"

namespace rondo::test {
namespace {

using device::Pieces;

constexpr int not_found = 500;
constexpr int invalid_handle = 400;

/// A launch's shape.
struct Grid {
  std::size_t threads = 0;  ///< that share a piece
  std::uint32_t pieces = 0;
};

using Run = void (*)(const Pieces& pieces, const Grid& grid);

template <DataType type>
void combine(const Pieces& pieces, const Grid& grid) {
  for (std::uint32_t piece = grid.pieces; piece-- > 0;) {
    const device::PieceRun<device::Element<type>> run(pieces, piece);
    for (std::size_t thread = grid.threads; thread-- > 0;) run.run({thread, grid.threads});
  }
}

/// By DataType, as device::kernel_names.
constexpr std::array<Run, data_types.size()> runs{
    combine<DataType::int8>,        combine<DataType::uint8>,       combine<DataType::int16>,
    combine<DataType::uint16>,      combine<DataType::int32>,       combine<DataType::uint32>,
    combine<DataType::int64>,       combine<DataType::uint64>,      combine<DataType::float16>,
    combine<DataType::bfloat16>,    combine<DataType::float32>,     combine<DataType::float64>,
    combine<DataType::float8_e4m3>, combine<DataType::float8_e5m2>,
};

/// Whether kernels of a device reach it: its own memory, page-locked, or a peer's.
bool is_open(std::uint64_t pointer, int device) {
  const int owner = device_number(pointer);
  if (owner < 0 || owner == device) return true;
  const std::scoped_lock lock(state().mutex);
  return state().peers.contains({device, owner});
}

/// The address where the fake reaches `bytes` bytes, in place of the device's; false: nowhere.
bool translate(std::uint64_t& pointer, std::size_t bytes, int device) {
  if (pointer == 0) return true;  // a target that is left out
  const std::byte* const own = is_open(pointer, device) ? reachable(pointer, bytes) : nullptr;
  pointer = cuda::address_of(own);
  return own != nullptr;
}

bool translate(Pieces& pieces, std::size_t element_bytes, std::uint32_t count, int device) {
  const std::size_t pointers = std::size_t{count} * (pieces.sources + pieces.targets);
  const std::size_t bytes = pieces.count * element_bytes;
  const auto there = [&](std::uint64_t& pointer) { return translate(pointer, bytes, device); };
  if (!std::all_of(pieces.pointers, pieces.pointers + pointers, there)) return false;
  for (std::size_t j = 0; j < pieces.sources; ++j) {
    const bool in_memory = (pieces.scales_in_memory >> j & 1) != 0;
    if (in_memory && !translate(pieces.scales[j], element_bytes, device)) return false;
  }
  return true;
}

}  // namespace
}  // namespace rondo::test

struct CUfunc_st {
  rondo::cuda::Context context = nullptr;
  std::size_t type = 0;
  int train_kernel = -1;  ///< of the trainer's; negative: none of them
};

struct CUmod_st {
  std::array<CUfunc_st, rondo::data_types.size()> functions{};
  std::map<int, CUfunc_st> train_functions{};  ///< by their kernels' numbers, once asked for
  rondo::cuda::Context context = nullptr;
};

using namespace rondo::test;
using rondo::cuda::Function;
using rondo::cuda::Module;
using rondo::cuda::success;

extern "C" {

int cuModuleLoadData(Module* module, const void* image) {
  if (const int status = enter_unsafe("cuModuleLoadData")) return status;
  if (image == nullptr) return invalid_value;
  rondo::cuda::Context context = nullptr;
  if (const int status = cuCtxGetCurrent(&context)) return status;
  if (context == nullptr) return rondo::cuda::invalid_context;
  auto made = std::make_shared<CUmod_st>();
  for (std::size_t type = 0; type < made->functions.size(); ++type)
    made->functions[type] = {context, type};
  made->context = context;
  *module = made.get();
  const std::scoped_lock lock(state().mutex);
  state().modules.push_back(std::move(made));
  return success;
}

int cuModuleGetFunction(Function* function, Module module, const char* name) {
  if (const int status = enter("cuModuleGetFunction")) return status;
  const auto& names = rondo::device::kernel_names;
  const auto found = std::ranges::find(names, std::string(name));
  if (const int kernel = train_kernel(name); kernel >= 0) {
    const std::scoped_lock lock(state().mutex);
    *function = &module->train_functions.try_emplace(kernel, CUfunc_st{module->context, 0, kernel})
                     .first->second;
    return success;
  }
  if (found == names.end()) return not_found;
  *function = &module->functions[static_cast<std::size_t>(found - names.begin())];
  return success;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function /*function*/, int /*threads*/,
                                                std::size_t /*shared_bytes*/) {
  if (const int status = enter("cuOccupancyMaxActiveBlocksPerMultiprocessor")) return status;
  *blocks = 2;
  return success;
}

int cuLaunchKernel(Function function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                   unsigned threads_x, unsigned threads_y, unsigned threads_z,
                   unsigned shared_bytes, rondo::cuda::Stream stream, void** arguments,
                   void** extra) {
  std::unique_lock<std::mutex> entry;
  if (const int status = enter_stream("cuLaunchKernel", stream, entry)) return status;
  const unsigned threads = threads_x * threads_y * threads_z;
  if (blocks_x * blocks_y * blocks_z * threads == 0 || threads > 1024) return invalid_value;
  if (blocks_z != 1 || threads != threads_x || shared_bytes != 0 || extra != nullptr)
    return invalid_value;
  if (function->train_kernel >= 0) {
    const Work work = train_work(function->train_kernel, arguments[0], blocks_x * threads);
    if (!work) return invalid_value;
    const std::scoped_lock lock(state().mutex);
    const rondo::cuda::Stream real = resolve(stream);
    if (real == nullptr || real->context != function->context) return invalid_handle;
    put(real, [work](Launch&) { return work; });
    return success;
  }
  auto pieces = std::make_shared<Pieces>(*static_cast<const Pieces*>(arguments[0]));
  const std::size_t element_bytes = rondo::data_types[function->type].bytes;
  if (!translate(*pieces, element_bytes, blocks_y, function->context->device)) return invalid_value;
  const Grid grid{std::size_t{blocks_x} * threads, blocks_y};
  const std::scoped_lock lock(state().mutex);
  const rondo::cuda::Stream real = resolve(stream);
  if (real == nullptr || real->context != function->context) return invalid_handle;
  put(real, [=](Launch&) -> Work {
    return [=] {
      ++state().launches;
      runs[function->type](*pieces, grid);
    };
  });
  return success;
}

int fake_launches() { return state().launches; }
}
