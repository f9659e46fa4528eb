#include "tools/trainer/checkpoint/shards.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "tools/trainer/checkpoint/file.h"

namespace rondo::train {
namespace {

constexpr std::size_t piece = 1U << 18;  // elements that a whole checkpoint moves at a time

/// Parameters are array 0, then the states.
std::span<float> array_of(const Range& range, std::size_t array) {
  return array == 0 ? range.parameters : range.states[array - 1];
}

std::string shard_name(int rank) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "shard-%04d.bin", rank);
  return name.data();
}

/// A file, what was written to it, and its digest.
class Writer {
 public:
  Writer(const std::filesystem::path& folder, const std::string& name)
      : file_(File::create(folder / name)) {
    saved_.name = name;
  }
  void write(std::span<const float> values) {
    const auto bytes = std::as_bytes(values);
    file_.write(bytes);
    digest_.add(bytes);
    saved_.bytes += bytes.size();
  }
  SavedFile finish() {
    file_.sync();
    saved_.digest = digest_.text();
    return saved_;
  }

 private:
  File file_;
  Digest digest_{};
  SavedFile saved_{};
};

/// A run of the flat model and the rank that has it.
struct OwnedRun {
  Extent run;
  int rank;
  std::size_t index;  ///< into that rank's ranges
};

/// The runs of all ranks, in the order of the flat model.
std::vector<OwnedRun> runs_of_all(Communicator& control, const std::vector<Range>& ranges) {
  SavedFile own;
  for (const Range& range : ranges) own.runs.push_back({range.begin, range.parameters.size()});
  std::vector<OwnedRun> all;
  const auto texts = gather_texts(control, to_text(own));
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const auto runs = parse_file(texts[rank]).runs;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      all.push_back({runs[i], static_cast<int>(rank), i});
    }
  }
  const auto before = [](const OwnedRun& a, const OwnedRun& b) {
    return a.run.begin < b.run.begin;
  };
  std::sort(all.begin(), all.end(), before);
  return all;
}

/// Keeps the first failure and drops later ones.
template <class Action>
void unless_failed(std::exception_ptr& failure, Action action) {
  if (failure) return;
  try {
    action();
  } catch (...) {
    failure = std::current_exception();
  }
}

/// Brings one run of one array from its owner to rank 0, which passes it on piece by piece.
template <class Take>
void bring(Communicator& control, const OwnedRun& from, std::span<const float> own, Take take) {
  std::vector<float> buffer;
  for (std::size_t at = 0; at < from.run.size; at += piece) {
    const std::size_t count = std::min(piece, from.run.size - at);
    if (from.rank == 0) {
      if (control.rank() == 0) take(own.subspan(at, count));
    } else if (control.rank() == from.rank) {
      control.send(own.data() + at, count, DataType::float32, 0);
    } else if (control.rank() == 0) {
      buffer.resize(count);
      control.recv(buffer.data(), count, DataType::float32, from.rank);
      take(buffer);
    }
  }
}

/// Fills the part of a range that a run covers. `first` is the run's place in the file's arrays,
/// which have `total` elements each.
void read_overlap(const File& file, const Extent& run, std::size_t first, std::size_t total,
                  const Range& range) {
  const std::size_t begin = std::max(run.begin, range.begin);
  const std::size_t end = std::min(run.begin + run.size, range.begin + range.parameters.size());
  if (begin >= end) return;
  for (std::size_t array = 0; array <= range.states.size(); ++array) {
    const std::size_t place = array * total + first + (begin - run.begin);
    const auto into = array_of(range, array).subspan(begin - range.begin, end - begin);
    file.read_at(place * sizeof(float), std::as_writable_bytes(into));
  }
}

}  // namespace

SavedFile write_shard(const std::filesystem::path& folder, int rank,
                      const std::vector<Range>& ranges, const Hook& hook) {
  Writer writer(folder, shard_name(rank));
  const std::size_t arrays = ranges.empty() ? 0 : ranges[0].states.size() + 1;
  for (std::size_t array = 0; array < arrays; ++array) {
    for (const Range& range : ranges) writer.write(array_of(range, array));
    if (hook) hook("shard half written");
  }
  SavedFile saved = writer.finish();
  for (const Range& range : ranges) saved.runs.push_back({range.begin, range.parameters.size()});
  return saved;
}

SavedFile write_whole(Communicator& control, const std::filesystem::path& folder,
                      const std::vector<Range>& ranges, std::size_t states,
                      std::exception_ptr& failure) {
  const auto runs = runs_of_all(control, ranges);
  const bool writes = control.rank() == 0;
  std::optional<Writer> writer;
  unless_failed(failure, [&] {
    if (writes) writer.emplace(folder, "whole.bin");
  });
  std::size_t elements = 0;
  for (const OwnedRun& from : runs) elements += from.run.size;
  for (std::size_t array = 0; array <= states; ++array) {
    for (const OwnedRun& from : runs) {
      const bool mine = from.rank == control.rank();
      const auto own = mine ? array_of(ranges[from.index], array) : std::span<float>();
      bring(control, from, own, [&](std::span<const float> values) {
        unless_failed(failure, [&] { writer->write(values); });
      });
    }
  }
  SavedFile saved;
  unless_failed(failure, [&] {
    if (writes) saved = writer->finish();
  });
  saved.runs = {{0, elements}};
  return saved;
}

void read_shards(const std::filesystem::path& folder, const Manifest& manifest,
                 const std::vector<Range>& ranges) {
  for (const SavedFile& saved : manifest.files) {
    const File file = File::open(folder / saved.name);
    const std::size_t total = saved.bytes / sizeof(float) / (manifest.states + 1);
    std::size_t first = 0;
    for (const Extent& run : saved.runs) {
      for (const Range& range : ranges) read_overlap(file, run, first, total, range);
      first += run.size;
    }
  }
}

std::vector<std::string> gather_texts(Communicator& control, const std::string& text) {
  const auto ranks = static_cast<std::size_t>(control.size());
  std::vector<std::uint64_t> sizes(ranks);
  const std::uint64_t own = text.size();
  control.all_gather(&own, sizes.data(), 1, DataType::uint64);
  const auto longest = static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end()));
  std::string padded = text;
  padded.resize(longest);
  std::string all(longest * ranks, '\0');
  control.all_gather(padded.data(), all.data(), longest, DataType::uint8);
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    texts.push_back(all.substr(rank * longest, sizes[rank]));
  }
  return texts;
}

}  // namespace rondo::train
