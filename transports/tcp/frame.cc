#include "transports/tcp/frame.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "rondo/error.h"

namespace rondo::tcp {
namespace {

constexpr std::size_t cache_line = 64;

}  // namespace

Buffer::Buffer(std::size_t bytes, const Ends& ends)
    : memory_(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64))) {
  if (memory_) return;
  throw Error(ErrorCode::out_of_memory,
              "no memory for a channel buffer of " + std::to_string(bytes) + " bytes",
              {.rank = ends.rank, .peer = ends.peer, .remedy = "set a smaller RONDO_SLOT_BYTES"});
}

/// The memory that a frame of so many payload bytes takes.
std::size_t UnsentFrames::block(std::size_t bytes) {
  return payload_offset + (bytes + cache_line - 1) / cache_line * cache_line;
}

// While at most one block of the longest kind is in use, there is room for another one, perhaps
// after move_to_front(): either it fits after the first, or enough was sent to move the rest.
std::size_t UnsentFrames::depth(std::size_t slot_bytes, std::size_t frame_bytes) {
  return std::clamp(block(slot_bytes) / block(frame_bytes) + 1, std::size_t{2}, most);
}

/// The place after all frames.
std::size_t UnsentFrames::behind() const {
  if (count_ == 0) return 0;
  const Unsent& newest = frames_[(first_ + count_ - 1) % most];
  return (newest.end + cache_line - 1) / cache_line * cache_line;
}

std::byte* UnsentFrames::acquire() {
  if (!acquired_) {
    if (count_ == most) return nullptr;
    if (!fits(behind())) move_to_front();
    if (!fits(behind())) return nullptr;
    if (!memory_) memory_ = Buffer(room(), ends_);
    place_ = behind();
    acquired_ = true;
  }
  return memory_.data() + place_ + payload_offset;
}

/// Moves them only where that gains at least half a longest block. So a byte is moved about twice
/// at most.
void UnsentFrames::move_to_front() {
  const std::size_t gained = frames_[first_].begin / cache_line * cache_line;
  if (gained < block(slot_bytes_) / 2) return;
  std::memmove(memory_.data(), memory_.data() + gained, behind() - gained);
  for (std::size_t i = 0; i < count_; ++i) {
    Unsent& frame = frames_[(first_ + i) % most];
    frame.begin -= gained;
    frame.end -= gained;
  }
}

void UnsentFrames::commit(const FrameHeader& header, std::size_t header_bytes, std::size_t bytes) {
  const std::size_t payload = place_ + payload_offset;
  std::memcpy(memory_.data() + payload - sizeof(header), &header, sizeof(header));
  frames_[(first_ + count_) % most] = {payload - header_bytes, payload + bytes};
  ++count_;
  acquired_ = false;
}

std::span<std::byte> UnsentFrames::front() const {
  const Unsent& oldest = frames_[first_];
  return {memory_.data() + oldest.begin, oldest.end - oldest.begin};
}

void UnsentFrames::sent(std::size_t bytes) {
  Unsent& oldest = frames_[first_];
  oldest.begin += bytes;
  if (oldest.begin < oldest.end) return;
  first_ = (first_ + 1) % most;
  --count_;
}

}  // namespace rondo::tcp
