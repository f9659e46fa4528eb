// NCCL's configuration files: lines NAME=VALUE that hold where the environment is silent.
#pragma once

#include <string>
#include <vector>

namespace rondo {

/// `environment` ("NAME=VALUE") and behind it what the files add, each name once: lines that begin
/// with NCCL_, as they stand, of the file that NCCL_CONF_FILE names, else of .nccl.conf in HOME,
/// and then of `system_file`. A name that the environment has, even without a value, is left as it
/// is. Files that cannot be read are passed over; read_config() warns of the one that was named.
std::vector<std::string> with_nccl_files(std::vector<std::string> environment,
                                         const std::string& system_file);

/// This process's environment with its files and /etc/nccl.conf. Read anew each time.
std::vector<std::string> environment_with_files();

}  // namespace rondo
