# Flags, folders and target shapes, in one place.

include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_program(RONDO_CCACHE ccache)
if(RONDO_CCACHE)
  # The base folder lets builds in folders of one depth share objects. The rest is what ccache's
  # manual asks for where there are precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
    CCACHE_SLOPPINESS=pch_defines,time_macros ${RONDO_CCACHE})
endif()

add_library(rondo_flags INTERFACE)
target_compile_features(rondo_flags INTERFACE cxx_std_20)
target_compile_options(rondo_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion
  -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # -Wno-restrict: false alarms on std::string in GCC 12 (its bug 105651).
  target_compile_options(rondo_flags INTERFACE -Wno-restrict)
endif()
# A unity build compiles several files of a target as one: it takes a third of the time. Names of one
# file's anonymous namespace are then seen in the next file, which is no fault. The preset debug
# compiles each file by itself, so that each includes what it needs.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)   # files; CMake's own 8 take a tenth longer
if(NOT CMAKE_UNITY_BUILD)
  target_compile_options(rondo_flags INTERFACE -Wshadow)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # -fpch-preprocess: what ccache asks for beside precompiled headers.
  target_compile_options(rondo_flags INTERFACE -Wshadow=local -Wno-subobject-linkage -fpch-preprocess)
endif()
if(RONDO_WERROR)
  target_compile_options(rondo_flags INTERFACE -Werror)
endif()
target_include_directories(rondo_flags INTERFACE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/core/include)
if(RONDO_SANITIZE)
  # -Wno-maybe-uninitialized: GCC's manual warns of false alarms beside sanitizers (std::regex here).
  target_compile_options(rondo_flags INTERFACE -fsanitize=${RONDO_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-maybe-uninitialized)
  target_link_options(rondo_flags INTERFACE -fsanitize=${RONDO_SANITIZE})
endif()
if(RONDO_SANITIZE MATCHES undefined)
  # They take a sixth of the time to compile. AddressSanitizer sees what the first two look for, and
  # the third is about casts to derived classes with virtual functions, which the code avoids.
  target_compile_options(rondo_flags INTERFACE -fno-sanitize=null,object-size,vptr)
endif()
if(RONDO_COVERAGE)
  target_compile_options(rondo_flags INTERFACE --coverage -O0)
  target_link_options(rondo_flags INTERFACE --coverage)
endif()

# For programs that read options and write text: a third less to compile, and nobody waits for them.
set(RONDO_QUICKLY_COMPILED $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)

# rondo_headers(TARGET): under sanitizers, spares its files the parsing of what most of them include, which
# rondo_base has parsed for all: a second for each of 70 files. Optimised builds leave it out: beside
# precompiled headers GCC 12 has more false alarms (its bug 105651).
function(rondo_headers target)
  if(RONDO_SANITIZE AND CMAKE_UNITY_BUILD)
    target_precompile_headers(${target} REUSE_FROM rondo_base)
  endif()
endfunction()

# rondo_layer(NAME SOURCES a.cc b.cc [LIBRARIES lib ...])
# One folder of the library, as objects: rondo_NAME. Tests link the layers they need by name;
# librondo takes them all.
set_property(GLOBAL PROPERTY RONDO_LAYERS "")
function(rondo_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(rondo_${name} OBJECT ${ARG_SOURCES})
  target_link_libraries(rondo_${name} PUBLIC rondo_flags Threads::Threads ${ARG_LIBRARIES})
  if(NOT name STREQUAL base)
    rondo_headers(rondo_${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY RONDO_LAYERS rondo_${name})
endfunction()

# librondo: every layer's objects, plus what they link. Static, or shared with BUILD_SHARED_LIBS.
function(rondo_library)
  get_property(layers GLOBAL PROPERTY RONDO_LAYERS)
  add_library(rondo)
  add_library(rondo::rondo ALIAS rondo)
  foreach(layer ${layers})
    target_sources(rondo PRIVATE $<TARGET_OBJECTS:${layer}>)
    target_link_libraries(rondo PRIVATE $<BUILD_INTERFACE:${layer}>)
  endforeach()
  target_link_libraries(rondo PRIVATE Threads::Threads PkgConfig::HWY PkgConfig::SODIUM
    PkgConfig::ISAL)
  target_compile_features(rondo INTERFACE cxx_std_20)
  target_include_directories(rondo INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/core/include> $<INSTALL_INTERFACE:include>)
  # A new minor version may change the API while the major one is 0.
  set(soversion ${PROJECT_VERSION_MAJOR})
  if(soversion EQUAL 0)
    set(soversion 0.${PROJECT_VERSION_MINOR})
  endif()
  set_target_properties(rondo PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
    SOVERSION ${soversion})
  if(BUILD_SHARED_LIBS)
    # Only names of namespace rondo leave the library: never its copies of Boost and the STL.
    set(exports ${PROJECT_SOURCE_DIR}/tools/cmake/exports.map)
    target_link_options(rondo PRIVATE LINKER:--version-script=${exports})
    set_target_properties(rondo PROPERTIES LINK_DEPENDS ${exports})
  endif()
endfunction()

# rondo_nccl_library(SOURCES a.cc ...): libnccl.so.2 in build/<preset>/lib/nccl, with every layer inside
# it and nothing but NCCL's names leaving it.
function(rondo_nccl_library)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  get_property(layers GLOBAL PROPERTY RONDO_LAYERS)
  add_library(nccl SHARED ${ARG_SOURCES})
  rondo_headers(nccl)
  foreach(layer ${layers})
    target_sources(nccl PRIVATE $<TARGET_OBJECTS:${layer}>)
    target_link_libraries(nccl PRIVATE ${layer})
  endforeach()
  target_link_libraries(nccl PRIVATE Threads::Threads PkgConfig::HWY PkgConfig::SODIUM
    PkgConfig::ISAL ${CMAKE_DL_LIBS})
  target_compile_definitions(nccl PRIVATE RONDO_NCCL_PLAIN)   # whether CUDA is there or not
  target_include_directories(nccl INTERFACE ${PROJECT_SOURCE_DIR}/core/nccl/include)
  set(exports ${CMAKE_CURRENT_SOURCE_DIR}/exports.map)
  # nodelete: its threads and their thread-local state outlive a dlclose().
  target_link_options(nccl PRIVATE LINKER:--version-script=${exports} LINKER:-z,nodelete)
  set_target_properties(nccl PROPERTIES SOVERSION 2 LINK_DEPENDS ${exports}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/nccl)
endfunction()

# rondo_program(NAME [INTERNAL] SOURCES ... [LIBRARIES ...]): an executable in build/<preset>/bin,
# on librondo, installed unless INTERNAL.
function(rondo_program name)
  cmake_parse_arguments(ARG "INTERNAL" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE rondo_flags rondo ${ARG_LIBRARIES})
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  if(RONDO_INSTALL AND NOT ARG_INTERNAL)
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
  endif()
endfunction()

# rondo_test(NAME SOURCES ... [LIBRARIES rondo_schedule ...] [LABELS ...] [ARGUMENTS ...]
# [COST seconds] [SEPARATE]): a Catch2 program, whose cases are all run unless ARGUMENTS names some.
# SEPARATE keeps it out of unity builds: its files use one name for different things.
# COST is for the longest: about how many seconds they take in the slowest preset. ctest starts them
# first, also in a new build, where it does not know yet what they took: the last would run alone.
# Those labelled "core" are also what the sanitizer presets build (target core_tests) and run; of
# those labelled "one_thread", too, ThreadSanitizer would find nothing.
add_custom_target(core_tests)
function(rondo_test name)
  cmake_parse_arguments(ARG "SEPARATE" "COST" "SOURCES;LIBRARIES;LABELS;ARGUMENTS" ${ARGN})
  if(RONDO_SANITIZE MATCHES thread AND "one_thread" IN_LIST ARG_LABELS)
    list(REMOVE_ITEM ARG_LABELS core)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE rondo_flags rondo_test_main ${ARG_LIBRARIES})
  rondo_test_headers(${name})
  if(ARG_SEPARATE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGUMENTS})
  # Ends what hangs. Far above what any takes: under ThreadSanitizer, beside another test and on a
  # busy machine, the longest have taken 300 s.
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 1800)
  # Ranks that share a processor with other tests wait long for each other: executor_test, which takes
  # 12 s nearly alone, took 195 s beside three others.
  if(NOT "one_thread" IN_LIST ARG_LABELS)
    set_tests_properties(${name} PROPERTIES PROCESSORS 2)
  endif()
  if(ARG_COST)
    set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
  endif()
  if("core" IN_LIST ARG_LABELS)
    add_dependencies(core_tests ${name})
  endif()
endfunction()
