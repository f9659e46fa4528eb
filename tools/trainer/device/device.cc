#include "tools/trainer/device/device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "tools/trainer/report/record.h"

namespace rondo::train::device {
namespace {

constexpr std::size_t staging_bytes = std::size_t{4} << 20;

/// A launcher's local rank is better than the rank's number. Launchers that do not set RANK have
/// variables of their own for it.
int place_on_machine(int rank) {
  const char* local = std::getenv("LOCAL_RANK");
  if (std::getenv("RANK") == nullptr) {
    for (const char* const name :
         {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
      if (local == nullptr) local = std::getenv(name);
    }
  }
  return std::max(0, local != nullptr ? std::atoi(local) : rank);
}

/// visit(begin, bytes) for pieces that fit into the staging memory.
template <class Visit>
void each_piece(std::size_t bytes, Visit visit) {
  for (std::size_t done = 0; done < bytes; done += staging_bytes)
    visit(done, std::min(staging_bytes, bytes - done));
}

}  // namespace

std::shared_ptr<std::byte> take_pinned(const Driver& driver, std::size_t bytes) {
  constexpr std::size_t page = 4096;
  constexpr unsigned portable = 1;  // CU_MEMHOSTREGISTER_PORTABLE
  const std::size_t rounded = (bytes + page - 1) / page * page;
  std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(page, rounded), &std::free);
  if (!memory) throw std::bad_alloc();
  std::memset(memory.get(), 0, rounded);
  driver.call("locking the host's memory", "cuMemHostRegister_v2", memory.get(), rounded, portable);
  return {static_cast<std::byte*>(memory.release()), [&driver](std::byte* locked) {
            driver.status("cuMemHostUnregister", locked);
            std::free(locked);
          }};
}

Event::Event(const Driver& driver) : driver_(driver) {
  constexpr unsigned without_timing = 2;  // CU_EVENT_DISABLE_TIMING
  driver_.call("making an event", "cuEventCreate", &event_, without_timing);
}

Device::Device(Communicator world, const Libraries& libraries) : driver_(libraries) {
  try {
    open(world.rank());
    load();
    cublas_.emplace(libraries, compute());
    squares_ = take(Use::activations, sums * sizeof(double));
    ranks_ = StreamCommunicator(std::move(world));
  } catch (...) {
    // If only a part was made, the driver frees it with the context.
    close();
    if (context_ != nullptr) driver_.status("cuDevicePrimaryCtxRelease_v2", number_);
    throw;
  }
}

void Device::close() {
  ranks_ = {};
  squares_.reset();
  integers_.reset();
  cublas_.reset();
  staging_.reset();
  order_.reset();
}

Device::~Device() {
  // No caller is left to get an error. Streams are empty unless an error came before.
  for (CUstream_st* const stream : streams_) driver_.status("cuStreamSynchronize", stream);
  close();
  for (CUstream_st* const stream : streams_) driver_.status("cuStreamDestroy_v2", stream);
  driver_.status("cuCtxSetCurrent", static_cast<CUctx_st*>(nullptr));
  // The context is kept until the process ends: a thread of StreamCommunicator may still free
  // memory in it.
}

void Device::open(int rank) {
  constexpr int multiprocessors = 16;   // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
  constexpr unsigned non_blocking = 1;  // CU_STREAM_NON_BLOCKING
  constexpr int no_device = 100;        // CUDA_ERROR_NO_DEVICE: cuInit's own word for it
  int count = 0;
  if (const int started = driver_.status("cuInit", 0); started != no_device) {
    driver_.check(started, "starting CUDA");
    driver_.call("counting devices", "cuDeviceGetCount", &count);
  }
  if (count == 0) {
    throw Error(ErrorCode::invalid_usage, "this machine's CUDA driver sees no GPU",
                {.remedy = "CUDA_VISIBLE_DEVICES may hide them; else --device cpu"});
  }
  driver_.call("choosing a device", "cuDeviceGet", &number_, place_on_machine(rank) % count);
  driver_.call("opening a device", "cuDevicePrimaryCtxRetain", &context_, number_);
  driver_.call("opening a device", "cuCtxSetCurrent", context_);
  for (auto& stream : streams_)
    driver_.call("making a stream", "cuStreamCreate", &stream, non_blocking);
  int processors = 1;
  driver_.call("asking a device for its processors", "cuDeviceGetAttribute", &processors,
               multiprocessors, number_);
  constexpr unsigned blocks_each = 8;  // enough threads to hide memory's latency
  most_blocks_ = blocks_each * static_cast<unsigned>(std::max(1, processors));
  staging_ = take_pinned(driver_, staging_bytes);
  order_ = std::make_unique<Event>(driver_);
}

void Device::load() {
  constexpr int major = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
  constexpr int minor = 76;  // ..._MINOR
  const auto capability = [this](int part) {
    int value = 0;
    driver_.call("asking a device for its capability", "cuDeviceGetAttribute", &value, part,
                 number_);
    return value;
  };
  const auto forms = forms_for(train_image(), 10 * capability(major) + capability(minor));
  if (forms.empty()) {
    throw Error(ErrorCode::invalid_usage, "this rondo-train has no kernels for GPUs",
                {.remedy = "build it where nvcc is found (Debian: nvidia-cuda-toolkit), or run "
                           "with --device cpu"});
  }
  CUmod_st* module = nullptr;  // stays as long as the context
  int refused = 0;
  for (const ImageForm& form : forms) {
    const void* const data = form.data;
    refused = driver_.status("cuModuleLoadData", &module, data);
    if (refused == 0) break;
  }
  driver_.check(refused, "loading the trainer's kernel");
  driver_.call("finding the trainer's kernel", "cuModuleGetFunction", &kernel_, module,
               kernel_name);
}

std::shared_ptr<void> Device::take(Use, std::size_t bytes) const {
  Pointer pointer = 0;
  // Rounded up to whole floats, so that the memory can be zeroed float by float.
  const std::size_t rounded = (bytes + sizeof(float) - 1) / sizeof(float) * sizeof(float);
  driver_.call("taking " + std::to_string(bytes) + " bytes of a device", "cuMemAlloc_v2", &pointer,
               rounded);
  std::shared_ptr<void> memory(reinterpret_cast<void*>(pointer), [this](void* taken) {
    driver_.status("cuMemFree_v2", address_of(taken));
  });
  zero(memory.get(), rounded);
  return memory;
}

CommonMemory Device::common_memory() const {
  std::size_t available = 0;
  std::size_t all = 0;
  driver_.call("asking a device for its free memory", "cuMemGetInfo_v2", &available, &all);
  std::array<std::uint64_t, 2> name{};  // no two devices have the same
  static_assert(sizeof name == 16);
  driver_.call("asking a device for its name", "cuDeviceGetUuid_v2",
               static_cast<void*>(name.data()), number_);
  return {name[0] ^ name[1], available};
}

void Device::zero(void* memory, std::size_t bytes) const {
  const std::span values(static_cast<float*>(memory), (bytes + sizeof(float) - 1) / sizeof(float));
  launch(make_call(Kernel::zero, {buffer_of(values)}), values.size(), false);
}

void Device::read(const void* from, void* host, std::size_t bytes) const {
  each_piece(bytes, [&](std::size_t begin, std::size_t count) {
    copy(static_cast<const std::byte*>(from) + begin, staging_.get(), count);
    finish();
    std::memcpy(static_cast<std::byte*>(host) + begin, staging_.get(), count);
  });
}

void Device::write(const void* host, void* into, std::size_t bytes) const {
  each_piece(bytes, [&](std::size_t begin, std::size_t count) {
    std::memcpy(staging_.get(), static_cast<const std::byte*>(host) + begin, count);
    copy(staging_.get(), static_cast<std::byte*>(into) + begin, count);
    finish();  // before the next part overwrites the staging memory
  });
}

std::span<const std::int32_t> Device::upload(std::span<const std::int32_t> host) const {
  if (host.size() > integers_size_) {
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
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(wanted, most_blocks_));
  Call arguments = call;
  std::array<void*, 1> list{&arguments};
  driver_.call("launching the trainer's kernel", "cuLaunchKernel", kernel_, blocks, 1U, 1U,
               block_threads, 1U, 1U, 0U, compute(), list.data(), static_cast<void**>(nullptr));
}

double Device::sum_of_squares(std::span<const float> values) const {
  const std::span<double> parts(static_cast<double*>(squares_.get()), sums);
  launch(make_call(Kernel::squares, {buffer_of(values), buffer_of(parts)}), sums, false);
  std::vector<double> each(sums);
  read(parts.data(), each.data(), parts.size_bytes());
  return std::accumulate(each.begin(), each.end(), 0.0);
}

void Device::copy(const void* from, void* into, std::size_t bytes) const {
  if (bytes == 0) return;
  driver_.call("copying to or from a device", "cuMemcpyAsync", address_of(into), address_of(from),
               bytes, compute());
}

void Device::follow() const {
  order_->record(compute());
  driver_.call("ordering streams", "cuStreamWaitEvent", side(), order_->get(), 0U);
}

void Device::finish() const {
  driver_.call("waiting for the device's work", "cuStreamSynchronize", compute());
}

/// The call follows the work that is in the compute stream now. Later work in that stream does not
/// wait for it: the host does, so that the time is counted as communication.
Machine::Wait Device::start(Communicator&, const Collection& c) const {
  follow();
  if (c.kind == Collective::all_reduce) {
    ranks_.all_reduce(c.input, c.output, c.count, c.type, c.op, side());
  } else if (c.kind == Collective::reduce_scatter) {
    ranks_.reduce_scatter(c.input, c.output, c.count, c.type, c.op, side());
  } else {
    ranks_.all_gather(c.input, c.output, c.count, c.type, side());
  }
  const auto done = std::make_shared<Event>(driver_);
  done->record(side());
  return [this, done] {
    done->finish();
    ranks_.check();
  };
}

Traffic Device::traffic(const Communicator& world) const {
  return total(world.traffic(), ranks_.traffic());
}

}  // namespace rondo::train::device
