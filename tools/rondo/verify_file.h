// The part of `rondo verify` about a schedule's text form.
#pragma once

#include <string>

namespace rondo::tool {

struct VerifyFile {
  std::string file{};        ///< "-": standard input
  std::string ranks{};       ///< numbers of them, e.g. "1-64"
  bool ranks_given = false;  ///< else a text for one number is verified for that
  std::string root{};        ///< a rank, or "all"
  std::string hosts{};       ///< numbers of hosts, e.g. "1-5"; empty: hosts are not known
  std::string ranks_per_host{};
};

/// Proves what the text says, and the programs that run, for all ranks, hosts and roots that it is
/// for; prints what is wrong and a last line. The exit status.
int verify_file(const VerifyFile& input);

}  // namespace rondo::tool
