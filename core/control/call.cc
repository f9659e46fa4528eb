#include "core/control/call.h"

namespace rondo {
namespace {

/// The small fields in one word: collective, type, operator, root from the lowest byte up.
std::uint64_t pack(const Call& call) {
  return static_cast<std::uint64_t>(call.collective) | static_cast<std::uint64_t>(call.type) << 8 |
         static_cast<std::uint64_t>(call.op) << 16 |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(call.root)) << 32;
}

void unpack(std::uint64_t kinds, Call& call) {
  call.collective = static_cast<Collective>(kinds & 0xff);
  call.type = static_cast<DataType>(kinds >> 8 & 0xff);
  call.op = static_cast<ReduceOperator>(kinds >> 16 & 0xff);
  call.root = static_cast<std::int32_t>(kinds >> 32);
}

}  // namespace

std::string to_string(const Call& call) {
  std::string text(name(call.collective));
  if (call.sequence != 0) text += " #" + std::to_string(call.sequence);
  if (call.collective == Collective::barrier) return text;
  text += " (" + std::to_string(call.count) + " x " + std::string(name(call.type));
  if (info(call.collective).reduces) text += ", " + std::string(name(call.op));
  // The two sides of a message agree on no rank; its error names the peer.
  if (info(call.collective).has_root && call.collective != Collective::send_recv) {
    text += ", root " + std::to_string(call.root);
  }
  return text + ")";
}

/// A sum of odd multiples, then the finaliser of MurmurHash3: each input bit reaches every output
/// bit, in two multiplications after the sum.
std::uint64_t fingerprint(const Call& call) {
  std::uint64_t mixed = call.sequence * 0x9e3779b97f4a7c15ULL + call.count * 0xd6e8feb86659fd93ULL +
                        pack(call) * 0xa0761d6478bd642fULL;
  mixed = (mixed ^ mixed >> 33) * 0xff51afd7ed558ccdULL;
  mixed = (mixed ^ mixed >> 33) * 0xc4ceb9fe1a85ec53ULL;
  mixed ^= mixed >> 33;
  return mixed != 0 ? mixed : 1;
}

// Writer: sequence <- 0, words (release), sequence (release). A reader that sees a new word with
// its acquire load therefore also sees the 0 before it, so its second look at `sequence` cannot
// still find the old number. On x86 all of these are plain loads and stores.
void CallLog::begin(const Call& call) {
  Entry& entry = entries_[call.sequence % kept];
  entry.sequence.store(0, std::memory_order_relaxed);
  entry.count.store(call.count, std::memory_order_release);
  entry.kinds.store(pack(call), std::memory_order_release);
  entry.sequence.store(call.sequence, std::memory_order_release);
  begun_.store(call.sequence, std::memory_order_release);
}

std::optional<Call> CallLog::find(std::uint64_t sequence) const {
  const Entry& entry = entries_[sequence % kept];
  if (sequence == 0 || entry.sequence.load(std::memory_order_acquire) != sequence) {
    return std::nullopt;
  }
  Call call{.sequence = sequence, .count = entry.count.load(std::memory_order_acquire)};
  unpack(entry.kinds.load(std::memory_order_acquire), call);
  if (entry.sequence.load(std::memory_order_relaxed) != sequence) return std::nullopt;
  return call;
}

}  // namespace rondo
