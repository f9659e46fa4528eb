// The stages of saving a checkpoint, by name. Tests kill the process at each of them:
//
//   "begun"                    an unfinished folder is there, empty
//   "shard half written"       every writing rank is at its file
//   "shard written"            the file is on the disk
//   "manifest written"         the folder is complete, but still called unfinished
//   "renamed"                  the checkpoint counts
//   "pruned"                   old ones are gone
#include "tools/trainer/checkpoint/checkpoints.h"

#include <utility>

#include "tools/trainer/agreement.h"
#include "tools/trainer/checkpoint/file.h"
#include "tools/trainer/checkpoint/staged.h"
#include "tools/trainer/refuse.h"

namespace rondo::train {
namespace {

std::string share_text(Communicator& control, std::string text) {
  std::uint64_t size = text.size();
  control.broadcast(&size, &size, 1, DataType::uint64, 0);
  text.resize(size);
  control.broadcast(text.data(), text.data(), text.size(), DataType::uint8, 0);
  return text;
}

/// Runs `check`. Its error gets the checkpoint's path put before it.
template <class Check>
void of(const std::filesystem::path& checkpoint, Check check) {
  try {
    check();
  } catch (const Error& error) {
    throw Error(error.code(), "the checkpoint " + checkpoint.string() + " " + error.message(),
                {.remedy = error.remedy()});
  }
}

void verify_file(const std::filesystem::path& folder, const SavedFile& file) {
  if (!std::filesystem::exists(folder / file.name)) refuse("lacks " + file.name, damage_remedy);
  const std::uint64_t size = File::open(folder / file.name).size();
  if (size != file.bytes) {
    refuse("is damaged: " + file.name + " has " + std::to_string(size) + " bytes where " +
               std::to_string(file.bytes) + " were written",
           damage_remedy);
  }
  if (digest_of(folder / file.name).text() != file.digest) {
    refuse("is damaged: " + file.name + " is not as it was written", damage_remedy);
  }
}

}  // namespace

Checkpoints::Checkpoints(CheckpointOptions options, Communicator& control, Strategy& strategy,
                         const Layout& layout, std::size_t states, Identity identity, Hook hook,
                         const Machine& machine)
    : options_(std::move(options)),
      control_(control),
      strategy_(strategy),
      layout_(layout),
      states_(states),
      identity_(std::move(identity)),
      hook_(std::move(hook)),
      machine_(machine),
      folder_(options_.folder) {}

Manifest Checkpoints::expected() const {
  return {.identity = identity_,
          .tensors = tensors_of(layout_),
          .states = states_,
          .made_by = std::string(strategy_.name()) + " on " + std::to_string(control_.size()) +
                     (control_.size() == 1 ? " rank" : " ranks")};
}

std::optional<std::size_t> Checkpoints::newest() {
  std::uint64_t found = 0;
  together(control_, [&] {
    if (!first()) return;
    const auto steps = folder_.steps();
    if (!steps.empty()) found = steps.back() + 1;
  });
  control_.broadcast(&found, &found, 1, DataType::uint64, 0);
  if (found == 0) return std::nullopt;
  return found - 1;
}

Checkpoints::Start Checkpoints::start() {
  Start start;
  for (;;) {
    const auto step = newest();
    if (!step) return start;
    if (!options_.resume) {
      throw AgreedError(ErrorCode::invalid_argument,
                        options_.folder + " holds a checkpoint of step " + std::to_string(*step),
                        {.remedy = "--resume to go on from there, or another --checkpoint folder"});
    }
    Manifest manifest;
    try {
      manifest = verified(*step);
    } catch (const AgreedError& error) {
      if (!options_.older) throw;
      set_aside(*step);
      start.words += "set aside: " + error.message() + "\n";
      continue;
    }
    const auto path = folder_.at(*step);
    together(control_, [&] { of(path, [&] { require_same_training(manifest, expected()); }); });
    const Staged shards(machine_, strategy_.shards());
    together(control_, [&] { of(path, [&] { read_shards(path, manifest, shards.ranges()); }); });
    shards.put_back();
    strategy_.shards_changed();
    strategy_.settle();
    start.position = manifest.position;
    start.words += "resumed at step " + std::to_string(*step) + ", saved by " + manifest.made_by;
    return start;
  }
}

/// Checks the manifest, and every file against it. Does not check to which training it belongs.
Manifest Checkpoints::verified(std::size_t step) {
  std::string text;
  together(control_, [&] {
    if (!first()) return;
    of(folder_.at(step), [&] {
      if (!std::filesystem::exists(folder_.manifest(step)))
        refuse("lacks " + std::string(Folder::manifest_name), damage_remedy);
      text = read_whole(folder_.manifest(step));
    });
  });
  text = share_text(control_, std::move(text));
  Manifest manifest;
  together(control_, [&] {
    of(folder_.manifest(step), [&] { manifest = parse_manifest(text); });
    verify_files(step, manifest);
  });
  return manifest;
}

// Each rank reads a part of the files.
void Checkpoints::verify_files(std::size_t step, const Manifest& manifest) const {
  std::size_t elements = 0;
  for (const auto& [name, shape] : manifest.tensors) {
    elements += Parameter{name, shape}.size();
  }
  of(folder_.manifest(step), [&] { require_complete(manifest, elements); });
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    if (i % static_cast<std::size_t>(control_.size()) != static_cast<std::size_t>(control_.rank()))
      continue;
    of(folder_.at(step), [&] { verify_file(folder_.at(step), manifest.files[i]); });
  }
}

void Checkpoints::set_aside(std::size_t step) {
  together(control_, [&] {
    if (first()) folder_.set_aside(step);
  });
}

void Checkpoints::save(const Position& position) {
  together(control_, [&] {
    if (first()) folder_.begin(position.step);
  });
  at("begun");
  const SavedFile own = write_own(folder_.unfinished(position.step));
  at("shard written");
  std::vector<SavedFile> files;
  for (const std::string& text : gather_texts(control_, to_text(own))) {
    if (SavedFile file = parse_file(text); !file.name.empty()) files.push_back(std::move(file));
  }
  together(control_, [&] {
    if (first()) publish(position, files);
  });
}

/// The name is empty if this rank writes no file.
SavedFile Checkpoints::write_own(const std::filesystem::path& folder) {
  std::vector<Range> ranges = strategy_.shards();
  if (!strategy_.writes_shards()) ranges.clear();
  const Staged shards(machine_, std::move(ranges));
  SavedFile own;
  std::exception_ptr failure;
  if (options_.format == "whole") {
    own = write_whole(control_, folder, shards.ranges(), states_, failure);
    agree(control_, failure);
  } else {
    together(control_, [&] {
      if (strategy_.writes_shards())
        own = write_shard(folder, control_.rank(), shards.ranges(), hook_);
    });
  }
  return own;
}

void Checkpoints::publish(const Position& position, const std::vector<SavedFile>& files) {
  const auto folder = folder_.unfinished(position.step);
  for (const SavedFile& file : files) {
    if (std::filesystem::exists(folder / file.name)) continue;
    refuse(file.name + " was written, but not where rank 0 can see it (" + folder.string() + ")",
           "--checkpoint with a folder that all hosts share, or --checkpoint-format whole");
  }
  Manifest manifest = expected();
  manifest.position = position;
  manifest.files = files;
  write_durably(folder / Folder::manifest_name, to_text(manifest));
  at("manifest written");
  folder_.finish(position.step);
  at("renamed");
  folder_.prune(options_.keep);
  at("pruned");
}

}  // namespace rondo::train
