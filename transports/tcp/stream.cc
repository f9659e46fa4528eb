#include "transports/tcp/stream.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "rondo/error.h"

namespace rondo::tcp {
namespace {

[[noreturn]] void throw_lost(const Ends& ends, const std::string& why) {
  throw Error(ErrorCode::peer_lost, "the TCP connection broke: " + why,
              {.rank = ends.rank,
               .peer = ends.peer,
               .remedy = "look at that rank's own output for why it ended"});
}

/// What ended a connection, in words. 0: its end was reached in order.
std::string words_of_end(int error) {
  // A process that is killed, or leaves in the middle of a call, leaves input unread: then its
  // kernel resets the connection.
  if (error == ECONNRESET)
    return "it was reset: the peer's process was killed, or left without reading what it was sent";
  if (error == 0 || error == EPIPE) return "the peer closed it";
  return std::generic_category().message(error);
}

/// The peer may well live: it does not answer.
bool is_of_path(int error) {
  return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH || error == ENETDOWN;
}

/// A system call on a connection failed.
[[noreturn]] void throw_failed(const Ends& ends, int error) {
  if (is_of_path(error)) throw cut_off(ends, error);
  if (error != EFAULT) throw_lost(ends, words_of_end(error));
  throw Error(
      ErrorCode::invalid_argument, "a buffer of this call is not all memory of this process",
      {.rank = ends.rank, .remedy = "check the count, and that the memory has not been freed"});
}

FrameHeader make_header(std::size_t bytes, FrameTag tag, std::uint32_t number) {
  return {.checksum = tag.checksum,
          .fingerprint = tag.fingerprint,
          .bytes = static_cast<std::uint32_t>(bytes),
          .number = number};
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

/// One part by send(), which costs less than sendmsg().
std::size_t write_parts(int socket, std::span<iovec> parts, const Ends& ends) {
  constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t sent = parts.size() == 1
                           ? ::send(socket, parts[0].iov_base, parts[0].iov_len, flags)
                           : ::sendmsg(socket, &message, flags);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (would_block(errno)) return 0;
  throw_failed(ends, errno);
}

}  // namespace

Error cut_off(const Ends& ends, int error) {
  return Error(ErrorCode::timeout,
               "the path of the TCP connection to the peer is broken: " +
                   std::generic_category().message(error),
               {.rank = ends.rank,
                .peer = ends.peer,
                .remedy = "look for a pulled cable, an interface that is down, or a firewall; "
                          "RONDO_SOCKET_IFNAME chooses the interface"});
}

std::span<std::byte> StreamWriter::acquire() {
  if (pending()) flush();
  std::byte* const memory = unsent_.acquire();
  if (memory == nullptr) return {};
  return {memory, sizes_.slot};
}

void StreamWriter::move_to(Connection connection) {
  next_ = std::move(connection);
  move_between_frames();
}

void StreamWriter::move_between_frames() {
  if (next_ && !pending() && finished()) connection_ = std::exchange(next_, nullptr);
}

void StreamWriter::commit(std::size_t bytes, FrameTag tag, std::uint32_t number) {
  unsent_.commit(make_header(bytes, tag, number), sizes_.header, bytes);
  flush();
}

bool StreamWriter::flush() {
  bool moved = false;
  while (pending()) {
    const std::span<std::byte> oldest = unsent_.front();
    iovec bytes{oldest.data(), oldest.size()};
    const std::size_t sent = write_parts(descriptor(), {&bytes, 1}, ends_);
    if (sent == 0) break;
    moved = true;
    unsent_.sent(sent);
    if (sent < oldest.size()) break;
  }
  move_between_frames();
  return moved;
}

std::size_t StreamWriter::send_from(std::span<const std::byte> bytes, FrameTag tag,
                                    std::uint32_t number) {
  if (pending()) flush();
  if (pending() && !absorbs_) return 0;
  if (direct_left_ == 0) {
    direct_header_ = make_header(bytes.size(), tag, number);
    direct_header_left_ = sizes_.header;
    direct_left_ = bytes.size();
  }
  if (bytes.size() != direct_left_) {
    throw Error(ErrorCode::internal, "send_from() was not given the rest of the frame it began",
                {.rank = ends_.rank, .peer = ends_.peer});
  }
  const std::size_t sent = pending() ? 0 : direct(bytes);
  if (absorbs_ && !finished() && absorb(bytes.subspan(sent))) return bytes.size();
  return sent;
}

/// The rest of the frame that send_from() began. False: no room.
bool StreamWriter::absorb(std::span<const std::byte> bytes) {
  std::byte* const memory = unsent_.acquire();
  if (memory == nullptr) return false;
  std::memcpy(memory, bytes.data(), bytes.size());
  unsent_.commit(direct_header_, direct_header_left_, bytes.size());
  direct_header_left_ = 0;
  direct_left_ = 0;
  return true;
}

std::size_t StreamWriter::direct(std::span<const std::byte> bytes) {
  std::array<iovec, 2> parts{
      iovec{direct_header_.last(direct_header_left_).data(), direct_header_left_},
      iovec{const_cast<std::byte*>(bytes.data()), bytes.size()},
  };
  const std::size_t skipped = direct_header_left_ == 0 ? 1 : 0;
  const std::size_t sent = write_parts(descriptor(), std::span(parts).subspan(skipped), ends_);
  const std::size_t of_header = std::min(sent, direct_header_left_);
  direct_header_left_ -= of_header;
  direct_left_ -= sent - of_header;
  move_between_frames();
  return sent - of_header;
}

void IncomingConnection::add(Connection connection, bool own, bool last) {
  if (settled_) return;
  connected_ = true;
  (own ? own_came_ : peers_came_) = true;
  more_to_come_ = !last && !own_came_;
  candidates_.push_back({std::move(connection), own, last});
}

void IncomingConnection::add_no_more() {
  more_to_come_ = false;
  for (Candidate& candidate : candidates_) candidate.last = true;
}

void IncomingConnection::add_descriptors(std::vector<pollfd>& descriptors) const {
  const auto add = [&](const Connection& connection) {
    descriptors.push_back({.fd = connection->get(), .events = POLLIN, .revents = 0});
  };
  if (settled()) return add(connection_);
  for (const Candidate& candidate : candidates_) add(candidate.connection);
}

IncomingConnection::Look IncomingConnection::look(const Candidate& candidate, std::uint32_t number,
                                                  std::size_t header_bytes) {
  FrameHeader next;
  const ssize_t seen = ::recv(candidate.connection->get(), next.last(header_bytes).data(),
                              header_bytes, MSG_PEEK | MSG_DONTWAIT);
  if (seen < 0 && would_block(errno)) return Look::nothing;
  if (seen <= 0) {
    if (seen < 0) error_ = errno;
    return Look::ended;
  }
  if (seen < static_cast<ssize_t>(header_bytes)) return Look::nothing;
  // A later frame waits for those before it, which come on the peer's connection. An earlier number
  // is no frame, as header() then reports.
  const bool later = static_cast<std::int32_t>(next.number - number) > 0;
  return candidate.own && later ? Look::nothing : Look::next_frame;
}

bool IncomingConnection::find(std::uint32_t number, std::size_t header_bytes, const Ends& ends) {
  if (settled_) return true;
  for (auto candidate = candidates_.begin(); candidate != candidates_.end();) {
    const Look found = look(*candidate, number, header_bytes);
    if (found == Look::next_frame) {
      connection_ = candidate->connection;
      settled_ = candidate->last;
      if (settled_) candidates_.clear();
      return true;
    }
    // The peer lets go of a connection once it goes on with another.
    candidate = found == Look::ended ? candidates_.erase(candidate) : candidate + 1;
  }
  if (candidates_.empty() && !may_still_come()) throw_failed(ends, error_);
  return false;
}

/// A peer that is done closes every connection, and the end of this rank's own may be seen before
/// the peer's has been accepted, with the frames on it.
bool IncomingConnection::may_still_come() {
  if (more_to_come_) return true;
  if (peers_came_) return false;
  const auto now = std::chrono::steady_clock::now();
  if (looked_) waited_ += std::min<std::chrono::nanoseconds>(now - *looked_, longest_look);
  looked_ = now;
  return waited_ < longest_crossing;
}

const FrameHeader* StreamReader::header(std::uint32_t number) {
  if (header_) return &*header_;
  // Its beginning may have come along with the frame before.
  if (end_ == begin_ && !incoming_.find(number, sizes_.header, ends_)) return nullptr;
  if (end_ - begin_ < sizes_.header) {
    make_room(header_offset());
    receive_more(sizes_.header - (end_ - begin_) + along_);
    if (end_ - begin_ < sizes_.header) return nullptr;
  }
  FrameHeader arrived;
  std::memcpy(arrived.last(sizes_.header).data(), memory_.data() + begin_, sizes_.header);
  if (arrived.number != number || arrived.bytes > sizes_.slot) {
    throw Error(ErrorCode::internal, "what arrived on a TCP connection is not the next frame",
                {.rank = ends_.rank,
                 .peer = ends_.peer,
                 .remedy = "use the same version of rondo on every rank"});
  }
  begin_ += sizes_.header;
  left_ = arrived.bytes;
  handed_out_ = false;
  header_ = arrived;
  return &*header_;
}

std::size_t StreamReader::read(std::span<std::byte> destination) {
  handed_out_ = true;
  const std::size_t ready = std::min(destination.size(), end_ - begin_);
  if (ready > 0) std::memcpy(destination.data(), memory_.data() + begin_, ready);
  begin_ += ready;
  std::size_t filled = ready;
  if (ready < destination.size()) {
    // The memory is used up, so from here bytes go straight to their place. Where that completes
    // the frame, the beginning of the next one comes along.
    begin_ = end_ = header_offset();
    const bool ends_frame = left_ == destination.size();
    filled += receive(destination.subspan(ready), ends_frame ? ahead() : 0);
  }
  left_ -= filled;
  return filled;
}

const std::byte* StreamReader::payload() {
  const std::size_t alignment = left_ > 40 ? 64 : 8;  // see ReceiveChannel::peek()
  if (end_ - begin_ < left_ || begin_ % alignment != 0) {
    make_room(payload_offset);
    if (end_ - begin_ < left_) receive_more(left_ - (end_ - begin_) + ahead());
    if (end_ - begin_ < left_) return nullptr;
  }
  return memory_.data() + begin_;
}

void StreamReader::next() {
  // Frames of a call are mostly alike, and so are calls.
  const std::size_t bytes = header_->bytes;
  along_ = handed_out_ && bytes > copied_bytes ? 0 : std::max(bytes, short_bytes);
  begin_ += left_;
  left_ = 0;
  header_.reset();
}

/// How much to ask for beyond the current frame. After a long one that is only a header, so that
/// the next payload can go straight to its place.
std::size_t StreamReader::ahead() const {
  return sizes_.header + (header_->bytes > short_bytes ? 0 : short_bytes);
}

/// Moves the bytes that have arrived to `offset`, so that there is room after them.
void StreamReader::make_room(std::size_t offset) {
  if (!memory_) memory_ = Buffer(payload_offset + sizes_.slot + 2 * short_bytes, ends_);
  const std::size_t bytes = end_ - begin_;
  if (begin_ != offset && bytes > 0)
    std::memmove(memory_.data() + offset, memory_.data() + begin_, bytes);
  begin_ = offset;
  end_ = offset + bytes;
}

/// Receives into the reader's memory, after what is there.
std::size_t StreamReader::receive_more(std::size_t wanted) {
  const ssize_t received =
      ::recv(incoming_.descriptor(), memory_.data() + end_, wanted, MSG_DONTWAIT);
  const std::size_t bytes = checked(received);
  end_ += bytes;
  return bytes;
}

/// Fills `destination`, then receives up to `ahead` bytes into the reader's memory.
std::size_t StreamReader::receive(std::span<std::byte> destination, std::size_t ahead) {
  if (ahead == 0) {
    return checked(
        ::recv(incoming_.descriptor(), destination.data(), destination.size(), MSG_DONTWAIT));
  }
  make_room(header_offset());
  std::array<iovec, 2> parts{
      iovec{destination.data(), destination.size()},
      iovec{memory_.data() + end_, ahead},
  };
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const std::size_t bytes = checked(::recvmsg(incoming_.descriptor(), &message, MSG_DONTWAIT));
  const std::size_t placed = std::min(bytes, destination.size());
  end_ += bytes - placed;
  return placed;
}

/// What a system call received; 0: nothing there yet.
std::size_t StreamReader::checked(ssize_t received) const {
  if (received > 0) return static_cast<std::size_t>(received);
  if (received == 0) throw_lost(ends_, words_of_end(0));
  if (would_block(errno)) return 0;
  throw_failed(ends_, errno);
}

}  // namespace rondo::tcp
