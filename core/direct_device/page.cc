#include "core/direct_device/page.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <sstream>

#include "core/cuda/driver.h"

namespace rondo::direct_device {
namespace {

constexpr const char* what = "the ranks' flags";

std::uint64_t random_number() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random() | 1;
}

std::atomic_ref<std::uint64_t> shared(std::uint64_t& word) {
  return std::atomic_ref<std::uint64_t>(word);
}

}  // namespace

/// The first line tells this page from any other file; then three lines for each rank, and the
/// signals.
std::size_t SharedPage::lines(int ranks) {
  return static_cast<std::size_t>(1 + 3 * ranks + signal_kinds * halves * ranks * ranks);
}

std::size_t SharedPage::bytes(int ranks) {
  return lines(ranks) * line + static_cast<std::size_t>(ranks) * announced * sizeof(Announcement);
}

SharedPage SharedPage::make(int ranks) {
  SharedPage page(make_shared_memory(bytes(ranks), what), {}, ranks);
  const std::uint64_t number = random_number();
  *reinterpret_cast<std::uint64_t*>(page.base()) = number;
  for (int half = 0; half < halves; ++half) {
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) page.signal(Signal::free, half, from, to) = 1;
    }
  }
  page.address_ = std::to_string(::getpid()) + " " + std::to_string(page.memory_.descriptor.get()) +
                  " " + std::to_string(number);
  return page;
}

/// The kernel lets processes of one user open each other's descriptors. The number in the page
/// tells whether it is the right one: the pid may be another process's in another namespace.
SharedPage SharedPage::open(const std::string& address, int ranks) {
  std::istringstream text(address);
  int pid = 0;
  int descriptor = -1;
  std::uint64_t number = 0;
  text >> pid >> descriptor >> number;
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(descriptor);
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  Mapping mapping = file ? map_shared_memory(file.get(), bytes(ranks)) : Mapping();
  if (!mapping || *reinterpret_cast<const std::uint64_t*>(mapping.data()) != number) {
    throw Error(ErrorCode::system,
                "the memory of " + std::string(what) + " of process " + std::to_string(pid) +
                    " cannot be reached",
                {.remedy = "run all ranks as one user in one pid namespace"});
  }
  SharedPage page({}, std::move(mapping), ranks);
  page.address_ = address;
  return page;
}

void SharedPage::register_memory() {
  constexpr unsigned flags = cuda::register_portable | cuda::register_device_map;
  cuda::check(cuda::driver().mem_host_register(base(), bytes(ranks_), flags), "cuMemHostRegister");
  const int status = cuda::driver().mem_host_get_device_pointer(&registered_, base(), 0);
  if (status == cuda::success) return;
  cuda::driver().mem_host_unregister(base());
  registered_ = 0;
  cuda::check(status, "cuMemHostGetDevicePointer");
}

SharedPage::~SharedPage() {
  if (registered_ != 0 && base() != nullptr) cuda::driver().mem_host_unregister(base());
}

std::uint32_t& SharedPage::word(int index) const {
  return *reinterpret_cast<std::uint32_t*>(base() + static_cast<std::size_t>(index) * line);
}

std::uint32_t& SharedPage::signal(Signal kind, int half, int from, int to) const {
  const int group = static_cast<int>(kind) * halves + half;
  return word(1 + 3 * ranks_ + (group * ranks_ + from) * ranks_ + to);
}

cuda::DevicePointer SharedPage::device_address(const std::uint32_t& word) const {
  return registered_ + (cuda::address_of(&word) - cuda::address_of(base()));
}

SharedPage::Announcement& SharedPage::announcement(int rank, std::uint64_t sequence) const {
  auto* const all = reinterpret_cast<Announcement*>(base() + lines(ranks_) * line);
  return all[static_cast<std::size_t>(rank) * announced + sequence % announced];
}

void SharedPage::announce(int rank, std::uint64_t sequence, std::uint64_t fingerprint) const {
  Announcement& entry = announcement(rank, sequence);
  // seq_cst: a reader that sees the new fingerprint beside a sequence sees this 0 when it looks
  // again.
  shared(entry.sequence).store(0, std::memory_order_seq_cst);
  shared(entry.fingerprint).store(fingerprint, std::memory_order_seq_cst);
  shared(entry.sequence).store(sequence, std::memory_order_seq_cst);
}

std::optional<std::uint64_t> SharedPage::find(int rank, std::uint64_t sequence) const {
  Announcement& entry = announcement(rank, sequence);
  if (shared(entry.sequence).load(std::memory_order_seq_cst) != sequence) return std::nullopt;
  const std::uint64_t found = shared(entry.fingerprint).load(std::memory_order_seq_cst);
  if (shared(entry.sequence).load(std::memory_order_seq_cst) != sequence) return std::nullopt;
  return found;
}

}  // namespace rondo::direct_device
