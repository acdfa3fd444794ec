# What other projects take of this one: src/tuned, src/exact and what they include, by find_package(reductio) and the
# target reductio::tuned. A component of its own, because libraries that were fetched may bring rules of theirs:
#
#   cmake --install build --prefix DIR --component tuned
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(reductio_tuned INTERFACE)
set_target_properties(reductio_tuned PROPERTIES EXPORT_NAME tuned)
# Users write <reductio/tuned/tuned.h>; headers name each other from where they lie, so that no folder of a user's is
# searched for them.
target_include_directories(reductio_tuned INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

set(_package ${CMAKE_INSTALL_DATADIR}/cmake/reductio)  # headers alone: no matter what machine
install(TARGETS reductio_tuned EXPORT reductio_targets COMPONENT tuned)
foreach(_header
    tuned/tuned.h tuned/launch_table.h tuned/reading.h tuned/digits.h tuned/far_bands.h tuned/finish.h tuned/rows.h
    tuned/columns.h tuned/segments.h
    tuned/cluster.cuh exact/exact.h exact/tile.h exact/elements.h exact/window.h exact/finish.h exact/result.h
    exact/lanes.h exact/partial.h exact/lines.h
    device/kernel.h device/cuda/kernel.cuh)
  get_filename_component(_folder ${_header} DIRECTORY)
  install(FILES src/${_header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/reductio/${_folder} COMPONENT tuned)
endforeach()
# Where the exact sum's headers were in 0.1: includes of users go on.
foreach(_name exact partial)
  set(_header ${PROJECT_BINARY_DIR}/generated/tuned/${_name}.h)
  file(CONFIGURE OUTPUT ${_header} CONTENT "#pragma once\n#include \"../exact/${_name}.h\"\n")
  install(FILES ${_header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/reductio/tuned COMPONENT tuned)
endforeach()
# The header of plug-ins, for what is compiled elsewhere: cmake --install build --prefix DIR --component plugin
install(FILES src/plugin/include/reductio/plugin.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/reductio COMPONENT plugin)
install(EXPORT reductio_targets FILE reductioConfig.cmake NAMESPACE reductio:: DESTINATION ${_package} COMPONENT tuned)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/reductioConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/generated/reductioConfigVersion.cmake DESTINATION ${_package} COMPONENT tuned)
