#include "tools/trainer/report/validation.h"

#include <algorithm>
#include <cmath>

#include "tools/trainer/agreement.h"
#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

constexpr double of_bytes = 0;  ///< per cent: bytes and messages are exact
constexpr double of_memory = 5;
constexpr double nothing_promised = -1;

/// Five digits; from 100000 on, as for bytes, a whole number without an exponent.
std::string number(double value) {
  return value >= 1e5 ? format("%.0f", value) : format("%.5g", value);
}

/// What a profile predicts for the communication alone.
void add_link(const Evidence& evidence, const StepFormulas& formulas,
              std::vector<ValidationRow>& rows) {
  const Link& link = evidence.link;
  if (link.rate <= 0 || evidence.alone <= 0) return;
  if (evidence.settled)
    rows.push_back({"t_comm alone", "alpha rounds + beta bytes + gamma sums",
                    1e3 * formulas.seconds(link), 1e3 * evidence.alone, "ms"});
  rows.push_back({"busbw", "what the link carries; bytes/t_comm", 1e-9 * link.rate,
                  1e-9 * formulas.bytes().value / evidence.alone, "GB/s"});
}

/// Otherwise devices moved all data without any (core/dispatch). Calls that a formula is sure of send
/// some, so a count of none is judged.
bool counts_messages(const Evidence& evidence) {
  return evidence.traits.ranks == 1 || evidence.settled || evidence.messages > 0;
}

std::string notes(const Evidence& evidence) {
  const StepFormulas formulas(evidence.traits);
  std::string words;
  if (evidence.skipped > 0)
    words = format("%zu of %zu steps were skipped (fp16 overflowed); formulas are of steps taken\n",
                   evidence.skipped, evidence.steps);
  if (evidence.traits.ranks == 1) return words;
  if (!counts_messages(evidence)) {
    words += "payload and messages are not counted: the data went from GPU to GPU\n";
  } else if (!evidence.settled) {
    words +=
        "payload and messages are not judged: some calls may use another algorithm than the "
        "formula;\n--validate makes all go round rings, or as RONDO_ALGORITHM says\n";
  }
  if (!evidence.full) return words;
  words +=
      "speed-up over t_c: compared with one rank that computes as slowly as these, which may "
      "share cores;\ntools/trainer/study compares with one rank that runs alone\n";
  if (evidence.link.rate > 0) {
    words += "link: " + evidence.link.words + "\n";
  } else if (evidence.alone > 0) {
    const double bytes = formulas.bytes().value;
    words += format("busbw %.4g GB/s; ", 1e-9 * bytes / evidence.alone) +
             "what the link carries: `rondo calibrate --output FILE`, then --profile FILE\n";
  }
  return formulas.are_rings() ? words : words + formulas.cost_words();
}

void add_times(const Evidence& evidence, std::vector<ValidationRow>& rows) {
  const double hidden = std::max(0.0, evidence.alone - evidence.exposed);
  const double step = evidence.compute + evidence.alone - hidden;
  const double all = evidence.traits.ranks * evidence.compute;  // by one rank
  rows.push_back(
      {"time a step", "t_c + max(0, t_comm - hidden)", 1e3 * step, 1e3 * evidence.step, "ms"});
  rows.push_back({"communication", "t_comm alone; exposed", 1e3 * evidence.alone,
                  1e3 * evidence.exposed, "ms"});
  rows.push_back({"overlap", "hidden/t_comm", 100,
                  evidence.alone > 0 ? 100 * hidden / evidence.alone : 100, "%"});
  rows.push_back({"speed-up over t_c", "P t_c/(t_c + max(0, t_comm - hidden))", all / step,
                  all / evidence.step, ""});
}

}  // namespace

double ValidationRow::difference() const {
  if (predicted == measured) return 0;
  return predicted == 0 ? 100 : 100 * (measured / predicted - 1);
}

bool ValidationRow::within() const { return limit < 0 || std::abs(difference()) <= limit + 1e-9; }

std::vector<ValidationRow> validation_rows(const Evidence& evidence) {
  const StepFormulas formulas(evidence.traits);
  const Formula bytes = formulas.bytes();
  const Formula bytes_held = formulas.memory();
  // Where algorithms are chosen by size, calls may use another one than the formula.
  const double sent = evidence.skipped > 0 || !evidence.settled ? nothing_promised : of_bytes;
  std::vector<ValidationRow> rows;
  if (counts_messages(evidence)) {
    rows.push_back({"payload a rank", bytes.text, bytes.value, evidence.payload, "B", sent});
    const Formula messages = formulas.messages();
    const bool rings = formulas.are_rings();
    rows.push_back({rings && evidence.settled ? "messages, rounds" : "messages",
                    (rings && !evidence.settled ? "of rings: " : "") + messages.text,
                    messages.value, evidence.messages, "", sent});
  }
  rows.push_back(
      {"memory a rank", bytes_held.text, bytes_held.value, evidence.state, "B", of_memory});
  if (!evidence.full || evidence.traits.ranks == 1) return rows;
  add_times(evidence, rows);
  add_link(evidence, formulas, rows);
  return rows;
}

std::string validation_text(const Evidence& evidence) {
  std::string text = format("\nformulas of %s: P = %d, %zu parameters",
                            std::string(evidence.traits.strategy.name).c_str(),
                            evidence.traits.ranks, evidence.traits.parameters);
  if (evidence.traits.padding > 0) text += format(" + %zu padding", evidence.traits.padding);
  text +=
      format(", A = %zu, f = (P-1)/P\n%-18s %-38s %14s %14s %-5s %9s\n",
             evidence.traits.micro_steps, "what", "formula", "predicted", "measured", "", "off");
  for (const ValidationRow& row : validation_rows(evidence)) {
    text += format("%-18s %-38s %14s %14s %-5s %+8.2f%%", row.what.c_str(), row.formula.c_str(),
                   number(row.predicted).c_str(), number(row.measured).c_str(), row.unit.c_str(),
                   row.difference());
    text += row.limit < 0 ? "\n" : row.within() ? "  within\n" : "  OFF\n";
  }
  return text + notes(evidence);
}

void demand_within(const std::vector<ValidationRow>& rows) {
  std::string names;
  for (const ValidationRow& row : rows) {
    if (!row.within()) names += (names.empty() ? "" : ", ") + row.what;
  }
  if (names.empty()) return;
  reject_together("this run's measurements differ from the formulas: " + names,
                  "the rows marked OFF in the table say by how much; please report them",
                  ErrorCode::internal);
}

}  // namespace rondo::train
