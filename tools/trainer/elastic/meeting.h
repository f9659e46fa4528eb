// How a rank that is started later finds a running training: by files in the folder of checkpoints,
// which all hosts share.
//
//   DIR/join-ID.request    a process wants to join; it says what it would train (print_of()) and where it
//                          runs, and holds a lock as long as it lives
//   DIR/join-ID.ticket     rank 0's answer: a unique id, a rank and the number of ranks, or a refusal
//
// A unique id carries the secret of its ranks. So only the user may read the files, and both go as
// soon as they have been read.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "rondo/rondo.h"
#include "tools/trainer/checkpoint/file.h"
#include "tools/trainer/data/random.h"
#include "tools/trainer/options.h"

namespace rondo::train {

/// A digest of what a process must have in common with the ranks that it joins. `data`: the text's.
inline std::uint64_t print_of(const Options& options, std::uint64_t data) {
  return mix(fingerprint(settings_json(options)), data);
}

struct Ticket {
  UniqueId id{};
  int rank = 0;
  int ranks = 0;
};

/// The side of the one that joins. The destructor removes its request.
class Request {
 public:
  /// Throws Error{system} if the folder cannot be written to.
  Request(const std::string& folder, std::uint64_t print);
  ~Request();
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  /// Waits for the answer. Throws Error{timeout} if none comes in time, and Error{invalid_argument}
  /// with the ranks' words if they refuse.
  Ticket wait(std::chrono::milliseconds longest);

 private:
  std::filesystem::path request_;
  File file_;
};

/// Rank 0's side.
class Meeting {
 public:
  Meeting(const std::string& folder, std::uint64_t print);

  /// Whether a process waits. Refuses those that cannot join, and removes what dead ones left. Looks
  /// a few times a second at most. A folder that cannot be read has no requests.
  bool somebody_waits();
  /// Answers the first one that waits: a ticket for rank `ranks - 1`. Throws Error{system}.
  UniqueId invite(int ranks);
  /// Removes what the invited one has left.
  void close();
  /// Refuses all that wait.
  void refuse(const std::string& words);

 private:
  void look();

  std::filesystem::path folder_;
  std::uint64_t print_;
  std::chrono::steady_clock::time_point looked_{};
  std::filesystem::path first_{};  ///< the request that comes next; empty: nobody waits
};

}  // namespace rondo::train
