# `cpack` in a build folder: Debian packages of what `cmake --install` installs.
#   rondo          the programs
#   librondo-dev   the library, its headers, and what finds them
#   rondo-nccl     libnccl.so.2 and nccl.h, in folders of their own
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rondo)
set(CPACK_PACKAGE_VENDOR rondo)
set(CPACK_PACKAGE_CONTACT "rondo's developers")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)

set(CPACK_COMPONENTS_ALL programs dev nccl)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)   # Depends: as dpkg-shlibdeps says
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME rondo)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME librondo-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libhwy-dev, libsodium-dev, libisal-dev")
set(CPACK_DEBIAN_NCCL_PACKAGE_NAME rondo-nccl)
set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION
  "Collective communication: launcher, benchmarks, trainer, and a program that explains schedules")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Collective communication: library and headers for C++")
set(CPACK_COMPONENT_NCCL_DESCRIPTION "rondo's library with NCCL's API, for programs that ask for it by path")

# Debian's policy: each package has the licence and, as it is no Debian source package, rondo's change log.
set(changes ${PROJECT_BINARY_DIR}/changelog.gz)
file(ARCHIVE_CREATE OUTPUT ${changes} PATHS ${PROJECT_SOURCE_DIR}/tools/CHANGES.md FORMAT raw
  COMPRESSION GZip COMPRESSION_LEVEL 9 MTIME 0)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tools/CHANGES.md)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} name)
  set(documents ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${name}_PACKAGE_NAME})
  install(FILES ${changes} DESTINATION ${documents} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright DESTINATION ${documents}
    COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
