#include "tools/trainer/device/device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tools/trainer/device/image.h"

namespace rondo::train::device {
namespace {

constexpr std::size_t staging_bytes = std::size_t{4} << 20;
constexpr std::size_t page = 4096;

}  // namespace

void Pinned::Free::operator()(std::byte* memory) const noexcept { std::free(memory); }

Pinned::Pinned(const Driver& driver, std::size_t bytes)
    : driver_(driver),
      bytes_((bytes + page - 1) / page * page),
      memory_(static_cast<std::byte*>(std::aligned_alloc(page, bytes_))) {
  constexpr unsigned portable = 1;  // CU_MEMHOSTREGISTER_PORTABLE
  if (!memory_) throw std::bad_alloc();
  std::memset(memory_.get(), 0, bytes_);
  driver_.check(driver_.lock_pages(memory_.get(), bytes_, portable), "locking the host's memory");
}

Pinned::~Pinned() { driver_.unlock_pages(memory_.get()); }

Event::Event(const Driver& driver) : driver_(driver) {
  constexpr unsigned without_timing = 2;  // CU_EVENT_DISABLE_TIMING
  driver_.check(driver_.event_create(&event_, without_timing), "making an event");
}

Event::~Event() { driver_.event_destroy(event_); }

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

// A launcher's local rank is better than the rank's number. Launchers that do not set RANK have
// variables of their own for it.
int Device::place_on_machine(int rank) {
  const char* local = std::getenv("LOCAL_RANK");
  if (std::getenv("RANK") == nullptr) {
    for (const char* const name :
         {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
      if (local == nullptr) local = std::getenv(name);
    }
  }
  return local != nullptr ? std::atoi(local) : rank;
}

void Device::open(int rank) {
  constexpr int multiprocessors = 16;   // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
  constexpr unsigned non_blocking = 1;  // CU_STREAM_NON_BLOCKING
  int count = 0;
  constexpr int no_device = 100;  // CUDA_ERROR_NO_DEVICE: cuInit's own word for it
  if (const int started = driver_.init(0); started != no_device) {
    driver_.check(started, "starting CUDA");
    driver_.check(driver_.device_count(&count), "counting devices");
  }
  if (count == 0) {
    throw Error(ErrorCode::invalid_usage, "this machine's CUDA driver sees no GPU",
                {.remedy = "CUDA_VISIBLE_DEVICES may hide them; else --device cpu"});
  }
  const int place = place_on_machine(rank);
  driver_.check(driver_.device_get(&number_, std::max(0, place) % count), "choosing a device");
  driver_.check(driver_.context_retain(&context_, number_), "opening a device");
  driver_.check(driver_.context_set(context_), "opening a device");
  for (auto& stream : streams_)
    driver_.check(driver_.stream_create(&stream, non_blocking), "making a stream");
  int processors = 1;
  driver_.check(driver_.device_attribute(&processors, multiprocessors, number_),
                "asking a device for its processors");
  constexpr unsigned blocks_each = 8;  // enough threads to hide memory's latency
  most_blocks_ = blocks_each * static_cast<unsigned>(std::max(1, processors));
  staging_ = std::make_unique<Pinned>(driver_, staging_bytes);
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
  driver_.check(driver_.module_load(&module, image.data()), "loading the trainer's kernels");
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    driver_.check(driver_.module_function(&functions_[i], module, kernel_names[i]),
                  std::string("finding the kernel ") + kernel_names[i]);
  }
}

/// One thread for each item, up to the number that runs at once. Kernels go through more items in
/// strides.
void Device::launch(Kernel kernel, const Work& work, const Call& call) const {
  if (work.items == 0) return;
  const std::size_t wanted = (work.items * work.row_lanes + block_threads - 1) / block_threads;
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(wanted, most_blocks_));
  Call arguments = call;
  std::array<void*, 1> list{&arguments};
  const auto index = static_cast<std::size_t>(kernel);
  driver_.check(driver_.launch(functions_[index], blocks, 1, 1, block_threads, 1, 1, 0, compute(),
                               list.data(), nullptr),
                kernel_names[index]);
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
  const std::span<float> values(static_cast<float*>(memory),
                                (bytes + sizeof(float) - 1) / sizeof(float));
  launch(Kernel::zero, {values.size()}, make_call({buffer_of(values)}));
}

void Device::copy(const void* from, void* into, std::size_t bytes, CUstream_st* stream) const {
  if (bytes == 0) return;
  driver_.check(driver_.copy(address_of(into), address_of(from), bytes, stream),
                "copying to or from a device");
}

void Device::follow(CUstream_st* later, CUstream_st* earlier) const {
  record(*order_, earlier);
  driver_.check(driver_.stream_wait(later, order_->get(), 0), "ordering streams");
}

void Device::record(const Event& event, CUstream_st* stream) const {
  driver_.check(driver_.event_record(event.get(), stream), "recording an event");
}

void Device::finish(CUstream_st* stream) const {
  driver_.check(driver_.stream_finish(stream), "waiting for the device's work");
}

void Device::read(const void* from, void* into, std::size_t bytes) const {
  for (std::size_t done = 0; done < bytes; done += staging_->size()) {
    const std::size_t part = std::min(staging_->size(), bytes - done);
    copy(static_cast<const std::byte*>(from) + done, staging_->data(), part, compute());
    finish(compute());
    std::memcpy(static_cast<std::byte*>(into) + done, staging_->data(), part);
  }
}

void Device::write(const void* from, void* into, std::size_t bytes) const {
  for (std::size_t done = 0; done < bytes; done += staging_->size()) {
    const std::size_t part = std::min(staging_->size(), bytes - done);
    std::memcpy(staging_->data(), static_cast<const std::byte*>(from) + done, part);
    copy(staging_->data(), static_cast<std::byte*>(into) + done, part, compute());
    finish(compute());  // before the next part overwrites the staging memory
  }
}

Call make_call(std::initializer_list<Buffer> buffers, std::initializer_list<std::uint64_t> sizes,
               std::span<const float> numbers) {
  Call call{};
  std::ranges::copy(buffers, call.buffers);
  std::ranges::copy(sizes, call.sizes);
  std::ranges::copy(numbers, call.numbers);
  return call;
}

}  // namespace rondo::train::device
