// Each textbook formula beside what this run measured: briefly after every run, all of them with
// `rondo-train --validate`.
#pragma once

#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tools/trainer/report/formulas.h"
#include "tools/trainer/session.h"

namespace rondo::train {

/// The inputs of the formulas, and what the run measured.
struct Evidence {
  Traits traits{};
  std::size_t steps = 0;    ///< measured
  std::size_t skipped = 0;  ///< of them: fp16 overflowed, so zero1 and zero2 gathered nothing
  bool settled = false;     ///< every call uses the traits' algorithms, so counts are exact
  bool full = false;        ///< times were measured, also of communication alone
  Link link{};              ///< between the ranks, if there is a profile
  double payload = 0;       ///< bytes that a rank sent in a step, mean over ranks and steps
  double messages = 0;      ///< likewise
  double state = 0;  ///< bytes of parameters, gradients and optimizer state, the largest rank's
  /// Seconds of a step, medians over the steps.
  double step = 0;     ///< on rank 0
  double compute = 0;  ///< of the rank that computed longest
  /// Seconds that the rank that waited least spent waiting for communication. The other ranks also
  /// waited for that rank.
  double exposed = 0;
  double alone = 0;  ///< seconds of the same calls with nothing else to do, the slowest rank's
};

struct ValidationRow {
  std::string what{};
  std::string formula{};
  double predicted = 0;
  double measured = 0;
  std::string unit{};
  double limit = -1;  ///< of the difference, in per cent; < 0: not judged

  double difference() const;  ///< per cent of the prediction
  bool within() const;
};

std::vector<ValidationRow> validation_rows(const Evidence& evidence);
/// The table as text, with notes on what it does and does not prove.
std::string validation_text(const Evidence& evidence);

/// Throws AgreedError with the names of the rows that are OFF, if there are any. Rows are equal on
/// all ranks.
void demand_within(const std::vector<ValidationRow>& rows);

/// Collective. The evidence of a run with these `steps`. If options.formulas is full, it times the
/// steps' communication alone at the end.
Evidence evidence_of(Session& session, Communicator& world, const Options& options,
                     const std::vector<StepRecord>& steps);

/// Collective. Whether the ranks are on more than one host.
bool on_several_hosts(Communicator& world);

/// Takes the profile's entry for the transport, on several hosts (`apart`) or on one, with the nearest
/// number of ranks. `bytes`: the whole vector of a call. Throws Error{invalid_argument} that names the
/// file, what is wrong and how to make another.
Link read_link(const std::string& path, const std::string& transport, int ranks, bool apart,
               double bytes);

/// Local. The entry of options.profile for the transport of the steps' calls. `apart`: the ranks
/// are on several hosts. Throws Error{invalid_argument} if the file is not a profile.
Link link_of(Session& session, Communicator& world, const Options& options, bool apart);

}  // namespace rondo::train
