// Secrets and proofs, against values that another library computed.
#include "core/base/secret.h"

#include <cstdio>
#include <set>
#include <string>

#include "tests/catch.h"

namespace rondo {
namespace {

template <class Bytes>
std::string hex(const Bytes& bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    text += digits;
  }
  return text;
}

TEST_CASE("secrets and proofs are SHA-256 and HMAC-SHA-256") {
  // Python: hashlib.sha256(b"correct horse"), hmac.new(that, b"rank\0hello", hashlib.sha256)
  const Secret secret = secret_from("correct horse");
  CHECK(hex(secret.bytes) == "4104d36f8da2c254349f85836793ebe029e0c957063a34c91c2e9203187b5631");
  CHECK(hex(prove(secret, "rank", "hello")) ==
        "9d607b3328e53b8331656bb79892686f888ff3c478f03e9df3b06833573d11cf");
}

TEST_CASE("a proof holds for one secret, one purpose and one text") {
  const Secret secret = secret_from("a");
  const Proof proof = prove(secret, "rank", "hello");
  CHECK(proves(proof, secret, "rank", "hello"));
  CHECK_FALSE(proves(proof, secret_from("b"), "rank", "hello"));
  CHECK_FALSE(proves(proof, secret, "ran", "khello"));
  CHECK_FALSE(proves(proof, secret, "service", "hello"));
  CHECK_FALSE(proves(proof, secret, "rank", "hello!"));
  for (std::size_t bit = 0; bit < 8 * proof.size(); ++bit) {
    Proof wrong = proof;
    wrong[bit / 8] = static_cast<std::uint8_t>(wrong[bit / 8] ^ 1U << bit % 8);
    REQUIRE_FALSE(proves(wrong, secret, "rank", "hello"));
  }
}

TEST_CASE("random secrets and nonces differ, and are not zero") {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(hex(random_secret().bytes));
    seen.insert(hex(random_nonce()));
  }
  CHECK(seen.size() == 2000);
  CHECK(random_secret());
  CHECK_FALSE(Secret{});
}

}  // namespace
}  // namespace rondo
