# Third-party libraries: those that are installed (Debian's packages are enough), else pinned ones, downloaded.
# CONTRIBUTING.md says why each was chosen.

include(FetchContent)
set(_missing)  # Debian's packages of those that cannot be had

# reductio_library(NAME PACKAGE URL)
macro(reductio_library name package url)
  find_package(${name} QUIET)
  if(NOT ${name}_FOUND)
    string(TOUPPER ${name} _upper)
    set(_archive ${PROJECT_BINARY_DIR}/_deps/${name}.tar.gz)
    if(NOT _missing AND NOT EXISTS ${_archive} AND NOT FETCHCONTENT_SOURCE_DIR_${_upper})
      message(STATUS "reductio: downloading ${url}")
      file(DOWNLOAD ${url} ${_archive}.part STATUS _status TIMEOUT 120)  # once: FetchContent's own way tries for 40 s
      if(NOT _status MATCHES "^0;")
        file(REMOVE ${_archive}.part)
        list(GET _status 1 _why)
      else()
        file(RENAME ${_archive}.part ${_archive})  # so that one that was cut is not taken for whole
      endif()
    endif()
    if(EXISTS ${_archive} OR FETCHCONTENT_SOURCE_DIR_${_upper})
      FetchContent_Declare(${name} URL ${_archive})
      FetchContent_MakeAvailable(${name})
    else()
      list(APPEND _missing ${package})
    endif()
  endif()
endmacro()

reductio_library(fmt libfmt-dev https://github.com/fmtlib/fmt/archive/refs/tags/9.1.0.tar.gz)
reductio_library(CLI11 libcli11-dev https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.3.2.tar.gz)
reductio_library(nlohmann_json nlohmann-json3-dev https://github.com/nlohmann/json/archive/refs/tags/v3.11.2.tar.gz)
reductio_library(Eigen3 libeigen3-dev https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz)
if(REDUCTIO_TESTS)
  reductio_library(GTest libgtest-dev https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz)
endif()

# Boost.Context, and the headers of Boost.Math, have no small form to download. The static library, so that the program
# runs where Boost is not installed.
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost 1.74 QUIET COMPONENTS context)
if(NOT Boost_FOUND)
  list(APPEND _missing libboost-context-dev)
endif()

# zlib, for the raw samples. The static library where there is one, for the same reason.
set(ZLIB_USE_STATIC_LIBS ON)
find_package(ZLIB QUIET)
if(NOT ZLIB_FOUND)
  set(ZLIB_USE_STATIC_LIBS OFF)
  find_package(ZLIB QUIET)
endif()
if(NOT ZLIB_FOUND)
  list(APPEND _missing zlib1g-dev)
endif()

if(_missing)
  list(JOIN _missing " " _packages)
  if(_why)
    set(_why " and cannot be downloaded (${_why})")
  endif()
  # The blank in front keeps it one line.
  message(FATAL_ERROR " reductio: libraries are missing${_why}: on Debian and Ubuntu, apt-get install ${_packages}; "
                      "or ./check --quick, which installs all that is needed")
endif()

# fmt as everything here links it: never as the shared library that Debian's fmt::fmt is, because the program must run
# where that is not installed.
get_target_property(_fmt_type fmt::fmt TYPE)
if(_fmt_type STREQUAL "SHARED_LIBRARY" AND fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
  add_library(reductio_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt.cpp)
  get_target_property(_fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(reductio_fmt SYSTEM PUBLIC ${_fmt_include})
else()
  add_library(reductio_fmt INTERFACE)
  if(_fmt_type STREQUAL "STATIC_LIBRARY")
    target_link_libraries(reductio_fmt INTERFACE fmt::fmt)
  else()
    target_link_libraries(reductio_fmt INTERFACE fmt::fmt-header-only)  # right with any version, slow to compile
  endif()
endif()
