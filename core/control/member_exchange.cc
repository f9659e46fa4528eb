// A rank's part in exchanges: coordinator_exchange.cc has the other one.
#include <algorithm>
#include <utility>

#include "core/base/awake.h"
#include "core/base/config.h"
#include "core/control/member_channel.h"
#include "core/control/times.h"

namespace rondo::control {

/// Empty where the exchange cannot be completed.
std::optional<Blobs> MemberChannel::swap_blobs(const Blob& mine,
                                               std::chrono::milliseconds longest) {
  const bool of_all = mine.round == 0;
  std::unique_lock lock(mutex_);
  exchanges_.of_all.reset();  // of one that was given up
  exchanges_.pending = mine;
  if (of_all) exchanges_.pending->of_all = ++exchanges_.begun;
  const Message said = *exchanges_.pending;
  exchanges_.interrupted = false;
  lock.unlock();
  transport_->post(said);
  lock.lock();
  const auto has_come = [&] {
    return of_all ? exchanges_.of_all.has_value() : exchanges_.of_living.round >= mine.round;
  };
  const auto ready = [&] {
    return has_come() || !unserved_.empty() ||
           (of_all ? failure_.has_value() : exchanges_.interrupted);
  };
  if (!changed_.wait_for(lock, longest, ready)) {
    const ExchangeExpired expired{.communicator = number_,
                                  .milliseconds = static_cast<std::uint64_t>(longest.count())};
    exchanges_.expired = expired;
    lock.unlock();
    transport_->post(expired);
    lock.lock();
    // Who lives answers at once. If the coordinator does not, another one may take over.
    wait_awake(changed_, lock, of_all ? times::for_answer : times::for_takeover, ready);
  }
  exchanges_.pending.reset();
  exchanges_.expired.reset();
  // An exchange that was complete before a failure came is still complete.
  if (!has_come()) return std::nullopt;
  return of_all ? std::exchange(exchanges_.of_all, std::nullopt) : exchanges_.of_living;
}

std::vector<std::string> MemberChannel::exchange(const std::string& mine) {
  if (auto blobs = swap_blobs({.communicator = number_, .bytes = mine}, transport_->deadline()))
    return std::move(blobs->bytes);
  std::unique_lock lock(mutex_);
  const std::string unserved = unserved_;
  lock.unlock();
  int peer = -1;
  const auto service = describe_service(peer);
  set_failure(
      Error(ErrorCode::bootstrap,
            "the communicator was not made: " +
                (unserved.empty() ? service + ", which serves the job, does not answer" : unserved),
            {.peer = peer, .remedy = "start the job anew"}));
  throw failure();
}

std::vector<std::optional<std::string>> MemberChannel::exchange_living(
    const std::string& mine, std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  const std::uint64_t round = exchanges_.of_living.round + 1;
  lock.unlock();
  const auto blobs = swap_blobs({.communicator = number_, .round = round, .bytes = mine}, longest);
  if (!blobs) throw reason_for_no_blobs();
  if (!blobs->refusal.empty())
    throw Error(ErrorCode::timeout, "the ranks cannot agree: " + blobs->refusal,
                {.rank = rank_, .remedy = "start the job anew once all machines reach each other"});
  const auto is_missing = [&](int rank) { return std::ranges::count(blobs->missing, rank) > 0; };
  if (is_missing(rank_))
    throw Error(ErrorCode::timeout,
                "the other ranks agreed to go on without this one, as it did not take part in time",
                {.rank = rank_,
                 .remedy = "end this process, or have it join anew; if it only needs more time, " +
                           words_of_raising_timeout(false)});
  std::vector<std::optional<std::string>> all(members_.size());
  for (std::size_t rank = 0; rank < std::min(all.size(), blobs->bytes.size()); ++rank)
    if (!is_missing(static_cast<int>(rank))) all[rank] = blobs->bytes[rank];
  return all;
}

Error MemberChannel::reason_for_no_blobs() const {
  int peer = -1;
  const auto service = describe_service(peer);
  const std::lock_guard lock(mutex_);
  if (exchanges_.interrupted)
    return {ErrorCode::aborted, "agree() or shrink() was aborted on this rank", {.rank = rank_}};
  return {ErrorCode::peer_lost,
          "the ranks cannot agree: " +
              (unserved_.empty() ? service + ", which serves the job, does not answer" : unserved_),
          {.rank = rank_, .peer = peer, .remedy = "start the job anew"}};
}

}  // namespace rondo::control
