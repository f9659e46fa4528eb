// NCCL's configuration files: lines NAME=VALUE, for names that the environment does not set.
#pragma once

#include <string>
#include <vector>

namespace rondo {

/// `environment` ("NAME=VALUE"), followed by what the files add, each name once. The files are the
/// one that NCCL_CONF_FILE names, else .nccl.conf in HOME, and then `system_file`. Their lines that
/// begin with NCCL_ count, as they stand. A name that the environment has, even without a value, is
/// left as it is. Files that cannot be read are skipped; read_config() warns about one that
/// NCCL_CONF_FILE names.
std::vector<std::string> with_nccl_files(std::vector<std::string> environment,
                                         const std::string& system_file);

/// This process's environment with its files and /etc/nccl.conf. Read anew each time.
std::vector<std::string> environment_with_files();

}  // namespace rondo
