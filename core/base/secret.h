// The secret of a job, and proofs that somebody knows it. The secret itself never travels.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rondo {

/// Value type. Any thread may call the functions below.
struct Secret {
  std::array<std::uint8_t, 32> bytes{};

  /// False for zeros: there is none.
  explicit operator bool() const { return *this != Secret{}; }
  friend bool operator==(const Secret&, const Secret&) = default;
};

/// 256 random bits. Throws Error{system} where the kernel gives none.
Secret random_secret();
/// The same for the same text, however long it is.
Secret secret_from(std::string_view text);

/// A random number that is used once. Whoever asks for a proof chooses it, so that an old proof is
/// of no use.
using Nonce = std::array<std::uint8_t, 16>;
Nonce random_nonce();

using Proof = std::array<std::uint8_t, 32>;

/// What only somebody who knows the secret can compute: HMAC-SHA-256 over `purpose` and `said`.
/// The purpose keeps a proof from being used for something else.
Proof prove(const Secret& secret, std::string_view purpose, std::string_view said);
/// Whether it is that proof. Takes the same time for every wrong one.
bool proves(const Proof& proof, const Secret& secret, std::string_view purpose,
            std::string_view said);

}  // namespace rondo
