#include "core/stream/own_messages.h"

namespace rondo::stream {
namespace {

constexpr std::size_t most_copies = 64;

bool are_sides_of_a_copy(const Request& sent, const Request& received) {
  if (sent.call.count != received.call.count || sent.call.type != received.call.type) return false;
  return sent.call.count == 0 || (sent.where.input.on_device && received.where.output.on_device);
}

}  // namespace

OwnMessages::OwnMessages(const std::vector<Request>& requests, int rank) {
  for (const Request& request : requests) {
    if (is_message(request) && request.peer == rank)
      (request.sends ? sends : receives).push_back(&request);
  }
}

void OwnMessages::check_sides(int rank) const {
  if (sends.size() == receives.size()) return;
  throw Error(ErrorCode::invalid_usage,
              "a send or recv of this rank with itself waits for ever: its other side is missing",
              {.rank = rank, .peer = rank, .remedy = "put both into one group"});
}

std::optional<std::vector<OwnCopy>> own_copies(const std::vector<Request>& requests, int rank) {
  const auto& [sent, received] = OwnMessages(requests, rank);
  const bool fits = sent.size() == received.size() && sent.size() <= most_copies &&
                    2 * sent.size() < requests.size();
  if (!fits) return std::nullopt;
  std::vector<OwnCopy> copies;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (!are_sides_of_a_copy(*sent[i], *received[i])) return std::nullopt;
    copies.push_back({.from = sent[i]->input,
                      .to = received[i]->output,
                      .bytes = sent[i]->call.count * size_of(sent[i]->call.type),
                      .sender = sent[i]->stream,
                      .receiver = received[i]->stream});
  }
  return copies;
}

void leave_out_own(std::vector<Request>& requests, int rank) {
  std::erase_if(requests, [&](const Request& request) {
    return is_message(request) && request.peer == rank;
  });
}

void enter(const OwnCopy& copy, cuda::Stream stream) {
  cuda::copy(cuda::address_of(copy.to), cuda::address_of(copy.from), copy.bytes, stream);
}

}  // namespace rondo::stream
