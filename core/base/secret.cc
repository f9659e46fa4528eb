#include "core/base/secret.h"

#include <sodium.h>
#include <sys/random.h>

#include <bit>

#include "core/base/random_number.h"
#include "rondo/error.h"

namespace rondo {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

template <class Bytes>
Bytes random_bytes() {
  // Without sodium_init(), which would take a millisecond of each process: SHA-256 needs none.
  Bytes bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw Error(ErrorCode::system, "the kernel gives no random numbers");
  return bytes;
}

}  // namespace

Secret random_secret() { return {random_bytes<decltype(Secret::bytes)>()}; }
Nonce random_nonce() { return random_bytes<Nonce>(); }

std::uint64_t random_number() {
  return std::bit_cast<std::uint64_t>(random_bytes<std::array<std::uint8_t, 8>>());
}

Secret secret_from(std::string_view text) {
  Secret secret;
  static_assert(crypto_hash_sha256_BYTES == sizeof(secret.bytes));
  ::crypto_hash_sha256(secret.bytes.data(), bytes_of(text), text.size());
  return secret;
}

Proof prove(const Secret& secret, std::string_view purpose, std::string_view said) {
  Proof proof;
  static_assert(crypto_auth_hmacsha256_BYTES == sizeof(proof));
  static_assert(crypto_auth_hmacsha256_KEYBYTES == sizeof(secret.bytes));
  crypto_auth_hmacsha256_state state;
  ::crypto_auth_hmacsha256_init(&state, secret.bytes.data(), secret.bytes.size());
  ::crypto_auth_hmacsha256_update(&state, bytes_of(purpose), purpose.size());
  // Where the purpose ends counts: "a" and "bc" is not "ab" and "c".
  constexpr unsigned char end = 0;
  ::crypto_auth_hmacsha256_update(&state, &end, 1);
  ::crypto_auth_hmacsha256_update(&state, bytes_of(said), said.size());
  ::crypto_auth_hmacsha256_final(&state, proof.data());
  return proof;
}

bool proves(const Proof& proof, const Secret& secret, std::string_view purpose,
            std::string_view said) {
  const Proof expected = prove(secret, purpose, said);
  return ::sodium_memcmp(proof.data(), expected.data(), proof.size()) == 0;
}

}  // namespace rondo
