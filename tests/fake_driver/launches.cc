// Modules and kernels. A kernel is a function of the host, found by the kernel's name in an
// explicit table. It is the same source as the device's (kernels/device), run thread by thread, the
// last one first.
#include <algorithm>
#include <array>
#include <map>

#include "kernels/device/pieces.h"
#include "tests/fake_driver/accesses.h"
#include "tests/fake_driver/clock.h"
#include "tests/fake_driver/resident_kernels.h"
#include "tests/fake_driver/state.h"
#include "tests/fake_driver/train_kernels.h"

namespace rondo::test {
namespace {

using device::Pieces;

constexpr int not_found = 500;
constexpr int invalid_handle = 400;

/// A launch's shape.
struct Grid {
  std::size_t threads = 0;  ///< how many share a piece
  std::uint32_t pieces = 0;
};

using Run = void (*)(const Pieces& pieces, const Grid& grid);

template <class E>
void combine_as(const Pieces& pieces, const Grid& grid) {
  for (std::uint32_t piece = grid.pieces; piece-- > 0;) {
    const device::PieceRun<E> run(pieces, piece);
    for (std::size_t thread = grid.threads; thread-- > 0;) run.run({thread, grid.threads});
  }
}

template <DataType type>
void combine(const Pieces& pieces, const Grid& grid) {
  combine_as<device::Element<type>>(pieces, grid);
}

/// In the order of device::kernel_names.
constexpr std::array<Run, device::kernel_names.size()> runs{
    combine<DataType::int8>,
    combine<DataType::uint8>,
    combine<DataType::int16>,
    combine<DataType::uint16>,
    combine<DataType::int32>,
    combine<DataType::uint32>,
    combine<DataType::int64>,
    combine<DataType::uint64>,
    combine<DataType::float16>,
    combine<DataType::bfloat16>,
    combine<DataType::float32>,
    combine<DataType::float64>,
    combine<DataType::float8_e4m3>,
    combine<DataType::float8_e5m2>,
    combine_as<device::Float32InDouble>,
};

/// The bytes of an element that the kernel combines.
std::size_t bytes_of_kernel(std::size_t kernel) {
  return kernel == device::float32_in_double ? sizeof(float) : data_types[kernel].bytes;
}

bool translate_all(Pieces& pieces, std::size_t element_bytes, std::uint32_t count, int device) {
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

/// Whether the kernel's threads can access whole elements everywhere.
bool is_aligned(const Pieces& pieces, std::size_t element_bytes, std::uint32_t count) {
  const std::size_t pointers = std::size_t{count} * (pieces.sources + pieces.targets);
  return std::all_of(pieces.pointers, pieces.pointers + pointers,
                     [&](std::uint64_t pointer) { return pointer % element_bytes == 0; });
}

std::vector<Touched> touched_by(const Pieces& pieces, std::size_t element_bytes,
                                std::uint32_t count) {
  std::vector<Touched> all;
  const std::size_t of_piece = pieces.sources + pieces.targets;
  for (std::size_t i = 0; i < count * of_piece; ++i) {
    const auto* const begin = reinterpret_cast<const std::byte*>(pieces.pointers[i]);
    if (begin == nullptr) continue;
    all.push_back({begin, pieces.count * element_bytes, i % of_piece >= pieces.sources});
  }
  return all;
}

}  // namespace

bool is_open(cuda::DevicePointer pointer, int device) {
  if (const std::optional<bool> open = segment_is_open(pointer, device)) return *open;
  const int owner = device_number(pointer);
  if (owner < 0 || owner == device) return true;
  const std::scoped_lock lock(state().mutex);
  return state().peers.contains({device, owner});
}

bool translate(std::uint64_t& pointer, std::size_t bytes, int device) {
  if (pointer == 0) return true;  // a target that is left out
  const std::byte* const own =
      is_open(pointer, device) ? reachable_by_device(pointer, bytes) : nullptr;
  pointer = cuda::address_of(own);
  return own != nullptr;
}

}  // namespace rondo::test

struct CUfunc_st {
  rondo::cuda::Context context = nullptr;
  unsigned long long context_number = 0;  ///< the function is dead once there is another
  std::size_t combining = 0;              ///< place among device::kernel_names; past them: none
  int train_kernel = -1;                  ///< number among the trainer's; negative: none
  int resident_kernel = -1;               ///< among those that wait for others; negative: none
};

struct CUmod_st {
  std::map<std::string, CUfunc_st>
      functions{};     ///< by name, once asked for; under the driver's mutex
  CUfunc_st origin{};  ///< what all of them begin as
};

using namespace rondo::test;
using rondo::cuda::Function;
using rondo::cuda::Module;
using rondo::cuda::success;

namespace {

/// `work`: empty where a launch's arguments are wrong.
int put_kernel(rondo::cuda::Stream stream, const CUfunc_st& function, const Work& work) {
  if (!work) return invalid_value;
  const std::scoped_lock lock(state().mutex);
  const rondo::cuda::Stream real = resolve(stream);
  if (real == nullptr || real->context != function.context) return invalid_handle;
  const auto number = function.context->number.load(std::memory_order_relaxed);
  if (number != function.context_number) return invalid_handle;
  put(real, [work](Launch&) { return work; });
  return success;
}

}  // namespace

extern "C" {

int cuModuleLoadData(Module* module, const void* image) {
  if (const int status = enter_unsafe("cuModuleLoadData")) return status;
  if (image == nullptr) return invalid_value;
  rondo::cuda::Context context = nullptr;
  if (const int status = cuCtxGetCurrent(&context)) return status;
  if (context == nullptr) return rondo::cuda::invalid_context;
  const Verdict verdict = judge_image(image);
  if (verdict.status != success) return verdict.status;
  auto made = std::make_shared<CUmod_st>();
  made->origin = {context, context->number.load(std::memory_order_relaxed)};
  *module = made.get();
  const std::scoped_lock lock(state().mutex);
  state().modules.push_back(std::move(made));
  state().newest_form = verdict.form;
  return success;
}

int cuModuleGetFunction(Function* function, Module module, const char* name) {
  if (const int status = enter("cuModuleGetFunction")) return status;
  const auto& names = rondo::device::kernel_names;
  CUfunc_st made = module->origin;
  made.combining =
      static_cast<std::size_t>(std::ranges::find(names, std::string(name)) - names.begin());
  made.train_kernel = train_kernel(name);
  made.resident_kernel = resident_kernel(name);
  if (made.combining == names.size() && made.train_kernel < 0 && made.resident_kernel < 0)
    return not_found;
  const std::scoped_lock lock(state().mutex);
  *function = &module->functions.try_emplace(name, made).first->second;
  return success;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function function, int /*threads*/,
                                                std::size_t /*shared_bytes*/) {
  if (const int status = enter("cuOccupancyMaxActiveBlocksPerMultiprocessor")) return status;
  *blocks = function->resident_kernel >= 0 ? resident_blocks : 2;
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
  const bool trains = function->train_kernel >= 0;
  if (trains || function->resident_kernel >= 0) {
    note_unknown("kernels of the trainer, or that wait for others");
    return put_kernel(stream, *function,
                      trains ? train_work(function->train_kernel, arguments[0], blocks_x * threads)
                             : resident_work(function->resident_kernel, arguments[0], blocks_x,
                                             function->context));
  }
  auto pieces = std::make_shared<Pieces>(*static_cast<const Pieces*>(arguments[0]));
  const std::size_t element_bytes = bytes_of_kernel(function->combining);
  if (!translate_all(*pieces, element_bytes, blocks_y, function->context->device))
    return invalid_value;
  const Grid grid{std::size_t{blocks_x} * threads, blocks_y};
  note_kernel(resolve(stream), *static_cast<const Pieces*>(arguments[0]),
              pieces->count * element_bytes, blocks_y);
  if (!is_aligned(*pieces, element_bytes, blocks_y)) {
    return put_kernel(stream, *function, [context = function->context] {
      break_context(context, misaligned_address);
    });
  }
  return put_kernel(stream, *function, [=, context = function->context] {
    const Touch touch(context);
    if (!touch.works()) return;
    const Access access("a kernel", touched_by(*pieces, element_bytes, blocks_y));
    ++state().launches;
    runs[function->combining](*pieces, grid);
  });
}

int cuLaunchKernelEx(const rondo::cuda::LaunchShape* shape, Function function, void** arguments,
                     void** extra) {
  if (const int status = enter("cuLaunchKernelEx")) return status;
  const auto& [blocks, threads, shared_bytes, stream, attributes, attribute_count] = *shape;
  for (unsigned i = 0; i < attribute_count; ++i) {
    const bool known = attributes[i].name == rondo::cuda::launch_sync_domain;
    if (!known || attributes[i].value != rondo::cuda::remote_sync_domain) return invalid_value;
    ++state().launches_in_own_domain;
  }
  return cuLaunchKernel(function, blocks[0], blocks[1], blocks[2], threads[0], threads[1],
                        threads[2], shared_bytes, stream, arguments, extra);
}

const char* fake_loaded_form() {
  thread_local std::string form;
  const std::scoped_lock lock(state().mutex);
  form = state().newest_form;
  return form.c_str();
}

int fake_launches() { return state().launches; }
int fake_resident_launches() { return state().resident_launches; }
int fake_window_launches() { return state().window_launches; }
int fake_in_windows() { return state().in_windows; }
int fake_launches_in_own_domain() { return state().launches_in_own_domain; }
}
