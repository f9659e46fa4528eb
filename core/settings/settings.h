// The settings: their names, rondo's and NCCL's, and how their values are read. Checked strictly.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/config.h"

namespace rondo {

/// One row of the table of settings: the single source for parsing, `rondo list` and README.md here.
struct Setting {
  std::string_view name;      ///< "RONDO_TIMEOUT"; empty: only NCCL has a name for it
  std::string_view alias;     ///< "NCCL_..." with the same meaning, or empty
  std::string_view form;      ///< "seconds", "shm,tcp or ^shm"
  std::string_view fallback;  ///< default as text
  std::string_view summary;
  /// Puts a value into its place; why it was refused, or empty.
  std::string (*read)(const std::string& value, Config& config);
  /// The alias's value in rondo's words; std::nullopt: it has none. nullptr: they are the same.
  std::optional<std::string> (*translate)(const std::string& value) = nullptr;
};
std::span<const Setting> settings();

/// Reads the process's environment and NCCL's files. Throws Error{configuration} for an unknown
/// RONDO_ name or a bad value, and lists what is known. Logs one warning per process about NCCL_
/// names that cannot be honoured.
Config read_config();
/// The same from given "NAME=VALUE" strings, for tests. Writes no log.
Config read_config(std::span<const std::string> environment);

/// A setting's name for words about what was set: "NCCL_SOCKET_IFNAME" where only that is, else
/// "RONDO_SOCKET_IFNAME" itself, which is given.
std::string name_as_set(std::string_view name);
/// The same in given "NAME=VALUE" strings, for tests.
std::string name_as_set(std::string_view name, std::span<const std::string> environment);

}  // namespace rondo
