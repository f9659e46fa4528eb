#include "core/transport/doorbell.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <climits>
#include <ctime>
#include <string>
#include <system_error>
#include <utility>

#include "rondo/error.h"

namespace rondo {
namespace {

[[noreturn]] void throw_system(const std::string& what, const std::string& remedy) {
  const std::string reason = std::generic_category().message(errno);
  throw Error(ErrorCode::system, what + ": " + reason, {.remedy = remedy});
}

// Zero-filled memory is a valid DoorbellWord: a lock-free atomic of value 0.
DoorbellWord* map_word(int descriptor) {
  void* page =
      ::mmap(nullptr, Doorbell::page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (page == MAP_FAILED) throw_system("cannot map a doorbell page", "raise vm.max_map_count");
  return static_cast<DoorbellWord*>(page);
}

void unmap_word(DoorbellWord* word) { ::munmap(word, Doorbell::page_bytes); }

UniqueFd make_page() {
  UniqueFd memory(::memfd_create("rondo-doorbell", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) throw_system("cannot make a doorbell page", "raise the limit of open files");
  if (::ftruncate(memory.get(), Doorbell::page_bytes) != 0) {
    throw_system("cannot size a doorbell page", "free some memory");
  }
  // A peer that maps the page must never meet a shorter one: that would be SIGBUS.
  ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return memory;
}

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  return ::syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

}  // namespace

void wake(DoorbellWord& word) {
  // Clears the word first, so that an owner between arm() and its futex wait does not sleep.
  if (word.sleeping.exchange(0, std::memory_order_acq_rel) != 0) {
    futex(word.sleeping, FUTEX_WAKE, INT_MAX, nullptr);
  }
}

Doorbell::Doorbell() : memory_(make_page()), word_(map_word(memory_.get())) {}

Doorbell::~Doorbell() { unmap_word(word_); }

void Doorbell::arm() {
  // Sequentially consistent, so that the owner's next look at its channels comes after the store.
  word_->sleeping.exchange(1, std::memory_order_seq_cst);
}

void Doorbell::disarm() { word_->sleeping.store(0, std::memory_order_relaxed); }

void Doorbell::sleep(std::chrono::microseconds longest) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
  const auto rest = std::chrono::nanoseconds(longest - seconds);
  const timespec timeout{.tv_sec = static_cast<time_t>(seconds.count()),
                         .tv_nsec = static_cast<long>(rest.count())};
  futex(word_->sleeping, FUTEX_WAIT, 1, &timeout);
}

PeerDoorbell::PeerDoorbell(UniqueFd memory) {
  struct stat status {};
  if (::fstat(memory.get(), &status) != 0 ||
      status.st_size < static_cast<off_t>(Doorbell::page_bytes)) {
    throw Error(ErrorCode::internal, "a peer passed something that is not a doorbell page");
  }
  word_ = map_word(memory.get());
}

PeerDoorbell::~PeerDoorbell() { unmap_word(word_); }

}  // namespace rondo
