# Third-party libraries. Each is searched for first (Debian's packages are enough) and fetched otherwise, pinned.
# CONTRIBUTING.md says why each was chosen.

include(FetchContent)
set(FETCHCONTENT_TRY_FIND_PACKAGE_MODE ALWAYS)

FetchContent_Declare(fmt URL https://github.com/fmtlib/fmt/archive/refs/tags/9.1.0.tar.gz
  FIND_PACKAGE_ARGS NAMES fmt)
FetchContent_Declare(CLI11 URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.3.2.tar.gz
  FIND_PACKAGE_ARGS NAMES CLI11)
FetchContent_Declare(nlohmann_json URL https://github.com/nlohmann/json/archive/refs/tags/v3.11.2.tar.gz
  FIND_PACKAGE_ARGS NAMES nlohmann_json)
FetchContent_Declare(Eigen3 URL https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz
  FIND_PACKAGE_ARGS NAMES Eigen3)
FetchContent_MakeAvailable(fmt CLI11 nlohmann_json Eigen3)

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

# Boost.Context, and the headers of Boost.Math, have no small fetchable form; Debian: libboost-context-dev, which brings
# both. The static library, so that the program runs where Boost is not installed.
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost 1.74 REQUIRED COMPONENTS context)

# zlib, for the raw samples; Debian: zlib1g-dev. The static library where there is one, for the same reason.
set(ZLIB_USE_STATIC_LIBS ON)
find_package(ZLIB QUIET)
if(NOT ZLIB_FOUND)
  set(ZLIB_USE_STATIC_LIBS OFF)
  find_package(ZLIB REQUIRED)
endif()

if(REDUCTIO_TESTS)
  FetchContent_Declare(googletest URL https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz
    FIND_PACKAGE_ARGS NAMES GTest)
  FetchContent_MakeAvailable(googletest)
endif()
