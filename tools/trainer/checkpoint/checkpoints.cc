// The stages of saving a checkpoint, by name. Tests kill the process at each of them:
//
//   "begun"             an unfinished file is there, empty
//   "half written"      every writing rank is at its shards
//   "written"           all shards are on the disk
//   "header written"    the file is complete, but still called unfinished
//   "renamed"           the checkpoint counts
//   "pruned"            old ones are gone
#include "tools/trainer/checkpoint/checkpoints.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tools/trainer/agreement.h"
#include "tools/trainer/math/math.h"
#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

constexpr const char* step_prefix = "step-";
constexpr const char* unfinished = ".unfinished";

/// Runs `action`. An error of the file system becomes one that names the folder.
template <class Action>
void on_disk(const std::string& folder, Action action) {
  try {
    action();
  } catch (const std::filesystem::filesystem_error& error) {
    throw Error(ErrorCode::system,
                "the checkpoint folder " + folder + ": " + error.code().message(),
                {.remedy = "--checkpoint with a folder that this program may write to"});
  }
}

/// "37 x 32".
std::string shape_text(const Parameter& parameter) {
  std::string text;
  for (const std::size_t extent : parameter.shape)
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text;
}

}  // namespace

Checkpoints::Checkpoints(CheckpointOptions options, Communicator& control, Strategy& strategy,
                         const Workplace& place, Identity identity, Position& position, Hook hook)
    : options_(std::move(options)),
      control_(control),
      strategy_(strategy),
      place_(place),
      position_(position),
      hook_(std::move(hook)) {
  const std::size_t arrays = place.optimizer.states() + 1;
  header_.elements = place.layout.size() * arrays;
  header_.identity = std::move(identity);
  header_.identity.emplace_back("arrays of parameters and optimizer state", std::to_string(arrays));
  for (const Unit& unit : place.layout.units()) {
    for (const Parameter& parameter : unit.parameters)
      header_.identity.emplace_back(parameter.name, shape_text(parameter));
  }
  header_.made_by = strategy.name() + " on " + count_of_ranks(control.size());
}

std::filesystem::path Checkpoints::at(std::size_t step, const char* ending) const {
  return std::filesystem::path(options_.folder) / (format("%s%08zu", step_prefix, step) + ending);
}

/// Ascending. None where the folder does not exist.
std::vector<std::size_t> Checkpoints::steps() const {
  std::vector<std::size_t> steps;
  on_disk(options_.folder, [&] {
    if (!std::filesystem::exists(options_.folder)) return;
    for (const auto& entry : std::filesystem::directory_iterator(options_.folder)) {
      const std::string name = entry.path().filename().string();
      std::size_t step = 0;
      if (std::sscanf(name.c_str(), "step-%zu", &step) == 1 && name == at(step).filename())
        steps.push_back(step);
    }
  });
  std::sort(steps.begin(), steps.end());
  return steps;
}

/// Runs `action` on rank 0; its error is every rank's.
template <class Action>
void Checkpoints::on_first(Action action) {
  together(control_, [&] {
    if (control_.rank() == 0) on_disk(options_.folder, action);
  });
}

/// Runs `check` on every rank. An error gets the checkpoint's path put before it, and is every rank's.
template <class Check>
void Checkpoints::on_checkpoint(std::size_t step, Check check) {
  together(control_, [&] {
    try {
      check();
    } catch (const Error& error) {
      throw Error(error.code(), "the checkpoint " + at(step).string() + " " + error.message(),
                  {.remedy = error.remedy()});
    }
  });
}

std::optional<std::size_t> Checkpoints::newest() {
  std::uint64_t found = 0;
  on_first([&] {
    if (const auto all = steps(); !all.empty()) found = all.back() + 1;
  });
  control_.broadcast(found, 0);
  if (found == 0) return std::nullopt;
  return found - 1;
}

std::string Checkpoints::start() {
  if (const auto step = newest(); step && !options_.resume)
    reject_together(options_.folder + " holds a checkpoint of step " + std::to_string(*step),
                    "--resume to go on from there, or another --checkpoint folder");
  return go_back();
}

std::string Checkpoints::go_back() {
  std::string words;
  while (const auto step = newest()) {
    ReadHeader saved;
    try {
      saved = verified(*step);
    } catch (const AgreedError& error) {
      if (!options_.older) throw;
      on_first([&] {
        std::filesystem::remove_all(at(*step, ".broken"));
        std::filesystem::rename(at(*step), at(*step, ".broken"));
        File(options_.folder).sync();
      });
      words += "set aside: " + error.message() + "\n";
      continue;
    }
    on_checkpoint(*step, [&] {
      require_same(saved.header.identity, header_.identity);
      load(*step, saved.bytes);
    });
    strategy_.shards_changed();
    strategy_.settle();
    position_ = saved.header.position;
    return words + "resumed at step " + std::to_string(*step) + ", saved by " +
           saved.header.made_by;
  }
  return words;
}

/// Checks the whole file, of which each rank reads a part. Does not check to which training it
/// belongs.
ReadHeader Checkpoints::verified(std::size_t step) {
  ReadHeader read;
  std::uint64_t sum = 0;
  on_checkpoint(step, [&] {
    const File file(at(step));
    read = read_header(file);
    const auto ranks = static_cast<std::uint64_t>(control_.size());
    const auto rank = static_cast<std::uint64_t>(control_.rank());
    const std::uint64_t all = read.header.elements;
    const std::uint64_t begin = all * rank / ranks;
    each_piece_of(all * (rank + 1) / ranks - begin, [&](std::size_t first, Out values) {
      file.read_at(read.bytes + (begin + first) * sizeof(float), std::as_writable_bytes(values));
      sum += digest_of(begin + first, values);
    });
  });
  control_.all_reduce(sum);
  on_checkpoint(step, [&] { require_digest(read, sum); });
  return read;
}

/// Fills this rank's shards. `arrays`: where the first array begins.
void Checkpoints::load(std::size_t step, std::uint64_t arrays) {
  const File file(at(step));
  for (const Piece& piece : pieces_of(strategy_.shards(), place_.layout.size())) {
    each_piece_of(piece.values.size(), [&](std::size_t first, Out values) {
      file.read_at(arrays + (piece.place + first) * sizeof(float), std::as_writable_bytes(values));
      place_.machine().write(values.data(), piece.values.data() + first, values.size_bytes());
    });
  }
}

void Checkpoints::save() {
  Header header = header_;
  header.position = position_;
  const std::string text = to_text(header, 0);  // as long as with the digest
  on_first([&] { begin(position_.step, text); });
  reach("begun");
  std::uint64_t sum = 0;
  strategy_.settle();
  together(control_, [&] {
    if (strategy_.writes_shards()) sum = write_shards(position_.step, text.size());
  });
  reach("written");
  control_.all_reduce(sum);
  on_first([&] { publish(header, sum); });
}

void Checkpoints::begin(std::size_t step, const std::string& header) const {
  std::filesystem::create_directories(options_.folder);
  for (const auto& entry : std::filesystem::directory_iterator(options_.folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(step_prefix) && name.ends_with(unfinished))
      std::filesystem::remove_all(entry.path());
  }
  File(at(step, unfinished), O_WRONLY | O_CREAT | O_TRUNC)
      .truncate(header.size() + header_.elements * sizeof(float));
}

/// Returns the digest of this rank's shards. It opens the file that rank 0 made: on a host that
/// does not share the folder there is none.
std::uint64_t Checkpoints::write_shards(std::size_t step, std::uint64_t arrays) {
  File file(at(step, unfinished), O_WRONLY);
  std::uint64_t sum = 0;
  for (const Piece& piece : pieces_of(strategy_.shards(), place_.layout.size())) {
    each_piece_of(piece.values.size(), [&](std::size_t first, Out values) {
      const std::uint64_t place = piece.place + first;
      place_.machine().read(piece.values.data() + first, values.data(), values.size_bytes());
      sum += digest_of(place, values);
      file.write_at(arrays + place * sizeof(float), std::as_bytes(values));
    });
    reach("half written");
  }
  file.sync();
  return sum;
}

void Checkpoints::publish(const Header& header, std::uint64_t sum) const {
  const std::size_t step = header.position.step;
  const std::string text = to_text(header, sum);
  File file(at(step, unfinished), O_WRONLY);
  file.write_at(0, std::as_bytes(std::span(text)));
  file.sync();
  reach("header written");
  std::filesystem::rename(at(step, unfinished), at(step));
  File(options_.folder).sync();
  reach("renamed");
  auto all = steps();
  all.resize(all.size() - std::min(all.size(), options_.keep));
  for (const std::size_t old : all) std::filesystem::remove_all(at(old));
  reach("pruned");
}

}  // namespace rondo::train
