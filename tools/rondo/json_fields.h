// Reads fields of JSON files. What is wrong becomes a JsonDefect, whose text a reader puts behind
// the file's name.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace rondo::tool {

using Json = nlohmann::ordered_json;

/// What is wrong with a file's content.
struct JsonDefect : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline const Json& field(const Json& json, const char* name) {
  if (!json.is_object() || !json.contains(name))
    throw JsonDefect(std::string("\"") + name + "\" is missing");
  return json.at(name);
}

/// Finite, and not below 0.
inline double number(const Json& json, const char* name) {
  const Json& value = field(json, name);
  if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0)
    throw JsonDefect(std::string("\"") + name + "\" is not a number from 0 on");
  return value.get<double>();
}

/// From `least` to a million.
inline int whole(const Json& json, const char* name, int least = 1) {
  constexpr std::int64_t most = 1'000'000;
  const Json& value = field(json, name);
  if (!value.is_number_integer() || value.get<std::int64_t>() < least ||
      value.get<std::int64_t>() > most)
    throw JsonDefect(std::string("\"") + name + "\" is not a whole number from " +
                     std::to_string(least) + " to " + std::to_string(most));
  return value.get<int>();
}

inline std::string text(const Json& json, const char* name) {
  const Json& value = field(json, name);
  if (!value.is_string()) throw JsonDefect(std::string("\"") + name + "\" is not a text");
  return value.get<std::string>();
}

inline const Json& list(const Json& json, const char* name) {
  const Json& value = field(json, name);
  if (!value.is_array()) throw JsonDefect(std::string("\"") + name + "\" is not a list");
  return value;
}

}  // namespace rondo::tool
