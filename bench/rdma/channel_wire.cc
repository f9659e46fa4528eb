#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "bench/rdma/wire.h"
#include "core/transport/doorbell.h"
#include "rondo/error.h"
#include "transports/table.h"

namespace rondo::bench {
namespace {

// Shorter messages are copied into a slot even where they could go straight from their place.
constexpr std::size_t longest_copied = 1024;

/// Moves data as the executor does: through slots, or without a copy where the channel can do that.
class ChannelWire final : public Wire {
 public:
  explicit ChannelWire(const WireSettings& settings) : transport_(make(settings)) {
    const int peer = 1 - settings.rank;
    std::vector<std::string> addresses(2, transport_->address());
    addresses[static_cast<std::size_t>(peer)] = swap_texts(settings, transport_->address());
    transport_->meet(addresses);
    out_ = &transport_->sender(peer, 0);
    in_ = &transport_->receiver(peer, 0);
  }

  ~ChannelWire() override {
    try {
      while (!out_->flushed()) wait();
    } catch (const Error&) {  // the peer has gone: nobody waits for the rest
    }
  }

  void send(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const auto frame = bytes.first(std::min(bytes.size(), transport_->slot_bytes()));
      send_frame(frame);
      bytes = bytes.subspan(frame.size());
    }
    transport_->progress();
  }

  void receive(std::span<std::byte> bytes) override {
    while (!bytes.empty()) {
      const auto frame = bytes.first(std::min(bytes.size(), transport_->slot_bytes()));
      receive_frame(frame);
      bytes = bytes.subspan(frame.size());
    }
  }

 private:
  std::unique_ptr<Transport> make(const WireSettings& settings) {
    const TransportKind* const kind = find_transport(settings.way);
    if (kind == nullptr)
      throw Error(ErrorCode::configuration, "there is no transport '" + settings.way + "'");
    TransportSettings transport{.rank = settings.rank, .ranks = 2, .communicator = 1};
    transport.doorbell = &doorbell_;
    transport.interface = settings.interface;
    transport.infiniband.hca = settings.hca;
    transport.infiniband.queue_pairs = settings.queue_pairs;
    return kind->make(transport);
  }

  void send_frame(std::span<const std::byte> frame) {
    if (frame.size() > longest_copied && out_->sends_from_place()) {
      for (std::size_t done = 0; done < frame.size();) {
        const std::size_t taken = out_->send_from(frame.subspan(done), {1});
        if (taken == 0) wait();
        done += taken;
      }
      return;
    }
    std::span<std::byte> slot;
    while ((slot = out_->acquire()).empty()) wait();
    std::memcpy(slot.data(), frame.data(), frame.size());
    out_->commit(frame.size(), {1});
  }

  void receive_frame(std::span<std::byte> place) {
    if (place.size() > longest_copied && in_->receives_into_place()) {
      while (!in_->frame_head()) wait();
      for (std::size_t done = 0; done < place.size();) {
        const std::size_t got = in_->receive_into(place.subspan(done));
        if (got == 0) wait();
        done += got;
      }
      return;
    }
    const Frame* frame;
    while ((frame = in_->peek()) == nullptr) wait();
    if (frame->payload.size() != place.size())
      throw Error(ErrorCode::internal, "a frame has another length than was sent");
    std::memcpy(place.data(), frame->payload.data(), frame->payload.size());
    in_->release();
  }

  /// Spins; looks around as often as executors do (core/execute/backoff.h), and yields when the
  /// other process seems to have lost its core.
  void wait() {
    if (++spins_ % 32 == 0) transport_->progress();
    if (spins_ % 256 == 0) ::sched_yield();
  }

  Doorbell doorbell_;  // before the transport, which uses it
  std::unique_ptr<Transport> transport_;
  SendChannel* out_ = nullptr;
  ReceiveChannel* in_ = nullptr;
  unsigned spins_ = 0;
};

}  // namespace

std::string swap_texts(const WireSettings& settings, const std::string& mine) {
  std::array<char, 4096> text{};
  if (::write(settings.writing, mine.data(), mine.size()) < 0)
    throw Error(ErrorCode::system, std::string("writing a pipe: ") + std::strerror(errno));
  const ssize_t bytes = ::read(settings.reading, text.data(), text.size());
  if (bytes <= 0) throw Error(ErrorCode::system, "the other process has ended");
  return {text.data(), static_cast<std::size_t>(bytes)};
}

std::unique_ptr<Wire> make_wire(const WireSettings& settings) {
  if (settings.way == "socket") return make_socket_wire(settings);
  return std::make_unique<ChannelWire>(settings);
}

}  // namespace rondo::bench
