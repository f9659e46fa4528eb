#include "core/control/call.h"

#include <algorithm>
#include <string_view>

namespace rondo {
namespace {

void unpack(std::uint64_t kinds, Call& call) {
  call.collective = static_cast<Collective>(kinds & 0xff);
  call.root = static_cast<std::int32_t>(kinds >> 32);
  if ((kinds & own_bit) != 0) {
    call.operator_code = static_cast<std::uint32_t>(
        (kinds >> 8 & 0x7f) | (kinds >> 16 & 0xff) << 7 | (kinds >> 24 & 0x7f) << 15);
    return;
  }
  call.type = static_cast<DataType>(kinds >> 8 & 0xff);
  call.op = static_cast<ReduceOperator>(kinds >> 16 & 0xff);
  call.accumulate = static_cast<DataType>(kinds >> 24 & 0x3f);
  call.reproducible = (kinds & reproducible_bit) != 0;
  call.on_devices = (kinds & on_devices_bit) != 0;
}

/// "float32", "elements of 12 bytes".
std::string elements_of(const Call& call) {
  if (call.operator_code == 0) return std::string(name(call.type));
  if (call.own == nullptr) return "elements";
  return "elements of " + std::to_string(call.own->element_bytes) + " bytes";
}

std::string accumulated(const Call& call) {
  return "accumulated in " + std::string(name(call.accumulate));
}

/// "sum, accumulated in float64, reproducible", "largest".
std::string operator_of(const Call& call) {
  if (call.own != nullptr) return call.own->name;
  if (call.operator_code != 0)
    return "an operator of the caller's, whose name, size and kind make the number " +
           std::to_string(call.operator_code);
  return std::string(name(call.op)) +
         (call.accumulate != call.type ? ", " + accumulated(call) : "") +
         (call.reproducible ? ", reproducible" : "");
}

}  // namespace

std::string to_string(const Call& call) {
  std::string text = full_name(call);
  if (call.sequence != 0) text += " #" + std::to_string(call.sequence);
  if (call.collective == Collective::barrier) return text;
  if (call.collective == Collective::all_to_all && call.blocks == between_pairs)
    return text + " (" + std::string(name(call.type)) + ")";
  text += " (" + std::to_string(call.count) + " x " + elements_of(call);
  if (call.blocks != 0) text += call.blocks == between_pairs ? " of an all_to_all_v" : " in all";
  if (info(call.collective).reduces) {
    text += ", " + operator_of(call);
  }
  // The two sides of a message agree on no rank; its error names the peer.
  if (info(call.collective).has_root && call.collective != Collective::send_recv) {
    text += ", root " + std::to_string(call.root);
  }
  return text + (call.on_devices ? ", between GPUs)" : ")");
}

std::string rank_order_words(const Call& call) {
  if (!wants_rank_order(call)) return {};
  if (call.own != nullptr)
    return std::string(call.own->combine_all != nullptr
                           ? "of an operator that loses something each time"
                           : "of an operator that does not commute") +
           ": contributions are combined in rank order";
  const bool wide = call.accumulate != call.type;
  return std::string(call.reproducible ? "reproducible" : "") +
         (call.reproducible && wide ? ", " : "") + (wide ? accumulated(call) : "") +
         ": contributions are added in rank order";
}

std::uint32_t operator_code(const Operator& own) {
  std::uint64_t mixed = own.element_bytes * 4 + (own.commutes == Commutes::yes ? 2 : 0) +
                        (own.combine_all != nullptr ? 1 : 0);
  for (const char letter : std::string_view(own.name != nullptr ? own.name : ""))
    mixed = (mixed ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  constexpr std::uint64_t codes = (std::uint64_t{1} << 22) - 1;
  return static_cast<std::uint32_t>(1 + (mixed ^ mixed >> 40) % codes);
}

std::uint64_t fingerprint(const Call& call) {
  return fingerprint(fingerprint_base(call), call.sequence);
}

/// A sum of odd multiples, but for the sequence's.
std::uint64_t fingerprint_base(const Call& call) {
  return call.count * 0xd6e8feb86659fd93ULL + kinds_of(call) * 0xa0761d6478bd642fULL +
         call.blocks * 0xe7037ed1a0b428dbULL;
}

void CallLog::begin_apart(const Call& call) {
  apart_.push_back({.sequence = call.sequence});
  begin(call);
}

void CallLog::complete_apart(std::uint64_t sequence) {
  std::ranges::find(apart_, sequence, &Apart::sequence)->complete = true;
  reach();
}

/// Goes past all that are complete, up to the oldest call that is not.
void CallLog::reach() {
  auto next = apart_.begin();
  while (next != apart_.end() && next->complete && next->sequence <= in_order_ + 1) {
    in_order_ = std::max(in_order_, next->sequence);
    ++next;
  }
  apart_.erase(apart_.begin(), next);
  const bool held = !apart_.empty() && apart_.front().sequence <= in_order_;
  completed_.store(held ? apart_.front().sequence - 1 : in_order_, std::memory_order_release);
}

std::optional<Call> CallLog::find(std::uint64_t sequence) const {
  const Entry& entry = entries_[sequence % kept];
  if (sequence == 0 || entry.sequence.load(std::memory_order_acquire) != sequence) {
    return std::nullopt;
  }
  Call call{.sequence = sequence, .count = entry.count.load(std::memory_order_acquire)};
  unpack(entry.kinds.load(std::memory_order_acquire), call);
  call.blocks = entry.blocks.load(std::memory_order_acquire);
  if (entry.sequence.load(std::memory_order_relaxed) != sequence) return std::nullopt;
  return call;
}

}  // namespace rondo
