#include "transports/tcp/contact.h"

#include <algorithm>
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
  return {std::string(address), parse_number<std::uint16_t>(part.substr(colon + 1), 10, whole)};
}

}  // namespace

std::string to_text(const Contact& contact) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(contact.magic));
  std::string text = digits;
  for (const Endpoint& endpoint : contact.endpoints) {
    const bool version_6 = endpoint.address.find(':') != std::string::npos;
    text += ';';
    text += version_6 ? '[' + endpoint.address + ']' : endpoint.address;
    text += ':' + std::to_string(endpoint.port);
  }
  return text;
}

Contact parse_contact(std::string_view text) {
  const std::string_view whole = text;
  Contact contact{.magic = parse_number<std::uint64_t>(take_part(text, ';'), 16, whole)};
  while (!text.empty()) contact.endpoints.push_back(parse_endpoint(take_part(text, ';'), whole));
  if (contact.endpoints.empty()) throw_malformed(whole);
  return contact;
}

}  // namespace rondo::tcp
