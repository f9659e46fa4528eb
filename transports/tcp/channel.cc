#include "transports/tcp/channel.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/socket_options.h"

namespace rondo::tcp {
namespace {

FrameTag tag_of(const FrameHeader& header) { return {header.fingerprint, header.checksum}; }

}  // namespace

TcpSendChannel::TcpSendChannel(const FrameSizes& sizes, int sockets, Ends ends, bool absorbs,
                               Backlog& backlog)
    : unconnected_(static_cast<std::size_t>(sockets)),
      slot_bytes_(sizes.slot),
      ends_(ends),
      backlog_(backlog) {
  writers_.reserve(unconnected_);
  for (int i = 0; i < sockets; ++i) writers_.emplace_back(sizes, ends, absorbs);
}

void TcpSendChannel::connect(std::size_t index, Connection connection) {
  writers_[index].connect(std::move(connection));
  --unconnected_;
}

void TcpSendChannel::move_to(std::size_t index, Connection connection) {
  writers_[index].move_to(std::move(connection));
}

void TcpSendChannel::add_connections(std::vector<Connection>& connections) const {
  for (const StreamWriter& writer : writers_) {
    if (writer.connected()) connections.push_back(writer.connection());
  }
}

void TcpSendChannel::fail(const Error& error) {
  if (!failure_) failure_ = error;
}

void TcpSendChannel::check_paths() {
  if (failure_) return;
  for (const StreamWriter& writer : writers_)
    if (writer.connected() && is_path_broken(writer.descriptor())) {
      fail(cut_off(ends_, ETIMEDOUT));
      throw Error(*failure_);
    }
}

template <class Body>
auto TcpSendChannel::guarded(Body body) -> decltype(body()) {
  if (failure_) throw Error(*failure_);
  try {
    return body();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::peer_lost || error.code() == ErrorCode::timeout) fail(error);
    throw;
  }
}

bool TcpSendChannel::pending() const {
  return std::ranges::any_of(writers_, [](const StreamWriter& writer) { return writer.pending(); });
}

void TcpSendChannel::note_backlog() {
  if (in_backlog_ || !pending()) return;
  in_backlog_ = true;
  backlog_.push_back(this);
}

bool TcpSendChannel::flush() noexcept {
  bool moved = false;
  try {
    for (StreamWriter& writer : writers_) moved |= writer.flush();
  } catch (const Error& error) {
    fail(error);
    moved = true;
  }
  if (failure_ || !pending()) {
    in_backlog_ = false;
    std::erase(backlog_, this);
  }
  return moved;
}

std::span<std::byte> TcpSendChannel::acquire() {
  return guarded([&]() -> std::span<std::byte> {
    if (!connected()) return {};
    return writer().acquire();
  });
}

void TcpSendChannel::commit(std::size_t bytes, FrameTag tag) {
  guarded([&] {
    writer().commit(bytes, tag, static_cast<std::uint32_t>(number_));
    ++number_;
    note_backlog();
  });
}

std::size_t TcpSendChannel::send_from(std::span<const std::byte> bytes, FrameTag tag) {
  return guarded([&]() -> std::size_t {
    if (bytes.empty() || bytes.size() > slot_bytes_) {
      throw Error(ErrorCode::internal, "send_from() takes frames of 1 byte to a slot",
                  {.rank = ends_.rank, .peer = ends_.peer});
    }
    if (!connected()) return 0;
    const std::size_t sent = writer().send_from(bytes, tag, static_cast<std::uint32_t>(number_));
    note_backlog();
    if (sent > 0 && writer().finished()) ++number_;
    return sent;
  });
}

bool TcpSendChannel::flushed() const {
  if (failure_) throw Error(*failure_);
  return std::ranges::all_of(
      writers_, [](const StreamWriter& writer) { return !writer.pending() && writer.finished(); });
}

void TcpSendChannel::add_descriptors(std::vector<pollfd>& descriptors) const {
  for (const StreamWriter& writer : writers_) {
    if (!writer.connected() || failure_ || (!writer.pending() && writer.finished())) continue;
    descriptors.push_back({.fd = writer.descriptor(), .events = POLLOUT, .revents = 0});
  }
}

TcpReceiveChannel::TcpReceiveChannel(const FrameSizes& sizes, int sockets, Ends ends)
    : of_peer_(static_cast<std::size_t>(sockets)), unconnected_(of_peer_.size()), ends_(ends) {
  readers_.reserve(unconnected_);
  for (int i = 0; i < sockets; ++i) readers_.emplace_back(sizes, ends);
}

void TcpReceiveChannel::connect(std::size_t index, Connection connection, bool own, bool last) {
  if (!readers_[index].incoming().connected()) --unconnected_;
  if (!own) of_peer_[index] = connection;
  readers_[index].incoming().add(std::move(connection), own, last);
}

void TcpReceiveChannel::connect_no_more() {
  for (StreamReader& reader : readers_) reader.incoming().add_no_more();
}

bool TcpReceiveChannel::settled() const {
  return std::ranges::all_of(
      readers_, [](const StreamReader& reader) { return reader.incoming().settled(); });
}

void TcpReceiveChannel::fail(const Error& error) {
  if (!failure_) failure_ = error;
}

template <class Body>
auto TcpReceiveChannel::guarded(Body body) -> decltype(body()) {
  if (failure_) throw Error(*failure_);
  try {
    return body();
  } catch (const Error& error) {
    fail(error);
    throw;
  }
}

const FrameHeader* TcpReceiveChannel::header() {
  if (!connected()) return nullptr;
  return reader().header(static_cast<std::uint32_t>(number_));
}

const Frame* TcpReceiveChannel::peek() {
  if (holding_) return &frame_;
  return guarded([&]() -> const Frame* {
    const FrameHeader* head = header();
    waited_for_ = true;
    if (head == nullptr) return nullptr;
    if (handed_ > 0) {
      throw Error(ErrorCode::internal, "a frame begun by receive_into() is finished by it",
                  {.rank = ends_.rank, .peer = ends_.peer});
    }
    const std::byte* payload = reader().payload();
    if (payload == nullptr) return nullptr;
    waited_for_ = false;
    frame_ = {tag_of(*head), {payload, head->bytes}};
    holding_ = true;
    return &frame_;
  });
}

void TcpReceiveChannel::release() {
  if (!holding_) {
    throw Error(ErrorCode::internal, "release() without a frame",
                {.rank = ends_.rank, .peer = ends_.peer});
  }
  finish();
}

void TcpReceiveChannel::finish() {
  reader().next();
  ++number_;
  handed_ = 0;
  holding_ = false;
}

std::optional<FrameHead> TcpReceiveChannel::frame_head() {
  if (holding_) return FrameHead{frame_.tag, frame_.payload.size()};
  return guarded([&]() -> std::optional<FrameHead> {
    const FrameHeader* head = header();
    waited_for_ = head == nullptr;
    if (head == nullptr) return std::nullopt;
    return FrameHead{tag_of(*head), head->bytes};
  });
}

std::size_t TcpReceiveChannel::receive_into(std::span<std::byte> destination) {
  if (!holding_ && !frame_head()) return 0;
  return guarded([&] {
    const std::size_t bytes = header()->bytes;
    destination = destination.first(std::min(destination.size(), bytes - handed_));
    const std::size_t filled = reader().read(destination);
    handed_ += filled;
    waited_for_ = filled < destination.size();
    if (bytes > 0 && handed_ == bytes) finish();
    return filled;
  });
}

void TcpReceiveChannel::add_descriptors(std::vector<pollfd>& descriptors) const {
  if (!waited_for_ || failure_ || !connected()) return;
  readers_[number_ % readers_.size()].incoming().add_descriptors(descriptors);
}

}  // namespace rondo::tcp
