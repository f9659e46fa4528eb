// The version of these headers. CMake, the packages and the wheel take theirs from here.
//
// rondo::version() is the library's. A program that finds another one was compiled with other headers.
#pragma once

#define RONDO_VERSION_MAJOR 0
#define RONDO_VERSION_MINOR 1
#define RONDO_VERSION_PATCH 0
