// The ncclParam... functions, which read the settings in force by NCCL's names.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/base/environment.h"
#include "core/base/log.h"
#include "core/nccl/errors.h"
#include "core/nccl/exports.h"
#include "core/settings/nccl_files.h"
#include "core/settings/settings.h"

namespace rondo::nccl {
namespace {

/// Those that NCCL has a name for; a handle is a place in this list, from 1 on.
std::vector<const Setting*> parameters() {
  std::vector<const Setting*> list;
  for (const Setting& row : settings())
    if (!row.alias.empty()) list.push_back(&row);
  return list;
}

std::uintptr_t handle_of(const char* key) {
  require(key, "key");
  const auto list = parameters();
  const auto row = std::ranges::find(list, std::string_view(key), &Setting::alias);
  if (row != list.end()) return static_cast<std::uintptr_t>(row - list.begin()) + 1;
  throw Error(ErrorCode::invalid_argument, "rondo does not honour the setting " + std::string(key),
              {.remedy = "ncclParamGetAllParameterKeys lists those that it does"});
}

const Setting& bound(ncclParamHandle_t handle) {
  const auto list = parameters();
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number >= 1 && number <= list.size()) return *list[number - 1];
  throw Error(ErrorCode::invalid_argument, "this is not the handle of a parameter",
              {.remedy = "pass what ncclParamBind returned"});
}

/// rondo's name wins over NCCL's; the default is the table's words for it.
std::string value_of(const Setting& setting) {
  const Environment environment(environment_with_files());
  if (const auto value = environment.find(setting.name)) return *value;
  if (const auto value = environment.find(setting.alias)) return *value;
  return std::string(setting.fallback);
}

template <class Integer>
ncclResult_t read_integer(const char* function, ncclParamHandle_t handle, Integer* out) {
  return guarded(function, [&] {
    require(out, "out");
    const Setting& setting = bound(handle);
    const auto value = parse_number(value_of(setting));
    if (!value || !std::in_range<Integer>(*value)) {
      throw Error(ErrorCode::invalid_argument,
                  std::string(setting.alias) + " is \"" + value_of(setting) +
                      "\", which is not a number of this type",
                  {.remedy = "use ncclParamGetStr"});
    }
    *out = static_cast<Integer>(*value);
  });
}

/// What the C API returns a pointer to stays until the thread's next call of the same kind.
struct Answers {
  std::string of_handle{};
  std::string of_key{};
  std::vector<const char*> keys{};
};

Answers& answers() {
  thread_local Answers mine;
  return mine;
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;

RONDO_NCCL_EXPORT(ncclParamBind);
ncclResult_t ncclParamBind(ncclParamHandle_t* out, const char* key) {
  return guarded("ncclParamBind", [&] {
    require(out, "out");
    *out = reinterpret_cast<ncclParamHandle_t>(handle_of(key));
  });
}

#define RONDO_NCCL_PARAMETER(name, Integer)                                                    \
  RONDO_NCCL_EXPORT(name);                                                                     \
  ncclResult_t name(ncclParamHandle_t h, Integer* out) { return read_integer(#name, h, out); } \
  static_assert(true, "takes the semicolon that follows the macro")

RONDO_NCCL_PARAMETER(ncclParamGetI8, int8_t);
RONDO_NCCL_PARAMETER(ncclParamGetI16, int16_t);
RONDO_NCCL_PARAMETER(ncclParamGetI32, int32_t);
RONDO_NCCL_PARAMETER(ncclParamGetI64, int64_t);
RONDO_NCCL_PARAMETER(ncclParamGetU8, uint8_t);
RONDO_NCCL_PARAMETER(ncclParamGetU16, uint16_t);
RONDO_NCCL_PARAMETER(ncclParamGetU32, uint32_t);
RONDO_NCCL_PARAMETER(ncclParamGetU64, uint64_t);

RONDO_NCCL_EXPORT(ncclParamGetStr);
ncclResult_t ncclParamGetStr(ncclParamHandle_t h, const char** out) {
  return guarded("ncclParamGetStr", [&] {
    require(out, "out");
    answers().of_handle = value_of(bound(h));
    *out = answers().of_handle.c_str();
  });
}

RONDO_NCCL_EXPORT(ncclParamGet);
ncclResult_t ncclParamGet(ncclParamHandle_t h, void* out, int maxLen, int* len) {
  return guarded("ncclParamGet", [&] {
    require(out, "out");
    require(len, "len");
    const std::string value = value_of(bound(h));
    *len = static_cast<int>(value.size()) + 1;  // the text and its end
    if (maxLen < *len) {
      throw rondo::Error(rondo::ErrorCode::invalid_argument,
                         "the value takes " + std::to_string(*len) + " bytes, maxLen is " +
                             std::to_string(maxLen));
    }
    std::memcpy(out, value.c_str(), value.size() + 1);
  });
}

RONDO_NCCL_EXPORT(ncclParamGetParameter);
ncclResult_t ncclParamGetParameter(const char* key, const char** value, int* valueLen) {
  return guarded("ncclParamGetParameter", [&] {
    require(value, "value");
    answers().of_key = value_of(*parameters()[handle_of(key) - 1]);
    *value = answers().of_key.c_str();
    if (valueLen != nullptr) *valueLen = static_cast<int>(answers().of_key.size());
  });
}

RONDO_NCCL_EXPORT(ncclParamGetAllParameterKeys);
ncclResult_t ncclParamGetAllParameterKeys(const char*** table, int* tableLen) {
  return guarded("ncclParamGetAllParameterKeys", [&] {
    require(table, "table");
    require(tableLen, "tableLen");
    answers().keys.clear();
    for (const rondo::Setting* setting : parameters())  // literals, so they end with a 0
      answers().keys.push_back(setting->alias.data());
    *table = answers().keys.data();
    *tableLen = static_cast<int>(answers().keys.size());
  });
}

RONDO_NCCL_EXPORT(ncclParamDumpAll);
void ncclParamDumpAll() {
  guarded("ncclParamDumpAll", [] {
    for (const rondo::Setting* setting : parameters())
      rondo::log(rondo::LogLevel::warn, -1, std::string(setting->alias) + "=" + value_of(*setting));
  });
}
