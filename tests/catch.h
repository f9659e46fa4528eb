// The one include for tests: the same macros from Catch2 2.13 and 3.
#pragma once

#ifdef RONDO_CATCH3
#include <catch2/catch_all.hpp>
#include <string>

// What 2.13 has under these names.
using Catch::Approx;
namespace Catch {
using Matchers::EndsWith;
using Matchers::StartsWith;
inline auto Contains(const std::string& part) { return Matchers::ContainsSubstring(part); }
}  // namespace Catch
#else
#include <catch2/catch.hpp>
#endif
