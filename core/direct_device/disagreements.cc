#include "core/direct_device/disagreements.h"

#include <string>
#include <utility>

namespace rondo::direct_device {
namespace {

std::string shape_text(const MessageShape& shape) {
  return std::to_string(shape.count) + " x " + std::string(name(shape.type)) +
         (shape.on_device ? "" : " in host memory");
}

std::string place_text(const WindowPlace& place) {
  if (place.window == 0) return "in no window";
  return "in window " + std::to_string(place.window) + " at byte " + std::to_string(place.offset);
}

}  // namespace

Error other_message(const MessageShape& mine, const MessageShape& theirs, int rank, int peer,
                    bool sends) {
  const std::string to = " rank " + std::to_string(peer);
  return Error(ErrorCode::mismatch,
               sends ? "this rank sends " + shape_text(mine) + " to" + to + ", which receives " +
                           shape_text(theirs)
                     : "this rank receives " + shape_text(mine) + " from" + to + ", which sends " +
                           shape_text(theirs),
               {.rank = rank,
                .peer = peer,
                .call = sends ? "send" : "recv",
                .remedy = "make both sides use the same count and type, and one kind of memory (or "
                          "RONDO_P2P_DISABLE=1)"});
}

Error other_memory(const Call& call, int rank, int peer, bool on_device) {
  return Error(ErrorCode::mismatch,
               std::string("this rank's buffers are ") + (on_device ? "" : "not ") +
                   "on a device, and those of rank " + std::to_string(peer) + " are" +
                   (on_device ? " not" : ""),
               {.rank = rank,
                .peer = peer,
                .call = to_string(call),
                .remedy = "use one kind of memory on all ranks, or RONDO_P2P_DISABLE=1"});
}

Error other_places(const Call& call, int rank, int peer, const WindowPlaces& mine,
                   const WindowPlaces& theirs) {
  const bool inputs = mine.input != theirs.input;
  const auto& [my_place, their_place] =
      inputs ? std::pair(mine.input, theirs.input) : std::pair(mine.output, theirs.output);
  return Error(ErrorCode::mismatch,
               std::string("this rank's ") + (inputs ? "input" : "output") + " is " +
                   place_text(my_place) + ", and that of rank " + std::to_string(peer) + " is " +
                   place_text(their_place),
               {.rank = rank,
                .peer = peer,
                .call = to_string(call),
                .remedy = "use the same place of the same window on all ranks, or register without "
                          "NCCL_WIN_COLL_SYMMETRIC"});
}

}  // namespace rondo::direct_device
