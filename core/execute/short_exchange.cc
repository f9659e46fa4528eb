// Exchanges of short blocks. Part of Engine.
#include "core/execute/short_exchange.h"

#include <cstring>

#include "core/execute/engine.h"

namespace rondo::detail {

bool Engine::takes_short_exchanges() const { return by_memory_ && trace_ == nullptr && idle(); }

void Engine::take(ShortExchange& exchange) {
  exchange_ = &exchange;
  exchange.done = false;
  exchange.error = nullptr;
  progress_exchange();
}

bool Engine::progress_exchange() {
  ShortExchange& exchange = *exchange_;
  const std::size_t before = exchange.left();
  std::erase_if(exchange.sends, [&](const ShortMessage& message) { return send(message); });
  std::erase_if(exchange.receives,
                [&](const ShortMessage& message) { return receive(message, exchange.type); });
  exchange.done = exchange.left() == 0 && handed_over();
  if (exchange.done) exchange_ = nullptr;
  return exchange.done || exchange.left() < before;
}

bool Engine::send(const ShortMessage& message) {
  SendChannel& out = sender(message.peer, point_to_point_lane);
  const std::span<std::byte> slot = out.acquire();
  if (slot.empty()) return false;
  if (message.bytes > 0) std::memcpy(slot.data(), message.memory, message.bytes);
  out.commit(message.bytes, message.fingerprint);
  count_frame(message.peer, message.bytes, true);
  return true;
}

bool Engine::receive(const ShortMessage& message, DataType type) {
  ReceiveChannel& in = receiver(message.peer, point_to_point_lane);
  const Frame* const head = in.peek();
  if (head == nullptr) return false;
  const Call call = message_between(message.bytes / size_of(type), type);
  if (head->fingerprint != message.fingerprint) throw_mismatch(call, message.peer);
  check_length(*head, message.bytes, call, message.peer);
  if (message.bytes > 0) std::memcpy(message.memory, head->payload.data(), message.bytes);
  in.release();
  return true;
}

}  // namespace rondo::detail
