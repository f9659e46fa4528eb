// A strategy's shards to and from files.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tools/trainer/checkpoint/manifest.h"
#include "tools/trainer/optimize/optimizer.h"

namespace rondo::train {

/// Where tests end a process. Points have names: see checkpoints.cc. Empty: nothing is called.
using Hook = std::function<void(const char* point)>;

/// Local. Writes this rank's ranges into a file of its own; returns when the disk has it.
SavedFile write_shard(const std::filesystem::path& folder, int rank,
                      const std::vector<Range>& ranges, const Hook& hook);

/// Collective. Every rank gives the ranges it answers for, none where another rank has the same;
/// rank 0 writes them into one file in the order of the flat model. What goes wrong with the file
/// is in `failure` and left to be agreed on: the others could not hear of it meanwhile.
SavedFile write_whole(Communicator& control, const std::filesystem::path& folder,
                      const std::vector<Range>& ranges, std::size_t states,
                      std::exception_ptr& failure);

/// Local. Fills the ranges, wherever the files hold their elements.
void read_shards(const std::filesystem::path& folder, const Manifest& manifest,
                 const std::vector<Range>& ranges);

/// Collective: the text of every rank.
std::vector<std::string> gather_texts(Communicator& control, const std::string& text);

}  // namespace rondo::train
