#include "core/topology/ports.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/text.h"

namespace rondo {

std::string to_text(std::span<const Port> ports) {
  std::string text;
  for (const Port& port : ports) {
    std::array<char, 32> beta;
    char* const end = std::to_chars(beta.data(), beta.data() + beta.size(), port.beta).ptr;
    text += (text.empty() ? "" : ";") + port.name + "=" + std::string(beta.data(), end);
  }
  return text;
}

int own_port(std::string_view text, const Host& host) {
  const std::string_view name = text.substr(0, text.substr(0, text.find(';')).rfind('='));
  const auto found = std::ranges::find(host.ports, name, &Port::name);
  return found == host.ports.end() ? 0 : static_cast<int>(found - host.ports.begin());
}

void add_ports(std::string_view text, Host& host) {
  for (const std::string& part : split(text, ';')) {
    const std::size_t mark = part.rfind('=');
    if (mark == std::string::npos || mark == 0) continue;
    const std::string name = part.substr(0, mark);
    double beta = -1;
    std::from_chars(part.data() + mark + 1, part.data() + part.size(), beta);
    if (beta >= 0 && std::ranges::count(host.ports, name, &Port::name) == 0)
      host.ports.push_back({.name = name, .beta = beta});
  }
}

}  // namespace rondo
