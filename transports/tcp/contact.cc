#include "transports/tcp/contact.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <cstdio>

#include "core/base/text.h"
#include "rondo/error.h"

namespace rondo::tcp {
namespace {

[[noreturn]] void throw_malformed(std::string_view text) {
  throw Error(ErrorCode::bootstrap,
              "a rank's TCP address is malformed: '" + std::string(text) + "'",
              {.remedy = "use the same version of rondo on every rank"});
}

template <class Number>
Number parse_number(std::string_view digits, int base, std::string_view whole) {
  Number number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (error != std::errc{} || end != digits.data() + digits.size()) throw_malformed(whole);
  return number;
}

Endpoint parse_endpoint(std::string_view part, std::string_view whole) {
  const std::size_t colon = part.rfind(':');
  if (colon == std::string_view::npos || colon == 0) throw_malformed(whole);
  std::string_view address = part.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  const std::size_t slash = address.find('/');
  if (slash == std::string_view::npos) throw_malformed(whole);
  const auto prefix = parse_number<std::uint8_t>(address.substr(slash + 1), 10, whole);
  return {std::string(address.substr(0, slash)),
          parse_number<std::uint16_t>(part.substr(colon + 1), 10, whole), prefix};
}

/// The bytes of an address, those of IPv4 as they stand in IPv6.
boost::asio::ip::address_v6::bytes_type bytes_of(const boost::asio::ip::address& address) {
  using boost::asio::ip::address_v6;
  return address.is_v6() ? address.to_v6().to_bytes()
                         : make_address_v6(boost::asio::ip::v4_mapped, address.to_v4()).to_bytes();
}

bool has_address(const Contact& contact, const std::string& address) {
  return std::ranges::find(contact.endpoints, address, &Endpoint::address) !=
         contact.endpoints.end();
}

constexpr std::string_view connecting = "rondo tcp: rank that connects";
constexpr std::string_view accepting = "rondo tcp: rank that accepts";

std::string_view bytes_of(const Hello& hello) {
  return {reinterpret_cast<const char*>(&hello), sizeof(hello)};
}

}  // namespace

SignedHello sign(const Secret& secret, const Hello& hello) {
  return {hello, prove(secret, connecting, bytes_of(hello))};
}

bool is_genuine(const SignedHello& said, const Secret& secret) {
  return proves(said.proof, secret, connecting, bytes_of(said.hello));
}

Proof answer(const Secret& secret, const Hello& hello) {
  return prove(secret, accepting, bytes_of(hello));
}

bool is_genuine(const Proof& answered, const Secret& secret, const Hello& hello) {
  return proves(answered, secret, accepting, bytes_of(hello));
}

std::string to_text(const Contact& contact) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx",
                static_cast<unsigned long long>(contact.challenge));
  std::string text = digits;
  for (const Endpoint& endpoint : contact.endpoints) {
    const bool version_6 = endpoint.address.find(':') != std::string::npos;
    text += ';';
    const std::string address = endpoint.address + '/' + std::to_string(endpoint.prefix);
    text += version_6 ? '[' + address + ']' : address;
    text += ':' + std::to_string(endpoint.port);
  }
  return text;
}

Contact parse_contact(std::string_view text) {
  const std::string_view whole = text;
  Contact contact{.challenge = parse_number<std::uint64_t>(take_part(text, ';'), 16, whole)};
  while (!text.empty()) contact.endpoints.push_back(parse_endpoint(take_part(text, ';'), whole));
  if (contact.endpoints.empty()) throw_malformed(whole);
  return contact;
}

bool share_network(const Endpoint& a, const Endpoint& b) {
  boost::system::error_code left_wrong;
  boost::system::error_code right_wrong;
  const auto left = boost::asio::ip::make_address(a.address, left_wrong);
  const auto right = boost::asio::ip::make_address(b.address, right_wrong);
  const int longest = left.is_v6() ? 128 : 32;
  const bool comparable = !left_wrong && !right_wrong && a.prefix > 0 && a.prefix <= longest &&
                          a.prefix == b.prefix && left.is_v6() == right.is_v6() &&
                          !(left.is_v6() && left.to_v6().is_link_local());
  if (!comparable) return false;
  constexpr int before_v4 = 96;
  const auto one = bytes_of(left);
  const auto other = bytes_of(right);
  for (int bit = 0; bit < a.prefix + (left.is_v6() ? 0 : before_v4); ++bit) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    if (((one[byte] ^ other[byte]) >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

bool share_machine(const Contact& a, const Contact& b) {
  const auto are_among = [](const Contact& some, const Contact& all) {
    return std::ranges::all_of(
        some.endpoints, [&](const Endpoint& each) { return has_address(all, each.address); });
  };
  return are_among(a, b) || are_among(b, a);
}

Contact for_socket(Contact peer, const Contact& here, int socket) {
  // Bridges of containers have the same address on every machine.
  if (!share_machine(peer, here))
    std::erase_if(peer.endpoints,
                  [&](const Endpoint& each) { return has_address(here, each.address); });
  const auto begin = peer.endpoints.begin();
  const auto others = std::stable_partition(begin, peer.endpoints.end(), [&](const Endpoint& each) {
    return std::ranges::any_of(here.endpoints,
                               [&](const Endpoint& own) { return share_network(own, each); });
  });
  const auto end = others == begin ? peer.endpoints.end() : others;
  std::rotate(begin, begin + socket % (end - begin), end);
  return peer;
}

}  // namespace rondo::tcp
