#include "tools/trainer/checkpoint/header.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <nlohmann/json.hpp>

#include "tools/trainer/data/random.h"
#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr int format_version = 2;
constexpr std::size_t line_bytes = 16 + 1 + 8 + 1;  ///< "DIGEST BYTES\n"
constexpr std::size_t header_block = 4096;

std::string digest_text(const std::string& json, std::uint64_t sum) {
  const std::uint64_t digest = mix(fingerprint(json), sum);
  return format("%016llx", static_cast<unsigned long long>(digest));
}

Header header_from(const Json& json) {
  if (json.at("version") != format_version) {
    reject("is of another version of this program",
           "the rondo-train that wrote it, or another --checkpoint folder");
  }
  const auto number = [&](const char* name) {
    const Json& value = json.at(name);
    if (!value.is_number_unsigned())
      reject("is damaged: its " + std::string(name) + " is no whole number", damage_remedy);
    return value.get<std::size_t>();
  };
  return {.position = {number("step"), number("taken"), json.at("loss_scale").get<double>(),
                       number("good")},
          .identity = json.at("training").get<Identity>(),
          .elements = number("elements"),
          .made_by = json.at("made_by").get<std::string>()};
}

/// The entries of `here` that `there` has alike.
void require_found(const Identity& here, const Identity& there, const std::string& between) {
  for (const auto& [name, value] : here) {
    const auto same = [&name = name](const auto& pair) { return pair.first == name; };
    const auto found = std::find_if(there.begin(), there.end(), same);
    const std::string other = found == there.end() ? "nothing" : found->second;
    if (other == value) continue;
    reject("is of another training: " + name + " is " + value + between + other,
           "the options and data of that run, or another --checkpoint folder");
  }
}

}  // namespace

std::string to_text(const Header& header, std::uint64_t sum) {
  const Position& position = header.position;
  const std::string json = Json{{"version", format_version},   {"step", position.step},
                                {"taken", position.taken},     {"loss_scale", position.loss_scale},
                                {"good", position.good},       {"made_by", header.made_by},
                                {"elements", header.elements}, {"training", header.identity}}
                               .dump();
  const std::size_t used = line_bytes + json.size();
  const std::size_t bytes = (used + header_block - 1) / header_block * header_block;
  return digest_text(json, sum) + format(" %08zu\n", bytes) + json + std::string(bytes - used, ' ');
}

std::uint64_t digest_of(std::uint64_t place, std::span<const float> values) {
  std::uint64_t sum = 0;
  for (const float value : values) sum += mix(place++, std::bit_cast<std::uint32_t>(value));
  return sum;
}

ReadHeader read_header(const File& file) {
  std::string line(line_bytes, '\0');
  const std::uint64_t size = file.size();
  if (size < line.size()) reject("is damaged: it is cut off", damage_remedy);
  file.read_at(0, std::as_writable_bytes(std::span(line)));
  ReadHeader read{.digest = line.substr(0, 16)};
  std::from_chars(line.data() + 17, line.data() + line.size(), read.bytes);
  if (read.bytes < line_bytes || read.bytes > size)
    reject("is damaged: it is cut off, or is none", damage_remedy);
  read.json.resize(read.bytes - line_bytes);
  file.read_at(line_bytes, std::as_writable_bytes(std::span(read.json)));
  read.json.resize(read.json.find_last_not_of(' ') + 1);
  try {
    read.header = header_from(Json::parse(read.json));
  } catch (const nlohmann::json::exception& error) {
    reject(std::string("is damaged: its header is not as it was written: ") + error.what(),
           damage_remedy);
  }
  const std::uint64_t arrays = size - read.bytes;
  // Divided, as a product of what the file says may not fit.
  if (arrays % sizeof(float) == 0 && arrays / sizeof(float) == read.header.elements) return read;
  reject("is damaged: it has " + std::to_string(size) + " bytes where " +
             std::to_string(read.bytes) + " and " + std::to_string(read.header.elements) +
             " numbers were written",
         damage_remedy);
}

void require_digest(const ReadHeader& read, std::uint64_t sum) {
  if (digest_text(read.json, sum) != read.digest)
    reject("is damaged: it is not as it was written", damage_remedy);
}

void require_same(const Identity& saved, const Identity& expected) {
  require_found(expected, saved, " here, in the checkpoint ");
  require_found(saved, expected, " there, and here ");
}

}  // namespace rondo::train
