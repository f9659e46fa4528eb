#include "tools/trainer/device/device.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/base/symbols.h"
#include "core/cuda/contexts.h"
#include "core/cuda/modules.h"
#include "core/settings/settings.h"
#include "tools/trainer/math/kernels.h"
#include "tools/trainer/report/record.h"

struct cublasContext;

namespace rondo {
/// The trainer's kernel.
DeviceImage train_image();
}  // namespace rondo

namespace rondo::train::device {
namespace {

using cuda::address_of;
using cuda::driver;

constexpr std::size_t staging_bytes = std::size_t{4} << 20;

constexpr const char* remedy = "look for an earlier failure of CUDA, or run with --device cpu";

void check(int status, const char* function) { cuda::check(status, function, remedy); }

void check_cublas(int status, const char* function) {
  if (status == 0) return;
  throw Error(ErrorCode::system,
              std::string(function) + " failed with cuBLAS status " + std::to_string(status),
              {.remedy = remedy});
}

/// Loads the driver. Returns which of its devices is this rank's. A launcher's local rank is better
/// than the rank's number.
int choose(int rank, const Libraries& libraries) {
  if (::dlopen(libraries.driver.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr) {
    throw Error(ErrorCode::invalid_usage,
                "there is no GPU that could be used: this machine has no " + libraries.driver,
                {.remedy = "run where NVIDIA's driver is installed, or with --device cpu"});
  }
  const decltype(&cuInit) start = driver().find.look_for("cuInit");
  const int status = start(0);
  if (status != cuda::no_device) check(status, "cuInit");
  const int count = cuda::device_count();
  if (count == 0) {
    throw Error(ErrorCode::invalid_usage, "this machine's CUDA driver sees no GPU",
                {.remedy = "CUDA_VISIBLE_DEVICES may hide them; else --device cpu"});
  }
  const Placement placement = read_placement(read_config());
  return (placement.local_known ? placement.local_rank : rank) % count;
}

/// It is kept until the process ends: a thread of StreamCommunicator may still free memory in it.
cuda::Context context_of(int device) {
  cuda::Context context = nullptr;
  check(driver().device_primary_ctx_retain(&context, device), "cuDevicePrimaryCtxRetain");
  return context;
}

/// visit(begin, bytes) for pieces that fit into the staging memory.
template <class Visit>
void each_piece(std::size_t bytes, Visit visit) {
  for (std::size_t done = 0; done < bytes; done += staging_bytes)
    visit(done, std::min(staging_bytes, bytes - done));
}

}  // namespace

/// cuBLAS, loaded at run time. Belongs to one device; one thread at a time.
class Device::Cublas {
 public:
  /// Takes the first of these libraries that works. Throws Error{invalid_usage} if there is none.
  Cublas(std::span<const std::string> names, CUstream_st* stream);
  ~Cublas() { functions_.destroy(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// Puts the products into the stream. They are computed in float32, not in a type of fewer bits.
  void multiply(const Product& product) const;

 private:
  /// By their names without "cublas" and version, with the types of CUDA's headers.
  struct Functions {
    explicit Functions(void* library) : find(library) {}
    Symbols find;
    int (*create)(cublasContext**) = find("cublasCreate_v2");
    int (*destroy)(cublasContext*) = find("cublasDestroy_v2");
    int (*set_stream)(cublasContext*, CUstream_st*) = find("cublasSetStream_v2");
    int (*set_math_mode)(cublasContext*, int) = find("cublasSetMathMode");
    int (*multiply)(cublasContext*, int, int, int, int, int, const float*, const float*, int,
                    long long, const float*, int, long long, const float*, float*, int, long long,
                    int) = find("cublasSgemmStridedBatched");
  };

  Functions functions_{nullptr};
  cublasContext* handle_ = nullptr;
};

Device::Cublas::Cublas(std::span<const std::string> names, CUstream_st* stream) {
  constexpr int pedantic = 2;  // CUBLAS_PEDANTIC_MATH: no TF32, whatever the environment says
  std::string tried;
  int created = -1;
  for (const std::string& name : names) {
    tried += (tried.empty() ? "" : ", ") + name;
    // It stays loaded: a process that has used CUDA cannot unload it.
    functions_ = Functions(::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL));
    if (functions_.find.missing() != nullptr) continue;
    created = functions_.create(&handle_);
    if (created == 0) break;  // else it is for a newer driver
  }
  if (created == -1) {
    throw Error(ErrorCode::invalid_usage, "cuBLAS cannot be loaded (" + tried + ")",
                {.remedy = "install it (Debian: libcublas12 or libcublas11; NVIDIA's packages: "
                           "libcublas-13-0), name its folder in LD_LIBRARY_PATH, or run with "
                           "--device cpu"});
  }
  check_cublas(created, "cublasCreate");
  check_cublas(functions_.set_stream(handle_, stream), "cublasSetStream");
  check_cublas(functions_.set_math_mode(handle_, pedantic), "cublasSetMathMode");
}

// cuBLAS stores matrices by columns, this program by rows. So cuBLAS sees every matrix transposed
// and computes c^T = b^T a^T.
void Device::Cublas::multiply(const Product& p) const {
  const auto order = [](bool transposed) { return transposed ? 1 : 0; };
  const auto size = [](std::size_t value) { return static_cast<int>(value); };
  const auto step = [](std::size_t value) { return static_cast<long long>(value); };
  check_cublas(
      functions_.multiply(handle_, order(p.b.transposed), order(p.a.transposed), size(p.c.columns),
                          size(p.c.rows), size(p.a.columns), &p.scale, p.b.values, size(p.b.stride),
                          step(p.b.step), p.a.values, size(p.a.stride), step(p.a.step), &p.keep,
                          p.c.values, size(p.c.stride), step(p.c.step), size(p.count)),
      "cublasSgemmStridedBatched");
}

Device::Device(Communicator world, const Libraries& libraries)
    : number_(choose(world.rank(), libraries)),
      current_(context_of(number_)),
      compute_(cuda::make_stream()),
      side_(cuda::make_stream()),
      order_(cuda::make_event()),
      staging_(staging_bytes),
      cublas_(std::make_unique<Cublas>(libraries.cublas, compute_.get())),
      kernel_(cuda::find_kernel(cuda::load_module(train_image(), "only --device cpu trains"),
                                kernel_name, block_threads)),
      squares_(take(Use::activations, sums * sizeof(double))),
      ranks_(std::move(world)) {}

Device::~Device() {
  // No caller is left to get an error. Streams are empty unless an error came before.
  for (cuda::Stream const stream : {compute_.get(), side_.get()})
    driver().stream_synchronize(stream);
}

std::shared_ptr<void> Device::take(Use, std::size_t bytes) const {
  cuda::DevicePointer pointer = 0;
  const int status = driver().mem_alloc(&pointer, bytes);
  if (status == cuda::out_of_memory) {
    throw Error(ErrorCode::out_of_memory,
                "taking " + std::to_string(bytes) + " bytes of a device failed with " +
                    cuda::words_of(status),
                {.remedy = "a smaller model or batch, --checkpoint-activations, or a "
                           "strategy that shards (zero3 most)"});
  }
  check(status, "cuMemAlloc");
  std::shared_ptr<void> memory(reinterpret_cast<void*>(pointer),
                               [](void* taken) { driver().mem_free(address_of(taken)); });
  zero(memory.get(), bytes);
  return memory;
}

CommonMemory Device::common_memory() const {
  std::size_t available = 0;
  std::size_t all = 0;
  int (*const ask)(std::size_t*, std::size_t*) = driver().find.look_for("cuMemGetInfo_v2");
  check(ask(&available, &all), "cuMemGetInfo");
  cuda::Uuid uuid{};  // no two devices have the same
  check(driver().device_get_uuid(&uuid, number_), "cuDeviceGetUuid");
  std::array<std::uint64_t, 2> name{};
  static_assert(sizeof name == sizeof uuid);
  std::memcpy(name.data(), &uuid, sizeof uuid);
  return {name[0] ^ name[1], available};
}

void Device::multiply(const Product& product) const { cublas_->multiply(product); }

void Device::zero(void* memory, std::size_t bytes) const {
  check(driver().memset_async(address_of(memory), 0, bytes, compute_.get()), "cuMemsetD8Async");
}

void Device::read(const void* from, void* host, std::size_t bytes) const {
  each_piece(bytes, [&](std::size_t begin, std::size_t count) {
    cuda::copy(address_of(staging_.data()), address_of(from) + begin, count, compute_.get());
    finish();
    std::memcpy(static_cast<std::byte*>(host) + begin, staging_.data(), count);
  });
}

void Device::write(const void* host, void* into, std::size_t bytes) const {
  each_piece(bytes, [&](std::size_t begin, std::size_t count) {
    std::memcpy(staging_.data(), static_cast<const std::byte*>(host) + begin, count);
    cuda::copy(address_of(into) + begin, address_of(staging_.data()), count, compute_.get());
    finish();  // before the next part overwrites the staging memory
  });
}

std::span<const std::int32_t> Device::upload(std::span<const std::int32_t> host) const {
  if (integers_size_ < host.size()) {
    integers_.reset();  // before the larger one is taken
    integers_ = take(Use::activations, host.size_bytes());
    integers_size_ = host.size();
  }
  write(host.data(), integers_.get(), host.size_bytes());
  return {static_cast<const std::int32_t*>(integers_.get()), host.size()};
}

/// Up to the number of threads that runs at once. Each goes through more work in strides.
void Device::launch(const Call& call, std::size_t items, bool rows) const {
  const std::size_t threads = rows ? items * warp_lanes : items;
  if (threads == 0) return;
  const std::size_t wanted = (threads + block_threads - 1) / block_threads;
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(wanted, kernel_.blocks));
  Call arguments = call;
  void* list = &arguments;
  check(driver().launch_kernel(kernel_.function, blocks, 1, 1, block_threads, 1, 1, 0,
                               compute_.get(), &list, nullptr),
        "cuLaunchKernel");
}

double Device::sum_of_squares(std::span<const float> values) const {
  const std::span<double> parts(static_cast<double*>(squares_.get()), sums);
  launch(make_call(Kernel::squares, {buffer_of(values), buffer_of(parts)}), sums, false);
  std::vector<double> each(sums);
  read(parts.data(), each.data(), parts.size_bytes());
  return std::accumulate(each.begin(), each.end(), 0.0);
}

void Device::finish() const {
  check(driver().stream_synchronize(compute_.get()), "cuStreamSynchronize");
}

/// The call follows the work that is in the compute stream now. Later work in that stream does not
/// wait for it: the host does, so that the time is counted as communication.
Machine::Wait Device::start(Communicator&, const Collection& c) const {
  check(driver().event_record(order_.get(), compute_.get()), "cuEventRecord");
  check(driver().stream_wait_event(side_.get(), order_.get(), 0), "cuStreamWaitEvent");
  constexpr auto mean = ReduceOperator::avg;
  if (c.kind == Collective::all_reduce) {
    ranks_.all_reduce(c.input, c.output, c.count, c.type, mean, side_.get());
  } else if (c.kind == Collective::reduce_scatter) {
    ranks_.reduce_scatter(c.input, c.output, c.count, c.type, mean, side_.get());
  } else {
    ranks_.all_gather(c.input, c.output, c.count, c.type, side_.get());
  }
  const std::shared_ptr<CUevent_st> done = cuda::make_event();
  check(driver().event_record(done.get(), side_.get()), "cuEventRecord");
  return [this, done] {
    check(driver().event_synchronize(done.get()), "cuEventSynchronize");
    ranks_.check();
  };
}

Traffic Device::traffic(const Communicator& world) const {
  return total(world.traffic(), ranks_.traffic());
}

}  // namespace rondo::train::device
