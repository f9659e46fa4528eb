// What arrays are for.
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
  bool travels;  ///< goes through collectives, so that peers should reach it directly
};

inline constexpr std::array uses{
    UseInfo{Use::parameters, "parameters", true},
    UseInfo{Use::gradients, "gradients", true},
    UseInfo{Use::optimizer, "optimizer", false},
    UseInfo{Use::master, "master weights", false},
    UseInfo{Use::activations, "activations", false},
    UseInfo{Use::buckets, "buckets", true},
    UseInfo{Use::working, "working units", true},
    UseInfo{Use::compensation, "compensation", false},
};

constexpr const UseInfo& info(Use use) { return uses[static_cast<std::size_t>(use)]; }

}  // namespace rondo::train
