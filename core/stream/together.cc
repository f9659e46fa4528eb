#include "core/stream/together.h"

#include <utility>

namespace rondo::stream {
namespace {

/// Does a part of each that has not failed.
template <class Body>
void each(std::span<Together> all, Body&& body) {
  for (Together& one : all) {
    if (one.failure) continue;
    try {
      body(one);
    } catch (...) {
      one.failure = std::current_exception();
    }
  }
}

}  // namespace

void put_together(std::span<Together> all) {
  each(all, [](Together& one) { one.calls->prepare(one.requests); });
  each(all, [](Together& one) { one.calls->begin(std::move(one.requests)); });
  for (bool moved = true; moved;) {
    moved = false;
    each(all, [&](Together& one) { moved |= one.calls->go_on(); });
  }
  each(all, [](Together& one) { one.calls->end(); });
}

}  // namespace rondo::stream
