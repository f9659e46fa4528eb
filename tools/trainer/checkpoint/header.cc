#include "tools/trainer/checkpoint/header.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <nlohmann/json.hpp>

#include "tools/trainer/data/random.h"
#include "tools/trainer/refuse.h"
#include "tools/trainer/report/print.h"

namespace rondo::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr int format_version = 2;
constexpr std::size_t line_bytes = 16 + 1 + 8 + 1;  ///< "DIGEST BYTES\n"
constexpr std::size_t header_block = 4096;

std::string digest_text(const std::string& json, std::uint64_t sum) {
  const std::uint64_t digest = mix(fingerprint(std::as_bytes(std::span(json))), sum);
  return print("%016llx", static_cast<unsigned long long>(digest));
}

Json json_of(const Header& header) {
  Json identity = Json::object();
  for (const auto& [name, value] : header.identity) identity[name] = value;
  const Position& position = header.position;
  return {{"version", format_version}, {"step", position.step},
          {"taken", position.taken},   {"loss_scale", position.loss_scale},
          {"good", position.good},     {"made_by", header.made_by},
          {"training", identity},      {"tensors", header.tensors},
          {"states", header.states}};
}

Header header_from(const Json& json) {
  if (json.at("version").get<int>() != format_version) {
    refuse("is of another version of this program",
           "the rondo-train that wrote it, or another --checkpoint folder");
  }
  Header header;
  header.position = {json.at("step").get<std::size_t>(), json.at("taken").get<std::size_t>(),
                     json.at("loss_scale").get<double>(), json.at("good").get<std::size_t>()};
  header.made_by = json.at("made_by").get<std::string>();
  for (const auto& [name, value] : json.at("training").items())
    header.identity.emplace_back(name, value.get<std::string>());
  header.tensors = json.at("tensors").get<decltype(header.tensors)>();
  header.states = json.at("states").get<std::size_t>();
  return header;
}

std::string describe(const std::pair<std::string, std::vector<std::size_t>>& tensor) {
  std::string text = tensor.first;
  for (std::size_t i = 0; i < tensor.second.size(); ++i)
    text += (i == 0 ? " of " : " x ") + std::to_string(tensor.second[i]);
  return text;
}

}  // namespace

std::size_t Header::elements() const {
  std::size_t sum = 0;
  for (const auto& [name, shape] : tensors) sum += Parameter{name, shape}.size();
  return sum;
}

Header header_of(const Layout& layout, std::size_t states, Identity identity) {
  Header header{.identity = std::move(identity), .states = states};
  for (const Unit& unit : layout.units()) {
    for (const Parameter& parameter : unit.parameters)
      header.tensors.emplace_back(parameter.name, parameter.shape);
  }
  return header;
}

std::string to_text(const Header& header, std::uint64_t sum) {
  const std::string json = json_of(header).dump();
  const std::size_t used = line_bytes + json.size();
  const std::size_t bytes = (used + header_block - 1) / header_block * header_block;
  return digest_text(json, sum) + print(" %08zu\n", bytes) + json + std::string(bytes - used, ' ');
}

std::uint64_t element_digest(std::uint64_t place, float value) {
  return mix(place, std::bit_cast<std::uint32_t>(value));
}

ReadHeader read_header(const File& file) {
  std::string line(line_bytes, '\0');
  const std::uint64_t size = file.size();
  if (size < line.size()) refuse("is damaged: it is cut off", damage_remedy);
  file.read_at(0, std::as_writable_bytes(std::span(line)));
  ReadHeader read{.digest = line.substr(0, 16)};
  std::from_chars(line.data() + 17, line.data() + line.size(), read.bytes);
  if (read.bytes < line_bytes || read.bytes > size)
    refuse("is damaged: it is cut off, or is none", damage_remedy);
  read.json.resize(read.bytes - line_bytes);
  file.read_at(line_bytes, std::as_writable_bytes(std::span(read.json)));
  read.json.resize(read.json.find_last_not_of(' ') + 1);
  try {
    read.header = header_from(Json::parse(read.json));
  } catch (const nlohmann::json::exception& error) {
    refuse(std::string("is damaged: its header is not as it was written: ") + error.what(),
           damage_remedy);
  }
  const std::uint64_t wanted =
      read.bytes + read.header.elements() * (read.header.states + 1) * sizeof(float);
  if (size == wanted) return read;
  refuse("is damaged: it has " + std::to_string(size) + " bytes where " + std::to_string(wanted) +
             " were written",
         damage_remedy);
}

void require_digest(const ReadHeader& read, std::uint64_t sum) {
  if (digest_text(read.json, sum) != read.digest)
    refuse("is damaged: it is not as it was written", damage_remedy);
}

void require_same_training(const Header& saved, const Header& expected) {
  const std::size_t tensors = std::max(saved.tensors.size(), expected.tensors.size());
  for (std::size_t i = 0; i < tensors; ++i) {
    const auto name = [&](const Header& side) {
      return i < side.tensors.size() ? describe(side.tensors[i]) : std::string("nothing more");
    };
    if (name(saved) == name(expected)) continue;
    refuse("holds another model: " + name(saved) + " where this one has " + name(expected),
           "the options that it was trained with, or another --checkpoint folder");
  }
  if (saved.states != expected.states) {
    refuse("holds " + std::to_string(saved.states) + " numbers of optimizer state a parameter, " +
               "this optimizer has " + std::to_string(expected.states),
           "the same --optimizer");
  }
  for (const auto& [name, value] : expected.identity) {
    const auto same = [&name = name](const auto& pair) { return pair.first == name; };
    const auto found = std::find_if(saved.identity.begin(), saved.identity.end(), same);
    const std::string there = found == saved.identity.end() ? "unknown" : found->second;
    if (there == value) continue;
    refuse("is of another training: " + name + " is " + value + " here and " + there + " there",
           "the options and data of that run, or another --checkpoint folder");
  }
}

}  // namespace rondo::train
