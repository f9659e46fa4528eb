// Names of types and operators as nccl-tests spells them; rondo's own names are accepted too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rondo/types.h"

namespace rondo::bench {

/// "half", "float", "f8e4m3", ...: what the type column shows.
std::string_view column_name(DataType type);

/// The types that `text` means: one, or all for "all". Empty when nothing has that name.
std::vector<DataType> select_types(std::string_view text);
std::vector<ReduceOperator> select_operators(std::string_view text);

/// "int8, uint8, ..." for messages.
std::string known_types();
std::string known_operators();

}  // namespace rondo::bench
