#include "tools/trainer/checkpoint/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rondo/error.h"
#include "tools/trainer/checkpoint/file.h"
#include "tools/trainer/refuse.h"

namespace rondo::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr int version = 1;

std::string digest_of_text(const std::string& text) {
  Digest digest;
  digest.add(std::as_bytes(std::span(text)));
  return digest.text();
}

Json to_json(const SavedFile& file) {
  Json runs = Json::array();
  for (const Extent& run : file.runs) runs.push_back({run.begin, run.size});
  return {{"name", file.name}, {"bytes", file.bytes}, {"digest", file.digest}, {"runs", runs}};
}

SavedFile file_from(const Json& json) {
  SavedFile file{json.at("name").get<std::string>(), json.at("bytes").get<std::uint64_t>(),
                 json.at("digest").get<std::string>()};
  for (const Json& run : json.at("runs")) {
    file.runs.push_back({run.at(0).get<std::size_t>(), run.at(1).get<std::size_t>()});
  }
  return file;
}

Json to_json(const Manifest& manifest) {
  Json identity = Json::object();
  for (const auto& [name, value] : manifest.identity) identity[name] = value;
  Json tensors = Json::array();
  for (const auto& [name, shape] : manifest.tensors) tensors.push_back({name, shape});
  Json files = Json::array();
  for (const SavedFile& file : manifest.files) files.push_back(to_json(file));
  const Position& position = manifest.position;
  return {{"version", version},        {"step", position.step},
          {"taken", position.taken},   {"loss_scale", position.loss_scale},
          {"good", position.good},     {"made_by", manifest.made_by},
          {"training", identity},      {"tensors", tensors},
          {"states", manifest.states}, {"files", files}};
}

Manifest manifest_from(const Json& json) {
  Manifest manifest;
  manifest.position = {json.at("step").get<std::size_t>(), json.at("taken").get<std::size_t>(),
                       json.at("loss_scale").get<double>(), json.at("good").get<std::size_t>()};
  manifest.made_by = json.at("made_by").get<std::string>();
  for (const auto& [name, value] : json.at("training").items()) {
    manifest.identity.emplace_back(name, value.get<std::string>());
  }
  for (const Json& tensor : json.at("tensors")) {
    manifest.tensors.emplace_back(tensor.at(0).get<std::string>(),
                                  tensor.at(1).get<std::vector<std::size_t>>());
  }
  manifest.states = json.at("states").get<std::size_t>();
  for (const Json& file : json.at("files")) manifest.files.push_back(file_from(file));
  return manifest;
}

std::string describe(const std::pair<std::string, std::vector<std::size_t>>& tensor) {
  std::string text = tensor.first;
  for (std::size_t i = 0; i < tensor.second.size(); ++i) {
    text += (i == 0 ? " of " : " x ") + std::to_string(tensor.second[i]);
  }
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::vector<std::size_t>>> tensors_of(const Layout& layout) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> tensors;
  for (const Unit& unit : layout.units()) {
    for (const Parameter& parameter : unit.parameters) {
      tensors.emplace_back(parameter.name, parameter.shape);
    }
  }
  return tensors;
}

std::string to_text(const SavedFile& file) { return to_json(file).dump(); }
SavedFile parse_file(const std::string& text) { return file_from(Json::parse(text)); }

std::string to_text(const Manifest& manifest) {
  const Json json = to_json(manifest);
  return Json{{"checkpoint", json}, {"digest", digest_of_text(json.dump())}}.dump(1) + "\n";
}

Manifest parse_manifest(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    const Json& body = json.at("checkpoint");
    if (json.at("digest").get<std::string>() != digest_of_text(body.dump())) {
      refuse("is not as it was written: its digest does not fit", damage_remedy);
    }
    if (body.at("version").get<int>() != version) {
      refuse("is of another version of this program",
             "the rondo-train that wrote it, or another --checkpoint folder");
    }
    return manifest_from(body);
  } catch (const nlohmann::json::exception& error) {
    refuse(std::string("is cut off, or is none: ") + error.what(), damage_remedy);
  }
}

void require_same_training(const Manifest& saved, const Manifest& expected) {
  const std::size_t tensors = std::max(saved.tensors.size(), expected.tensors.size());
  for (std::size_t i = 0; i < tensors; ++i) {
    const auto name = [&](const Manifest& side) {
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
    if (found != saved.identity.end() && found->second == value) continue;
    const bool missing = found == saved.identity.end();
    refuse("is of another training: " + name + " is " + value + " here and " +
               (missing ? std::string("unknown") : found->second) + " there",
           "the options and data of that run, or another --checkpoint folder");
  }
}

void require_complete(const Manifest& manifest, std::size_t elements) {
  std::vector<Extent> runs;
  for (const SavedFile& file : manifest.files) {
    std::size_t held = 0;
    for (const Extent& run : file.runs) {
      held += run.size;
      runs.push_back(run);
    }
    if (file.bytes != held * (manifest.states + 1) * sizeof(float)) {
      refuse("lists " + file.name + " with a size that does not fit", damage_remedy);
    }
  }
  const auto before = [](const Extent& a, const Extent& b) { return a.begin < b.begin; };
  std::sort(runs.begin(), runs.end(), before);
  std::size_t end = 0;
  for (const Extent& run : runs) {
    if (run.begin != end) refuse("does not hold every parameter once", damage_remedy);
    end = run.begin + run.size;
  }
  if (end != elements) refuse("does not hold every parameter once", damage_remedy);
}

}  // namespace rondo::train
