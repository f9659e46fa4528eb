#include "tools/trainer/device/device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tools/trainer/device/image.h"
#include "tools/trainer/device/launch.h"

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
  driver.check(driver.lock_pages(memory.get(), rounded, portable), "locking the host's memory");
  return {static_cast<std::byte*>(memory.release()), [&driver](std::byte* locked) {
            driver.unlock_pages(locked);
            std::free(locked);
          }};
}

Event::Event(const Driver& driver) : driver_(driver) {
  constexpr unsigned without_timing = 2;  // CU_EVENT_DISABLE_TIMING
  driver_.check(driver_.event_create(&event_, without_timing), "making an event");
}

Device::Device(const Libraries& libraries, int rank) : driver_(libraries) {
  try {
    open(rank);
    load();
  } catch (...) {
    // If only a part was made, the driver frees it with the context.
    staging_.reset();
    order_.reset();
    if (context_ != nullptr) driver_.context_release(number_);
    throw;
  }
}

Device::~Device() {
  // No caller is left to get an error. Streams are empty unless an error came before.
  for (CUstream_st* const stream : streams_) driver_.stream_finish(stream);
  staging_.reset();
  order_.reset();
  for (CUstream_st* const stream : streams_) driver_.stream_destroy(stream);
  driver_.context_set(nullptr);
  // The context is kept until the process ends: a thread of StreamCommunicator may still free
  // memory in it.
}

void Device::open(int rank) {
  constexpr int multiprocessors = 16;   // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
  constexpr unsigned non_blocking = 1;  // CU_STREAM_NON_BLOCKING
  constexpr int no_device = 100;        // CUDA_ERROR_NO_DEVICE: cuInit's own word for it
  int count = 0;
  if (const int started = driver_.init(0); started != no_device) {
    driver_.check(started, "starting CUDA");
    driver_.check(driver_.device_count(&count), "counting devices");
  }
  if (count == 0) {
    throw Error(ErrorCode::invalid_usage, "this machine's CUDA driver sees no GPU",
                {.remedy = "CUDA_VISIBLE_DEVICES may hide them; else --device cpu"});
  }
  driver_.check(driver_.device_get(&number_, place_on_machine(rank) % count), "choosing a device");
  driver_.check(driver_.context_retain(&context_, number_), "opening a device");
  driver_.check(driver_.context_set(context_), "opening a device");
  for (auto& stream : streams_)
    driver_.check(driver_.stream_create(&stream, non_blocking), "making a stream");
  int processors = 1;
  driver_.check(driver_.device_attribute(&processors, multiprocessors, number_),
                "asking a device for its processors");
  constexpr unsigned blocks_each = 8;  // enough threads to hide memory's latency
  most_blocks_ = blocks_each * static_cast<unsigned>(std::max(1, processors));
  staging_ = take_pinned(driver_, staging_bytes);
  order_ = std::make_unique<Event>(driver_);
}

void Device::load() {
  const auto image = kernel_image();
  if (image.empty()) {
    throw Error(ErrorCode::invalid_usage, "this rondo-train has no kernels for GPUs",
                {.remedy = "build it where nvcc is found (Debian: nvidia-cuda-toolkit), or run "
                           "with --device cpu"});
  }
  CUmod_st* module = nullptr;  // stays as long as the context
  driver_.check(driver_.module_load(&module, image.data()), "loading the trainer's kernel");
  driver_.check(driver_.module_function(&kernel_, module, kernel_name),
                "finding the trainer's kernel");
}

/// Up to the number of threads that runs at once. Each goes through more work in strides.
void Device::launch(const Call& call, std::size_t threads) const {
  if (threads == 0) return;
  const std::size_t wanted = (threads + block_threads - 1) / block_threads;
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(wanted, most_blocks_));
  Call arguments = call;
  std::array<void*, 1> list{&arguments};
  driver_.check(driver_.launch(kernel_, blocks, 1, 1, block_threads, 1, 1, 0, compute(),
                               list.data(), nullptr),
                "launching the trainer's kernel");
}

CommonMemory Device::common_memory() const {
  std::size_t available = 0;
  std::size_t all = 0;
  driver_.check(driver_.memory_left(&available, &all), "asking a device for its free memory");
  std::array<std::uint64_t, 2> name{};  // no two devices have the same
  static_assert(sizeof name == 16);
  driver_.check(driver_.device_name(name.data(), number_), "asking a device for its name");
  return {name[0] ^ name[1], available};
}

std::shared_ptr<void> Device::take(std::size_t bytes) const {
  Pointer pointer = 0;
  // Rounded up to whole floats, so that the memory can be zeroed float by float.
  const std::size_t rounded = (bytes + sizeof(float) - 1) / sizeof(float) * sizeof(float);
  driver_.check(driver_.allocate(&pointer, rounded),
                "taking " + std::to_string(bytes) + " bytes of a device");
  std::shared_ptr<void> memory(reinterpret_cast<void*>(pointer),
                               [this](void* taken) { driver_.free(address_of(taken)); });
  zero(memory.get(), rounded);
  return memory;
}

void Device::zero(void* memory, std::size_t bytes) const {
  const std::span values(static_cast<float*>(memory), (bytes + sizeof(float) - 1) / sizeof(float));
  launch(make_call(Kernel::zero, {buffer_of(values)}), values.size());
}

void Device::copy(const void* from, void* into, std::size_t bytes, CUstream_st* stream) const {
  if (bytes == 0) return;
  driver_.check(driver_.copy(address_of(into), address_of(from), bytes, stream),
                "copying to or from a device");
}

void Device::follow(CUstream_st* later, CUstream_st* earlier) const {
  order_->record(earlier);
  driver_.check(driver_.stream_wait(later, order_->get(), 0), "ordering streams");
}

void Device::finish(CUstream_st* stream) const {
  driver_.check(driver_.stream_finish(stream), "waiting for the device's work");
}

void Device::read(const void* from, void* into, std::size_t bytes) const {
  each_piece(bytes, [&](std::size_t begin, std::size_t count) {
    copy(static_cast<const std::byte*>(from) + begin, staging_.get(), count, compute());
    finish(compute());
    std::memcpy(static_cast<std::byte*>(into) + begin, staging_.get(), count);
  });
}

void Device::write(const void* from, void* into, std::size_t bytes) const {
  each_piece(bytes, [&](std::size_t begin, std::size_t count) {
    std::memcpy(staging_.get(), static_cast<const std::byte*>(from) + begin, count);
    copy(staging_.get(), static_cast<std::byte*>(into) + begin, count, compute());
    finish(compute());  // before the next part overwrites the staging memory
  });
}

}  // namespace rondo::train::device
