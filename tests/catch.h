// The one include for tests: the same macros from Catch2 2.13 and 3.
#pragma once

#ifdef RONDO_CATCH3
#include <catch2/catch_all.hpp>
using Catch::Approx;  // 2.13 puts it there by itself
#else
#include <catch2/catch.hpp>
#endif
