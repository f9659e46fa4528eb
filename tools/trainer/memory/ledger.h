// Counts the memory of every large array by its use, so that the textbook's bytes per parameter can
// be compared with the real ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rondo::train {

enum class Use : std::uint8_t {
  parameters,    ///< read by forward and backward, in the type of the computation
  gradients,     ///< live until the optimizer's step
  optimizer,     ///< momentum, moments
  master,        ///< float32 copies of parameters kept in a narrower type
  activations,   ///< kept by forward for backward, and scratch of the operations
  buckets,       ///< copies made for sending
  working,       ///< units unpacked or gathered while they are computed
  compensation,  ///< gradients that compression has not sent yet
};

struct UseInfo {
  Use use;
  std::string_view name;
};

inline constexpr std::array uses{
    UseInfo{Use::parameters, "parameters"},   UseInfo{Use::gradients, "gradients"},
    UseInfo{Use::optimizer, "optimizer"},     UseInfo{Use::master, "master weights"},
    UseInfo{Use::activations, "activations"}, UseInfo{Use::buckets, "buckets"},
    UseInfo{Use::working, "working units"},   UseInfo{Use::compensation, "compensation"},
};

class Supply;

/// Counts in bytes. Belongs to one rank; one thread at a time.
class Ledger {
 public:
  /// Arrays of a planning ledger are counted but take no memory. Nothing may read or write them.
  enum class Kind : std::uint8_t { taking, planning };

  /// `limit`: bytes in all; 0: no limit.
  explicit Ledger(std::size_t limit = 0, Kind kind = Kind::taking) : limit_(limit), kind_(kind) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Arrays taken from now on lie in this supply, which outlives them. Null: in this process's own
  /// memory.
  void take_from(Supply* supply) { supply_ = supply; }
  Supply* supply() const { return supply_; }

  bool plans() const { return kind_ == Kind::planning; }
  /// Throws Error{out_of_memory} instead of passing the limit; then nothing is counted.
  void take(Use use, std::size_t bytes);
  void give(Use use, std::size_t bytes) noexcept;

  std::size_t held(Use use) const { return held_[static_cast<std::size_t>(use)]; }
  std::size_t peak(Use use) const { return peak_[static_cast<std::size_t>(use)]; }
  std::size_t held() const { return total_; }
  std::size_t peak() const { return total_peak_; }
  /// Resets the peaks to the present values, for example after set-up.
  void restart_peaks();

 private:
  std::size_t limit_;
  Kind kind_;
  Supply* supply_ = nullptr;
  std::size_t total_ = 0;
  std::size_t total_peak_ = 0;
  std::array<std::size_t, uses.size()> held_{};
  std::array<std::size_t, uses.size()> peak_{};
};

}  // namespace rondo::train
