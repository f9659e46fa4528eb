// The table that an nccl-tests user knows. Every function returns whole lines.
#pragma once

#include <span>
#include <string>

#include "bench/common/options.h"
#include "bench/common/report.h"

namespace rondo::bench {

/// "#" lines: version, program, options, one line a rank.
std::string table_header(std::string_view program, std::string_view version, const Options& options,
                         std::span<const Device> devices);
std::string table_titles(const Options& options);
std::string table_row(const Options& options, const Row& row);
std::string table_footer(std::string_view program, const Summary& summary);

/// `value` in at most `width` characters, with as many of two decimals as fit.
std::string fit(double value, int width);

}  // namespace rondo::bench
