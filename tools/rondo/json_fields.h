// Reads fields of JSON files. What is wrong becomes a JsonDefect, whose text a reader puts behind
// the file's name.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "rondo/error.h"

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

/// Whether it is a document of this kind, as "what" says, and of the schema that is read.
inline void demand_document(const Json& json, const char* what, const std::string& kind,
                            int schema) {
  if (!json.is_object() || !json.contains("what") || json.at("what") != what)
    throw JsonDefect("it is not a " + kind);
  if (whole(json, "schema") != schema)
    throw JsonDefect("its schema is " + std::to_string(whole(json, "schema")) +
                     ", this rondo reads " + std::to_string(schema));
}

/// What `read` makes of a file's JSON. Throws Error{invalid_argument} that names the kind of file, its
/// path and what is wrong; with `remedy`, unless `read` throws an Error that has one.
template <class Read>
auto read_json(const std::string& path, const std::string& kind, const std::string& remedy,
               const Read& read) {
  const auto refuse = [&](const std::string& why, const std::string& other = {}) {
    return Error(ErrorCode::invalid_argument, "cannot use the " + kind + " '" + path + "': " + why,
                 {.remedy = other.empty() ? remedy : other});
  };
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) throw refuse("there is no such file to read");
  try {
    return read(Json::parse(file));
  } catch (const Json::exception&) {
    throw refuse("it is not JSON, or is cut off");
  } catch (const JsonDefect& defect) {
    throw refuse(defect.what());
  } catch (const Error& error) {
    throw refuse(error.message(), error.remedy());
  }
}

}  // namespace rondo::tool
