// The test programs' main(): Catch2 3 brings its own.
#ifndef RONDO_CATCH3
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
