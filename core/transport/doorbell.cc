#include "core/transport/doorbell.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <climits>
#include <ctime>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/sealed.h"
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

void wake(DoorbellWord& word, const UniqueFd& event) {
  // Clears the word first, so that an owner between arm() and its futex wait does not sleep. The
  // acquire pairs with arm(), behind which the owner's eventfd is there.
  const std::uint32_t was = word.sleeping.exchange(DoorbellWord::awake, std::memory_order_acq_rel);
  if (was == DoorbellWord::in_futex) futex(word.sleeping, FUTEX_WAKE, INT_MAX, nullptr);
  if (was != DoorbellWord::in_poll) return;
  const std::uint64_t one = 1;
  // Cannot fail but where 2^64 - 2 wakes are unread, which wake just as well.
  [[maybe_unused]] const auto size = ::write(event.get(), &one, sizeof one);
}

Doorbell::Doorbell() : memory_(make_page()), word_(map_word(memory_.get())) {}

Doorbell::~Doorbell() { unmap_word(word_); }

void Doorbell::make_pollable() {
  if (event_) return;
  event_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event_)
    throw_system("cannot make an eventfd to end sleeps", "raise the limit of open files");
}

std::vector<int> Doorbell::descriptors() const {
  if (!event_) return {memory_.get()};
  return {memory_.get(), event_.get()};
}

void Doorbell::arm() {
  // Sequentially consistent, so that the owner's next look at its channels comes after the store.
  word_->sleeping.exchange(event_ ? DoorbellWord::in_poll : DoorbellWord::in_futex,
                           std::memory_order_seq_cst);
}

void Doorbell::disarm() { word_->sleeping.store(DoorbellWord::awake, std::memory_order_relaxed); }

void Doorbell::sleep(std::chrono::milliseconds longest, std::vector<pollfd>& descriptors) {
  if (descriptors.empty() && !event_) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
    const auto rest = std::chrono::nanoseconds(longest - seconds);
    const timespec timeout{.tv_sec = static_cast<time_t>(seconds.count()),
                           .tv_nsec = static_cast<long>(rest.count())};
    futex(word_->sleeping, FUTEX_WAIT, DoorbellWord::in_futex, &timeout);
    return;
  }
  if (event_) descriptors.push_back({.fd = event_.get(), .events = POLLIN, .revents = 0});
  ::poll(descriptors.data(), descriptors.size(), static_cast<int>(longest.count()));
  if (!event_ || descriptors.back().revents == 0) return;
  std::uint64_t rung = 0;
  [[maybe_unused]] const auto size = ::read(event_.get(), &rung, sizeof rung);
}

void Doorbell::interrupt() noexcept {
  // With arm(): either the owner sees what the caller stored before, or this sees that it sleeps.
  if (word_->sleeping.load(std::memory_order_seq_cst) != DoorbellWord::awake) wake(*word_, event_);
}

PeerDoorbell::PeerDoorbell(std::span<UniqueFd> passed) {
  if (passed.empty() || passed.size() > 2 || !is_sealed(passed[0].get(), Doorbell::page_bytes)) {
    throw Error(ErrorCode::internal, "a peer passed something that is not a doorbell page");
  }
  word_ = map_word(passed[0].get());
  if (passed.size() == 2) event_ = std::move(passed[1]);
  passed[0] = UniqueFd();
}

PeerDoorbell::~PeerDoorbell() { unmap_word(word_); }

}  // namespace rondo
