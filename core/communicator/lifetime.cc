#include "core/communicator/lifetime.h"

#include <string>

namespace rondo::detail {
namespace {

/// True of what a transport says of a peer: when a process dies its connections break in any order,
/// so a device may blame the peer's memory or the network before anybody knows of the death.
bool is_a_symptom(const Error& error) {
  switch (error.code()) {
    case ErrorCode::peer_lost:
      return true;
    case ErrorCode::system:
    case ErrorCode::internal:
    case ErrorCode::timeout:
      return error.peer() >= 0;
    default:
      return false;
  }
}

}  // namespace

Lifetime::Lifetime(int rank, const Parts& parts) : rank_(rank), parts_(parts) {}

std::optional<Awaited> Lifetime::awaited() const {
  const Engine& engine = parts_.engine;
  if (const Service* const service = engine.waits_in_service()) return service->awaited();
  if (!engine.idle() && !engine.only_point_to_point()) return std::nullopt;
  const Operation* const oldest =
      engine.idle() ? parts_.to_self.oldest() : engine.oldest_point_to_point();
  if (oldest == nullptr || oldest->is_part) return std::nullopt;
  const Call& call = oldest->prepared->call;
  return Awaited{oldest->point_to_point_peer,
                 (oldest->sends ? "send of " : "recv of ") + std::to_string(call.count) + " x " +
                     std::string(name(call.type)) +
                     (call.blocks == between_pairs ? " of an all_to_all_v" : "")};
}

void Lifetime::fail(const Error& error) {
  ControlChannel& control = parts_.control;
  if (!is_idle()) note_told();  // only calls under way report it
  // The control plane usually knows which rank died, and why.
  if (is_a_symptom(error)) parts_.watchdog.await_diagnosis(awaited());
  if (!control.failed()) control.fail(error);
  if (parts_.whole != nullptr) parts_.whole->fail(control.failed() ? control.failure() : error);
  parts_.engine.fail_all(std::make_exception_ptr(control.failed() ? control.failure() : error));
  parts_.to_self.end_all([&](const Operation&) { return std::make_exception_ptr(error); });
  parts_.tracing.write(false);  // this process may not live much longer
}

void Lifetime::require_not_finalized() const {
  if (!finalized_) return;
  throw Error(ErrorCode::invalid_usage, "this communicator was finalized",
              {.rank = rank_, .remedy = "make a new one"});
}

void Lifetime::require_usable() {
  require_not_finalized();
  if (!parts_.control.failed()) return;
  note_told();
  throw parts_.control.failure();
}

std::optional<Error> Lifetime::failure() const {
  if (!parts_.control.failed()) return std::nullopt;
  return parts_.control.failure();
}

std::optional<Error> Lifetime::untold() const {
  if (is_told()) return std::nullopt;
  std::optional<Error> error = failure();
  if (error && error->code() != ErrorCode::mismatch) error.reset();
  return error;
}

}  // namespace rondo::detail
