#include "tests/job/checked_calls.h"

#include <deque>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "tests/support/call.h"

namespace rondo::test {
namespace {

/// A rank's part of a call, and its memory.
class Part {
 public:
  Part(const Communicator& comm, const Case& given)
      : rank_(comm.rank()),
        trial_(given, comm.size(), Values::whole, rank_),
        memory_(trial_.before(rank_)) {}

  const Case& given() const { return trial_.given(); }
  const std::byte* input() const { return memory_.data() + trial_.input(rank_); }
  std::byte* output() { return memory_.data() + trial_.output(rank_); }
  void check() const {
    try {
      trial_.check(rank_, memory_.data());
    } catch (const std::runtime_error& wrong) {
      throw WrongElement(wrong.what());
    }
  }

 private:
  int rank_;
  Trial trial_;
  Bytes memory_;
};

/// Round the ring, all ranks at once.
void pass_on(Communicator& comm, const Call& call, unsigned salt) {
  const int ranks = comm.size();
  const int next = (comm.rank() + 1) % ranks;
  const int previous = (comm.rank() + ranks - 1) % ranks;
  Part part(comm, {.call = {.type = call.type}, .salt = salt, .between = [=](int from, int to) {
                     return to == (from + 1) % ranks ? std::size_t{call.count} : 0;
                   }});
  Group group;
  comm.send(part.input(), call.count, call.type, next);
  comm.recv(part.output(), call.count, call.type, previous);
  group.wait();
  part.check();
}

}  // namespace

Call parse_call(std::string_view text) {
  const std::vector<std::string> parts = split(std::string(text), ',');
  const auto part = [&](std::size_t at) { return at < parts.size() ? parts[at] : std::string(); };
  Call call{.collective = parse_collective(part(0)).value(), .type = DataType::float32};
  if (!part(1).empty()) call.count = std::stoul(part(1));
  if (!part(2).empty()) call.type = parse_data_type(part(2)).value();
  if (!part(3).empty()) call.op = parse_reduce_operator(part(3)).value();
  if (!part(4).empty()) call.root = std::stoi(part(4));
  call.accumulate = call.type;
  return call;
}

void checked_call(Communicator& communicator, const Call& call, unsigned salt) {
  if (call.collective == Collective::barrier) return communicator.barrier();
  if (call.collective == Collective::send_recv) return pass_on(communicator, call, salt);
  Part part(communicator, {.call = call, .salt = salt});
  make_call(communicator, call, part.input(), part.output());
  part.check();
}

void checked_exchange(Communicator& communicator, std::size_t count, unsigned salt) {
  Part part(communicator,
            {.call = {.type = DataType::int32}, .salt = salt, .between = [=](int from, int to) {
               return count + static_cast<std::size_t>(3 * from + to);
             }});
  make_call(communicator, part.given(), part.input(), part.output());
  part.check();
}

void checked_overlap(Communicator& communicator, std::size_t count) {
  std::deque<Part> parts;
  std::vector<Work> works;
  for (unsigned salt = 0; salt < 6; ++salt) {
    const Call call{
        .count = count + salt, .collective = Collective::all_reduce, .type = DataType::float32};
    parts.emplace_back(communicator, Case{.call = call, .salt = salt});
  }
  for (Part& part : parts)
    works.push_back(communicator.all_reduce_async(part.input(), part.output(),
                                                  part.given().call.count, DataType::float32));
  for (std::size_t i = parts.size(); i-- > 0;) {
    works[i].wait();
    parts[i].check();
  }
}

}  // namespace rondo::test
