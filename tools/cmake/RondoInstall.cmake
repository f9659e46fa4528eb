# `cmake --install`: librondo, its public headers, find_package(rondo) and rondo.pc.

include(CMakePackageConfigHelpers)

# Components are Debian packages, see RondoPackages.cmake.
install(TARGETS rondo EXPORT rondoTargets COMPONENT dev
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/core/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT dev)

# NCCL's API in folders of its own: neither the library nor the header hides NVIDIA's by accident.
install(TARGETS nccl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/rondo/nccl COMPONENT nccl)
install(FILES ${PROJECT_SOURCE_DIR}/core/nccl/include/nccl.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rondo/nccl COMPONENT nccl)
# rondo/nccl.h goes with NVIDIA's nccl.h, too.
install(FILES ${PROJECT_SOURCE_DIR}/core/nccl/include/rondo/nccl.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rondo COMPONENT nccl)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/rondo)
install(EXPORT rondoTargets NAMESPACE rondo:: DESTINATION ${package_folder} COMPONENT dev)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/rondoConfig.cmake.in
  ${PROJECT_BINARY_DIR}/rondoConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rondoConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rondoConfig.cmake ${PROJECT_BINARY_DIR}/rondoConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT dev)

# rondo.pc finds its prefix from its own place, so an installed tree can be moved. A static
# librondo needs Highway, libsodium and ISA-L on every link line; a shared one brings them along.
set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pkgconfig_to_prefix /${pkgconfig_folder} /)
if(BUILD_SHARED_LIBS)
  set(pkgconfig_requires Requires.private)
else()
  set(pkgconfig_requires Requires)
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/rondo.pc.in ${PROJECT_BINARY_DIR}/rondo.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rondo.pc DESTINATION ${pkgconfig_folder} COMPONENT dev)
