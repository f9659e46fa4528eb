// What each function of the C API does here: one table for the refusals, for core/nccl/README.md
// and for the tests.
#pragma once

#include <span>
#include <string_view>

#include "core/nccl/include/nccl.h"

namespace rondo::nccl {

enum class Support { implemented, without_effect, refused };

/// Functions that are alike. Each has its pnccl twin.
struct SymbolRow {
  std::string_view names;  ///< separated by blanks
  Support support;
  std::string_view remark;
};
std::span<const SymbolRow> symbol_rows();
std::string_view name(Support support);

/// Throws Error{invalid_usage}: `function` is one of those that the table refuses.
[[noreturn]] void refuse(std::string_view function);

}  // namespace rondo::nccl
