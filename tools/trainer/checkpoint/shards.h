// Writes a strategy's shards to files and reads them back.
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

/// Called at each named stage of saving (see checkpoints.cc), so that tests can end a process
/// there. May be empty.
using Hook = std::function<void(const char* point)>;

/// Local. Writes this rank's ranges into a file of its own. Returns when it is on the disk.
SavedFile write_shard(const std::filesystem::path& folder, int rank,
                      const std::vector<Range>& ranges, const Hook& hook);

/// Collective. Every rank passes the ranges that it saves: none if another rank has the same. Rank
/// 0 writes them into one file, in the order of the flat model. An error of the file goes into
/// `failure`, and the ranks agree on it later: the others could not hear of it during the call.
SavedFile write_whole(Communicator& control, const std::filesystem::path& folder,
                      const std::vector<Range>& ranges, std::size_t states,
                      std::exception_ptr& failure);

/// Local. Fills the ranges from whichever files hold their elements.
void read_shards(const std::filesystem::path& folder, const Manifest& manifest,
                 const std::vector<Range>& ranges);

/// Collective: the text of every rank.
std::vector<std::string> gather_texts(Communicator& control, const std::string& text);

}  // namespace rondo::train
