// Sends, receives and barriers.
#include <stdexcept>
#include <utility>

#include "tools/torch/source/backend.h"
#include "tools/torch/source/meet.h"
#include "tools/torch/source/tensors.h"

namespace rondo_torch {

WorkHandle Backend::message(Tensors& tensors, int peer, bool sends) {
  Plan plan{.kind = sends ? c10d::OpType::SEND : c10d::OpType::RECV,
            .name = sends ? "rondo:send" : "rondo:recv",
            .source = sends ? -1 : peer};
  const Elements elements = to_move(only(tensors, plan.name));
  plan.calls.push_back({.collective = rondo::Collective::send_recv,
                        .input = elements.data,
                        .output = elements.data,
                        .count = elements.count,
                        .type = elements.type,
                        .root = peer,
                        .sends = sends});
  plan.outputs = tensors;
  return launch(std::move(plan), c10d::kUnsetTimeout, true);
}

WorkHandle Backend::send(Tensors& tensors, int peer, int) { return message(tensors, peer, true); }

WorkHandle Backend::recv(Tensors& tensors, int peer, int) { return message(tensors, peer, false); }

WorkHandle Backend::recvAnysource(Tensors&, int) {
  throw std::runtime_error(
      "rondo: recv from any rank is not supported: messages are matched with their sender. Try: "
      "recv(tensor, src=RANK), or irecv from each rank that may send");
}

WorkHandle Backend::barrier(const c10d::BarrierOptions& options) {
  Plan plan{.kind = c10d::OpType::BARRIER, .name = "rondo:barrier"};
  plan.calls.push_back({.collective = rondo::Collective::barrier});
  return launch(std::move(plan), options);
}

/// Rank 0 reports the missing ranks: it throws, and tells the ranks that came.
void Backend::report_missing(const std::vector<std::string>& keys, const std::string& verdict,
                             std::chrono::milliseconds timeout, bool all) {
  std::string text;
  for (const std::string& key : await_keys(*store_, keys, timeout)) {
    if (!text.empty() && !all) break;
    text += (text.empty() ? "" : ", ") + key.substr(key.rfind('/') + 1);
  }
  if (!text.empty())
    text = group_->name + ": rondo: monitored barrier: no word from rank " + text + " within " +
           std::to_string(timeout.count()) + " ms. Try: look at what it is doing";
  store_->set(verdict, std::vector<std::uint8_t>(text.begin(), text.end()));
  if (!text.empty()) throw std::runtime_error(text);
}

/// A timeout of 0 asks at once. A rank that finds rank 0 there waits for its verdict, which may
/// come late on a busy machine.
void Backend::monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) {
  const std::string place = "monitored/" + std::to_string(++monitored_) + "/";
  const std::string verdict = place + "verdict";
  const auto timeout = options.timeout.count() >= 0 ? options.timeout : group_->timeout;
  store_->set(place + std::to_string(rank_), std::vector<std::uint8_t>{1});
  if (rank_ == 0) {
    std::vector<std::string> keys;
    for (int rank = 1; rank < size_; ++rank) keys.push_back(place + std::to_string(rank));
    return report_missing(keys, verdict, timeout, wait_all_ranks);
  }
  constexpr std::chrono::seconds grace{30};
  if (!await_keys(*store_, {place + "0"}, timeout + std::chrono::seconds(2)).empty() ||
      !await_keys(*store_, {verdict}, timeout + grace).empty())
    throw std::runtime_error(
        group_->name + ": rondo: monitored barrier: no word from rank 0 within " +
        std::to_string(timeout.count()) + " ms. Try: look at what it is doing");
  const std::vector<std::uint8_t> text = store_->get(verdict);
  if (!text.empty()) throw std::runtime_error(std::string(text.begin(), text.end()));
}

}  // namespace rondo_torch
