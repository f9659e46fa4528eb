#include "core/nccl/settings.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "core/nccl/include/rondo/nccl.h"
#include "core/nccl/operators.h"
#include "core/settings/settings.h"
#include "rondo/error.h"

namespace rondo::nccl {
namespace {

// The layouts that programs are built with.
static_assert(sizeof(ncclUniqueId) == 128 && sizeof(ncclSimInfo_t) == 24);
static_assert(offsetof(ncclSimInfo_t, version) == 12);
static_assert(offsetof(ncclSimInfo_t, estimatedTime) == 16);
static_assert(sizeof(ncclWaitSignalDesc_t) == 16 && sizeof(ncclResult_t) == 4);
static_assert(sizeof(ncclConfig_t) == 120 && offsetof(ncclConfig_t, blocking) == 16);
static_assert(offsetof(ncclConfig_t, netName) == 32 && offsetof(ncclConfig_t, commName) == 48);
static_assert(offsetof(ncclConfig_t, nvlinkCentricSched) == 76);  // 2.28 ends after it
static_assert(offsetof(ncclConfig_t, graphUsageMode) == 80);      // 2.29
static_assert(offsetof(ncclConfig_t, numRmaCtx) == 84);
static_assert(offsetof(ncclConfig_t, maxP2pPeers) == 88);  // 2.30
static_assert(offsetof(ncclConfig_t, graphStreamOrdering) == 92);
static_assert(offsetof(ncclConfig_t, launchOrderImplicit) == 96);  // 2.31
static_assert(offsetof(ncclConfig_t, numRmaSig) == 100);
static_assert(offsetof(ncclConfig_t, rmaEagerInit) == 104);
static_assert(offsetof(ncclConfig_t, hostCftMode) == 108);
static_assert(offsetof(ncclConfig_t, nvlsHostMode) == 112);  // 2.32
static_assert(sizeof(ncclHostCftMode_t) == sizeof(int));     // the fields they are put in
static_assert(sizeof(ncclNvlsHostMode_t) == sizeof(int));
static_assert(sizeof(ncclCollConfig_t) == 72 && offsetof(ncclCollConfig_t, algSelection) == 40);
static_assert(offsetof(ncclCollConfig_t, launchCompletionEvent) == 64);  // 2.31 ends before it
static_assert(sizeof(ncclConfigExt_t) == 24 && offsetof(ncclConfigExt_t, val) == 16);
static_assert(RONDO_NCCL_VENDOR < 1 << 24);

constexpr unsigned int magic = NCCL_API_MAGIC;

[[noreturn]] void reject(const std::string& what, const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument, what, {.remedy = remedy});
}

/// The caller's struct, as much as it has of it, over `own`'s defaults.
template <class Settings>
Settings copy_of(const Settings& theirs, Settings own, std::size_t least, const char* initializer) {
  std::size_t size = 0;
  std::memcpy(&size, &theirs, sizeof size);
  const std::string remedy = std::string("begin with ") + initializer;
  if (size < least) reject("the settings' size is " + std::to_string(size), remedy);
  std::memcpy(&own, &theirs, std::min(size, sizeof own));
  if (own.magic != magic) reject("the settings were not initialised", remedy);
  return own;
}

void check_flag(int value, const char* name) {
  if (value == NCCL_CONFIG_UNDEF_INT || value == 0 || value == 1) return;
  reject(std::string(name) + " is " + std::to_string(value), "use 0 or 1");
}

void check_counts(int least, int most) {
  const bool set_least = least != NCCL_CONFIG_UNDEF_INT;
  const bool set_most = most != NCCL_CONFIG_UNDEF_INT;
  if ((set_least && least <= 0) || (set_most && most <= 0) ||
      (set_least && set_most && least > most)) {
    reject("minCTAs and maxCTAs are " + std::to_string(least) + " and " + std::to_string(most),
           "use positive numbers, minCTAs not above maxCTAs");
  }
}

DataType read_accumulate(int number) {
  if (number < 0 || number >= ncclNumTypes) {
    reject("RONDO_NCCL_ACCUMULATE is " + std::to_string(number) + ", which is not a data type",
           "use an ncclDataType_t");
  }
  return type_of(static_cast<ncclDataType_t>(number));
}

bool read_reproducible(int number) {
  if (number != 0 && number != 1)
    reject("RONDO_NCCL_REPRODUCIBLE is " + std::to_string(number), "use 0 or 1");
  return number == 1;
}

void take_option(const ncclConfigExt_t& option, CallSettings& settings) {
  switch (option.key.optionId) {
    case RONDO_NCCL_ACCUMULATE:
      settings.accumulate = read_accumulate(option.val.i);
      return;
    case RONDO_NCCL_REPRODUCIBLE:
      settings.reproducible = read_reproducible(option.val.i);
      return;
    default:
      reject("rondo's option " + std::to_string(option.key.optionId) + " of a call is unknown",
             "use RONDO_NCCL_ACCUMULATE or RONDO_NCCL_REPRODUCIBLE");
  }
}

/// rondo's options among those of all vendors.
CallSettings read_options(const ncclConfigExt_t* list) {
  constexpr int longest = 1024;
  CallSettings settings;
  int seen = 0;
  for (const ncclConfigExt_t* each = list; each != nullptr; each = each->next) {
    if (++seen > longest) {
      reject("the list `ext` has more than " + std::to_string(longest) + " entries",
             "end it with next = NULL; it may be a loop");
    }
    if (each->key.vendorId == RONDO_NCCL_VENDOR) take_option(*each, settings);
  }
  return settings;
}

}  // namespace

Traits read_traits(const ncclConfig_t* config, const Traits& inherited) {
  Traits traits = inherited;
  if (config != nullptr) {
    constexpr std::size_t first_version = offsetof(ncclConfig_t, cgaClusterSize);  // 2.14's end
    const ncclConfig_t all =
        copy_of(*config, NCCL_CONFIG_INITIALIZER, first_version, "NCCL_CONFIG_INITIALIZER");
    check_flag(all.blocking, "blocking");
    check_flag(all.splitShare, "splitShare");
    check_flag(all.shrinkShare, "shrinkShare");
    check_counts(all.minCTAs, all.maxCTAs);
    if (all.blocking != NCCL_CONFIG_UNDEF_INT) traits.blocking = all.blocking == 1;
  }
  traits.blocking = read_config().blocking.value_or(traits.blocking);
  return traits;
}

CallSettings read_call_settings(const ncclCollConfig_t* config) {
  if (config == nullptr) return {};
  constexpr std::size_t first_version = offsetof(ncclCollConfig_t, launchCompletionEvent);
  const ncclCollConfig_t all =
      copy_of(*config, NCCL_COLLCONFIG_INITIALIZER, first_version, "NCCL_COLLCONFIG_INITIALIZER");
  check_counts(all.minCTAs, all.maxCTAs);
  const bool selects = all.algSelection != nullptr && all.algSelection[0] != '\0';
  if (!selects || all.forceAlgSelection == 0) return read_options(all.ext);
  throw Error(
      ErrorCode::invalid_usage,
      "rondo cannot force the algorithm \"" + std::string(all.algSelection) + "\" for one call",
      {.remedy = "set RONDO_ALGORITHM (or NCCL_ALGO) for the job, or forceAlgSelection to "
                 "0 to let rondo choose"});
}

}  // namespace rondo::nccl
