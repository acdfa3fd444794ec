# What the program says of its own build: reductio_build.h, from what is known when it is configured, and
# reductio_revision.h, from git each time it is built. Both live in the build folder and only build.cpp reads them.

set(_generated ${PROJECT_BINARY_DIR}/generated)

set(_type ${CMAKE_BUILD_TYPE})
string(TOUPPER "${_type}" _upper)
set(_cxx_flags "-std=c++${CMAKE_CXX_STANDARD} ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${_upper}}")
string(REGEX REPLACE " +" " " _cxx_flags "${_cxx_flags}")
set(_cuda_compiler "")
set(_cuda_flags "")
set(_cuda_architectures "")
set(_cccl "")
if(REDUCTIO_WITH_CUDA)
  set(_cuda_compiler "${CMAKE_CUDA_COMPILER_ID} ${CMAKE_CUDA_COMPILER_VERSION}")
  set(_cuda_flags
    "-std=c++${CMAKE_CUDA_STANDARD} ${reductio_cuda_dialect} ${CMAKE_CUDA_FLAGS} ${CMAKE_CUDA_FLAGS_${_upper}}")
  string(REGEX REPLACE " +" " " _cuda_flags "${_cuda_flags}")
  set(_cuda_architectures "${CMAKE_CUDA_ARCHITECTURES}")
  # CCCL's version is CUB's: 300001 is 3.0.1. A checkout has cub/cub/, installed headers and wheels have cub/.
  if(REDUCTIO_CCCL_DIR)
    set(_places ${REDUCTIO_CCCL_DIR}/cub ${REDUCTIO_CCCL_DIR})
  else()
    set(_places ${CUDAToolkit_INCLUDE_DIRS})
  endif()
  find_file(REDUCTIO_CUB_VERSION_FILE cub/version.cuh NO_CACHE NO_DEFAULT_PATH PATHS ${_places} PATH_SUFFIXES . cccl)
  if(REDUCTIO_CUB_VERSION_FILE)
    file(STRINGS ${REDUCTIO_CUB_VERSION_FILE} _line REGEX "#define CUB_VERSION [0-9]+")
    string(REGEX MATCH "[0-9]+" _number "${_line}")
    set(reductio_cub_version ${_number})  # cub.cu holds it against the headers that it includes
    math(EXPR _major "${_number} / 100000")
    math(EXPR _minor "${_number} / 100 % 1000")
    math(EXPR _patch "${_number} % 100")
    set(_cccl "${_major}.${_minor}.${_patch}")
  endif()
endif()

# Of the Python package: pyproject.toml's, by which the names of its two kinds of wheel differ.
set(_package_version ${PROJECT_VERSION})
if(NOT REDUCTIO_WITH_CUDA)
  string(APPEND _package_version "+cpu")
endif()

file(CONFIGURE OUTPUT ${_generated}/reductio_build.h CONTENT [[
#pragma once
#define REDUCTIO_BUILD_VERSION "@PROJECT_VERSION@"
#define REDUCTIO_BUILD_PACKAGE_VERSION "@_package_version@"
#define REDUCTIO_BUILD_TYPE "@_type@"
#define REDUCTIO_BUILD_CXX_COMPILER "@CMAKE_CXX_COMPILER_ID@ @CMAKE_CXX_COMPILER_VERSION@"
#define REDUCTIO_BUILD_CXX_FLAGS "@_cxx_flags@"
#define REDUCTIO_BUILD_CUDA_COMPILER "@_cuda_compiler@"
#define REDUCTIO_BUILD_CUDA_FLAGS "@_cuda_flags@"
#define REDUCTIO_BUILD_CUDA_ARCHITECTURES "@_cuda_architectures@"
#define REDUCTIO_BUILD_CCCL "@_cccl@"
]] @ONLY ESCAPE_QUOTES)

# Runs at every build and touches its header only when the revision changed, so that nothing is rebuilt for nothing.
add_custom_target(reductio_revision
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DHEADER=${_generated}/reductio_revision.h
          -P ${PROJECT_SOURCE_DIR}/cmake/Revision.cmake
  BYPRODUCTS ${_generated}/reductio_revision.h
  VERBATIM)

function(reductio_use_build_headers target)
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated)
  add_dependencies(${target} reductio_revision)
endfunction()
