#include "tests/job/checked_calls.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/api/make_call.h"

namespace rondo::test {
namespace {

/// The input of one rank and its expected output.
class Expectation {
 public:
  Expectation(const Request& request, int rank, int ranks, unsigned salt)
      : request_(request), rank_(rank), ranks_(ranks), salt_(salt) {}

  std::size_t input_elements() const {
    switch (request_.collective) {
      case Collective::reduce_scatter:
      case Collective::all_to_all:
      case Collective::scatter:
        return request_.count * static_cast<std::size_t>(ranks_);
      default:
        return request_.count;
    }
  }
  std::size_t output_elements() const {
    switch (request_.collective) {
      case Collective::all_gather:
      case Collective::all_to_all:
      case Collective::gather:
        return request_.count * static_cast<std::size_t>(ranks_);
      default:
        return request_.count;
    }
  }
  int input(std::size_t index) const { return value(rank_, index); }

  /// 0, what the buffer holds before, where the call has nothing to write on this rank.
  int output(std::size_t index) const {
    const std::size_t block = index / request_.count;
    const std::size_t within = index % request_.count;
    const std::size_t mine = static_cast<std::size_t>(rank_) * request_.count;
    switch (request_.collective) {
      case Collective::all_reduce:
        return reduced(index);
      case Collective::reduce:
        return rank_ == request_.root ? reduced(index) : 0;
      case Collective::reduce_scatter:
        return reduced(mine + index);
      case Collective::all_gather:
        return value(static_cast<int>(block), within);
      case Collective::gather:
        return rank_ == request_.root ? value(static_cast<int>(block), within) : 0;
      case Collective::all_to_all:
        return value(static_cast<int>(block), mine + within);
      case Collective::broadcast:
        return value(request_.root, index);
      case Collective::scatter:
        return value(request_.root, mine + index);
      case Collective::send_recv:
        return value((rank_ + ranks_ - 1) % ranks_, index);
      case Collective::barrier:
        break;
    }
    return 0;
  }

 private:
  /// 1 to 11: a sum over many ranks fits a byte, a product over 8 ranks an int32.
  int value(int rank, std::size_t index) const {
    return 1 + static_cast<int>((static_cast<std::size_t>(rank) * 7 + index * 3 + salt_) % 11);
  }
  int reduced(std::size_t index) const {
    int result = value(0, index);
    for (int rank = 1; rank < ranks_; ++rank) {
      const int next = value(rank, index);
      switch (request_.op) {
        case ReduceOperator::sum:
        case ReduceOperator::avg:
          result += next;
          break;
        case ReduceOperator::prod:
          result *= next;
          break;
        case ReduceOperator::min:
          result = std::min(result, next);
          break;
        case ReduceOperator::max:
          result = std::max(result, next);
          break;
        case ReduceOperator::bit_and:
          result &= next;
          break;
        case ReduceOperator::bit_or:
          result |= next;
          break;
        case ReduceOperator::bit_xor:
          result ^= next;
          break;
      }
    }
    return request_.op == ReduceOperator::avg ? result / ranks_ : result;
  }

  Request request_;
  int rank_;
  int ranks_;
  unsigned salt_;
};

void call(Communicator& world, const Request& r, const void* input, void* output) {
  if (r.collective != Collective::send_recv) {
    const Call call{
        .count = r.count, .collective = r.collective, .type = r.type, .op = r.op, .root = r.root};
    return make_call(world, call, input, output);
  }
  Group group;  // round the ring, all ranks at once
  world.send(input, r.count, r.type, (world.rank() + 1) % world.size());
  world.recv(output, r.count, r.type, (world.rank() + world.size() - 1) % world.size());
  group.wait();
}

template <class Element>
std::vector<Element> make_input(const Expectation& expectation) {
  std::vector<Element> input(expectation.input_elements());
  for (std::size_t i = 0; i < input.size(); ++i)
    input[i] = static_cast<Element>(expectation.input(i));
  return input;
}

template <class Element>
void compare(const std::vector<Element>& buffer, const std::string& what, auto expected) {
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    if (buffer[i] == static_cast<Element>(expected(i))) continue;
    throw WrongElement(what + " element " + std::to_string(i) + " is " + std::to_string(buffer[i]) +
                       ", not " + std::to_string(expected(i)));
  }
}

template <class Element>
void checked(Communicator& world, const Request& request, unsigned salt) {
  const Expectation expectation(request, world.rank(), world.size(), salt);
  const auto input = make_input<Element>(expectation);
  std::vector<Element> output(expectation.output_elements());
  call(world, request, input.data(), output.data());
  const std::string what(name(request.collective));
  compare(output, what + ": output", [&](std::size_t i) { return expectation.output(i); });
  compare(input, what + ": input", [&](std::size_t i) { return expectation.input(i); });
}

/// Takes what stands before the next comma; empty at the end.
std::string_view take(std::string_view& text) {
  const auto comma = std::min(text.find(','), text.size());
  const auto part = text.substr(0, comma);
  text.remove_prefix(std::min(comma + 1, text.size()));
  return part;
}

}  // namespace

Request parse_request(std::string_view text) {
  Request request{.collective = parse_collective(take(text)).value()};
  if (const auto count = take(text); !count.empty()) request.count = std::stoul(std::string(count));
  if (const auto type = take(text); !type.empty()) request.type = parse_data_type(type).value();
  if (const auto op = take(text); !op.empty()) request.op = parse_reduce_operator(op).value();
  if (const auto root = take(text); !root.empty()) request.root = std::stoi(std::string(root));
  return request;
}

void checked_call(Communicator& communicator, const Request& request, unsigned salt) {
  switch (request.type) {
    case DataType::int32:
      return checked<std::int32_t>(communicator, request, salt);
    case DataType::int64:
      return checked<std::int64_t>(communicator, request, salt);
    case DataType::uint8:
      return checked<std::uint8_t>(communicator, request, salt);
    case DataType::float32:
      return checked<float>(communicator, request, salt);
    case DataType::float64:
      return checked<double>(communicator, request, salt);
    default:
      throw std::invalid_argument("no data of this type here");
  }
}

void checked_exchange(Communicator& communicator, std::size_t count, unsigned salt) {
  std::vector<std::size_t> sent;
  std::vector<std::size_t> received;
  std::vector<int> input;
  std::vector<int> wanted;
  const auto add = [&](int from, int to, std::vector<std::size_t>& counts, std::vector<int>& list) {
    counts.push_back(count + static_cast<std::size_t>(3 * from + to));
    list.insert(list.end(), counts.back(), 1000 * from + to + static_cast<int>(salt));
  };
  const int rank = communicator.rank();
  for (int peer = 0; peer < communicator.size(); ++peer) {
    add(rank, peer, sent, input);
    add(peer, rank, received, wanted);
  }
  std::vector<int> output(wanted.size());
  communicator.all_to_all_v(input.data(), {sent}, output.data(), {received}, DataType::int32);
  compare(output, "all_to_all_v: output", [&](std::size_t i) { return wanted[i]; });
}

void checked_overlap(Communicator& communicator, std::size_t count) {
  struct Flight {
    Request request;
    Expectation expectation;
    std::vector<float> input;
    std::vector<float> output;
    Work work{};
  };
  std::vector<Flight> flights;
  for (unsigned salt = 0; salt < 6; ++salt) {
    const Request request{.count = count + salt};
    const Expectation expectation(request, communicator.rank(), communicator.size(), salt);
    flights.push_back(
        {request, expectation, make_input<float>(expectation), std::vector<float>(request.count)});
  }
  for (Flight& flight : flights)
    flight.work = communicator.all_reduce_async(flight.input.data(), flight.output.data(),
                                                flight.request.count, DataType::float32);
  for (auto flight = flights.rbegin(); flight != flights.rend(); ++flight) {
    flight->work.wait();
    compare(flight->output, "all_reduce_async: output",
            [&](std::size_t i) { return flight->expectation.output(i); });
  }
}

}  // namespace rondo::test
