// Remedies that name functions. Each has two forms: one in the words of the C++ API, which errors
// carry, and one in the words of NCCL's API, whose functions report it.
#pragma once

#include <array>
#include <string_view>

namespace rondo::remedies {

struct Remedy {
  std::string_view words{};
  std::string_view words_of_nccl{};
};

inline constexpr Remedy whole_id{
    "pass on the bytes that make_unique_id() returned, unchanged",
    "pass ncclCommInitRank the 128 bytes that ncclGetUniqueId wrote, unchanged"};
inline constexpr Remedy group_of_messages{
    "put the send and the recv in a rondo::Group, or use the _async forms",
    "put ncclSend and ncclRecv between ncclGroupStart and ncclGroupEnd"};
inline constexpr Remedy new_communicator{
    "destroy the communicator, and make another one for further calls",
    "call ncclCommAbort on every rank, and make another communicator for further calls"};

inline constexpr Remedy id_to_grow_by{
    "one of the old ranks passes what make_unique_id() returned, and all new ranks join by it",
    "one of the old ranks passes what ncclCommGetUniqueId wrote, and all new ranks join by it"};
inline constexpr Remedy smaller_place{"ask bytes(rank) for the size of a rank's block",
                                      "stay in what the peer passed to ncclCommWindowRegister"};

inline constexpr std::array all{whole_id, group_of_messages, new_communicator, id_to_grow_by,
                                smaller_place};

}  // namespace rondo::remedies
