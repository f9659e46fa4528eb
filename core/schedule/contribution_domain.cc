#include "core/schedule/contribution_domain.h"

namespace rondo {
namespace {

using Fault = Contribution::Fault;

Chunk single(const Chunk& run, int chunk) {
  Chunk one = run;
  one.first = static_cast<std::uint32_t>(chunk);
  one.count = 1;
  return one;
}

}  // namespace

ContributionDomain::ContributionDomain(const Schedule& header, Complain complain, bool lanes_apart,
                                       Places places)
    : header_(header),
      complain_(std::move(complain)),
      lanes_apart_(lanes_apart && header.lanes > 1),
      places_(places),
      algebra_(header),
      memories_(static_cast<std::size_t>(header.ranks)) {
  for (int rank = 0; rank < header.ranks; ++rank) {
    Memory& own = memory(rank);
    own.outputs = held(header.collective, Buffer::output, header.layout, rank, header.root);
    own.output.resize(static_cast<std::size_t>(own.outputs.count));
    if (lanes_apart_) own.reader.assign(static_cast<std::size_t>(header.layout.chunks()), -1);
  }
}

int ContributionDomain::chunk_at(const Chunk& run, std::uint32_t i) const {
  return static_cast<int>((run.first + i) % static_cast<std::uint32_t>(header_.layout.chunks()));
}

ContributionDomain::Cell* ContributionDomain::find(int rank, const Chunk& run, int chunk) {
  Memory& own = memory(rank);
  if (run.buffer == Buffer::scratch) {
    const auto chunks = static_cast<std::uint64_t>(header_.layout.chunks());
    return &own.scratch[run.slot * chunks + static_cast<std::uint64_t>(chunk)];
  }
  const int index = chunk - own.outputs.first;
  if (index < 0 || index >= own.outputs.count) return nullptr;
  return &own.output[static_cast<std::size_t>(index)];
}

ContributionDomain::Value ContributionDomain::read(const Site& site, const Chunk& run) {
  Value value(run.count);
  for (std::uint32_t i = 0; i < run.count; ++i) {
    const int chunk = chunk_at(run, i);
    if (!holds(header_, site.rank, single(run, chunk)))
      complain_(site, "reads " + text(single(run, chunk), header_.layout) +
                          ", which this rank's buffer does not have");
    else
      value[i] =
          run.buffer == Buffer::input ? read_input(site, chunk) : read_written(site, run, chunk);
  }
  return value;
}

ContributionDomain::Value ContributionDomain::read_place(const Site& site, int peer,
                                                         const Chunk& run) {
  const Site there{peer, site.lane, site.index, site.op};
  Value value;
  for (std::uint32_t i = 0; i < run.count; ++i) {
    const Chunk one = single(run, chunk_at(run, i));
    const bool is_input = one.buffer == Buffer::input && holds(header_, peer, one);
    value.push_back(is_input && stays(peer, chunk_at(run, i))
                        ? algebra_.leaf(peer, chunk_at(run, i))
                        : read(there, one).front());
  }
  return value;
}

/// A peer's input that no output has taken the place of, if it lies where peers look for it.
bool ContributionDomain::stays(int peer, int chunk) {
  if (places_ == Places::copies || !may_alias(header_.collective)) return true;
  const Cell* const over = find(peer, rondo::output(chunk), chunk);
  if (over == nullptr || over->lane < 0) return true;
  const Contribution own = algebra_.leaf(peer, chunk);
  return over->value.tree == own.tree && over->value.set == own.set;
}

Contribution ContributionDomain::read_input(const Site& site, int chunk) {
  const Cell* over =
      may_alias(header_.collective) ? find(site.rank, rondo::output(chunk), chunk) : nullptr;
  if (over != nullptr && over->lane >= 0)
    complain_(site, "reads input chunk " + std::to_string(chunk) +
                        " after output of the same chunk was written: wrong when in place");
  if (lanes_apart_) {
    std::int32_t& reader = memory(site.rank).reader[static_cast<std::size_t>(chunk)];
    reader = reader < 0 || reader == site.lane ? site.lane : header_.lanes;  // lanes: several
  }
  return algebra_.leaf(site.rank, chunk);
}

Contribution ContributionDomain::read_written(const Site& site, const Chunk& run, int chunk) {
  const Cell& cell = *find(site.rank, run, chunk);
  if (cell.lane < 0)
    complain_(site,
              "reads " + text(single(run, chunk), header_.layout) + ", which nothing has written");
  else if (lanes_apart_ && cell.lane != site.lane)
    complain_(site, "reads " + text(single(run, chunk), header_.layout) + ", which lane " +
                        std::to_string(cell.lane) + " writes: lanes run in any order");
  return cell.value;
}

/// Nothing promises that its sender sent as much as is received.
ContributionDomain::Value ContributionDomain::arrive(const Site& site, int peer, Value value) {
  const std::size_t wanted = site.op->extent.count;
  if (value.size() != wanted)
    complain_(site, "receives a message of " + std::to_string(value.size()) +
                        " chunk(s) from rank " + std::to_string(peer) + " as one of " +
                        std::to_string(wanted));
  value.resize(wanted);
  return value;
}

ContributionDomain::Value ContributionDomain::combine(const Site& site, std::span<Value> operands) {
  Value result(operands.front().size());
  std::vector<Contribution> column(operands.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    bool sound = true;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      column[k] = operands[k][i];
      sound = sound && column[k].fault == Fault::none;
    }
    result[i] = algebra_.combine(column);
    if (!sound || result[i].fault == Fault::none) continue;
    std::string words;
    for (const Contribution& each : column)
      words += (words.empty() ? "" : " with ") + algebra_.text(each);
    complain_(site, "combines " + words + algebra_.twice(column));
  }
  return result;
}

void ContributionDomain::write(const Site& site, const Chunk& run, const Value& value) {
  for (std::uint32_t i = 0; i < run.count; ++i) {
    const int chunk = chunk_at(run, i);
    Cell* cell = find(site.rank, run, chunk);
    if (cell == nullptr) {
      complain_(site, "writes " + text(single(run, chunk), header_.layout) +
                          ", which this rank's buffer does not have");
      continue;
    }
    if (lanes_apart_ && cell->lane >= 0 && cell->lane != site.lane)
      complain_(site, "writes " + text(single(run, chunk), header_.layout) + ", which lane " +
                          std::to_string(cell->lane) + " writes too");
    *cell = {value[i], site.lane};
  }
}

const Contribution& ContributionDomain::output(int rank, int chunk) const {
  const Memory& own = memories_[static_cast<std::size_t>(rank)];
  return own.output[static_cast<std::size_t>(chunk - own.outputs.first)].value;
}

Contribution ContributionDomain::peek(int rank, const Chunk& chunk) {
  if (chunk.buffer == Buffer::input)
    return holds(header_, rank, chunk) ? algebra_.leaf(rank, static_cast<int>(chunk.first))
                                       : Contribution{};
  const Cell* cell = find(rank, chunk, static_cast<int>(chunk.first));
  return cell == nullptr ? Contribution{} : cell->value;
}

void ContributionDomain::check_lanes() {
  if (!lanes_apart_ || !may_alias(header_.collective)) return;
  for (int rank = 0; rank < header_.ranks; ++rank) {
    const Memory& own = memory(rank);
    for (int i = 0; i < own.outputs.count; ++i) {
      const int chunk = own.outputs.first + i;
      const std::int32_t reader = own.reader[static_cast<std::size_t>(chunk)];
      const std::int32_t writer = own.output[static_cast<std::size_t>(i)].lane;
      if (reader >= 0 && writer >= 0 && reader != writer)
        complain_({.rank = rank, .lane = writer},
                  "writes output chunk " + std::to_string(chunk) +
                      ", whose input another lane reads: wrong when in place");
    }
  }
}

}  // namespace rondo
