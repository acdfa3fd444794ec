# What every target is compiled with. Targets link `reductio_options`; nothing else sets flags globally.

add_library(reductio_options INTERFACE)
target_include_directories(reductio_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
set(reductio_cuda_dialect --expt-relaxed-constexpr)
target_compile_options(reductio_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Werror>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Werror -Werror=all-warnings ${reductio_cuda_dialect}>)

# GCC 12 sees an overlap in `"text" + std::string` that is not there (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(reductio_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wno-restrict>)
endif()

# reductio_compile_together(TARGET): its sources are compiled all at once. Most of what a source costs is its headers and
# the templates that several sources instantiate alike. A fresh build takes a third of the time, and a change to one file
# recompiles all; -DREDUCTIO_SHARE_HEADERS=OFF, as in preset debug, compiles one by one, and shows which file lacks an
# include.
function(reductio_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${REDUCTIO_SHARE_HEADERS} UNITY_BUILD_BATCH_SIZE 0)
  if(REDUCTIO_SHARE_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ takes every included file for a header, where a class with a member from an anonymous namespace would be wrong.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
endfunction()

# reductio_compile_cheaply(TARGET): what neither takes times nor does much work is not worth what optimising it takes.
function(reductio_compile_cheaply target)
  if(REDUCTIO_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)  # instrumented code costs an optimiser most
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# reductio_forgive_unused(FILES...): in a kernel file of a user's own, what nothing uses (a variable, a parameter, a
# function) is a warning, as while it is being written, and so is `int i < n` of an unsigned n, as in many a loop that
# comes from elsewhere. nvcc says nothing of either, the compiler of the simulated device does. `s[t] += x` of volatile
# memory, as in many a last warp, is taken, although C++20 deprecates it.
set(reductio_own_kernels ablation compensated exact exact_rows levels modern modern_rows multiblock squares tuned tuned_rows twopass unroll modern_cuda tuned_to_host)
function(reductio_forgive_unused)
  set(_forgive -Wno-error=unused-variable -Wno-error=unused-parameter -Wno-error=unused-function
               -Wno-error=unused-but-set-variable -Wno-error=unused-but-set-parameter -Wno-error=unused-local-typedefs
               -Wno-error=sign-compare -Wno-error=volatile)
  list(JOIN _forgive "," _by_nvcc)
  foreach(_file ${ARGN})
    cmake_path(GET _file STEM _name)
    if(NOT _name IN_LIST reductio_own_kernels)
      set_property(SOURCE ${_file} APPEND PROPERTY COMPILE_OPTIONS
        $<$<COMPILE_LANGUAGE:CXX>:${_forgive}>
        $<$<COMPILE_LANGUAGE:CUDA>:-Xcudafe=--diag_remark=177,--diag_remark=550>
        $<$<COMPILE_LANGUAGE:CUDA>:-Xcudafe=--diag_suppress=3010,--diag_suppress=3011,--diag_suppress=3012>
        $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${_by_nvcc}>)
    endif()
  endforeach()
endfunction()

# nvcc is optional: without it the simulated device and the CPU baselines are built. A wheel is what its name says.
if(SKBUILD_PROJECT_VERSION_FULL MATCHES "[+]cpu$")
  set(REDUCTIO_CUDA OFF)
endif()
if(REDUCTIO_CUDA)
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      # The GPU that is here, else Hopper. Several: -DCMAKE_CUDA_ARCHITECTURES="80;90;100".
      execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                      OUTPUT_VARIABLE _caps RESULT_VARIABLE _no_gpu ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
      if(_no_gpu EQUAL 0 AND _caps MATCHES "^([0-9]+)\\.([0-9]+)")
        set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_MATCH_1}${CMAKE_MATCH_2})
      else()
        set(CMAKE_CUDA_ARCHITECTURES 90)
      endif()
    endif()
    enable_language(CUDA)
    if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      # CMake 3.25.1 (Debian 12) does not know yet that nvcc 12 and later have C++20.
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    find_package(CUDAToolkit REQUIRED)
    set(REDUCTIO_WITH_CUDA ON)
  endif()
endif()
if(NOT REDUCTIO_WITH_CUDA)
  set(REDUCTIO_WITH_CUDA OFF)
  if(SKBUILD_PROJECT_VERSION_FULL AND NOT SKBUILD_PROJECT_VERSION_FULL MATCHES "[+]cpu$")
    message(FATAL_ERROR "this wheel's name is of a build with CUDA; for one without: REDUCTIO_CUDA=OFF pip install .")
  endif()
endif()
message(STATUS "reductio: CUDA ${REDUCTIO_WITH_CUDA} ${CMAKE_CUDA_COMPILER_VERSION} ${CMAKE_CUDA_ARCHITECTURES}")

if(REDUCTIO_SANITIZE)
  # Not over nvcc's host code: the GPU is not there where this tier runs, and CUDA's runtime is not ASan-clean.
  set(_san -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(reductio_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${_san}>
    # g++ 12 sees this in std::regex once the sanitizers' checks are in between, and is wrong.
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
  target_link_options(reductio_options INTERFACE ${_san})
  target_compile_definitions(reductio_options INTERFACE REDUCTIO_SANITIZED)  # the code that must know; no other tells it
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the base are hashed as relative, so that another checkout, or a copy, reuses what was compiled in this one.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# reductio_holds_kernels(TARGET): its sources hold kernels for the simulated device, which clang++ compiles, whatever
# compiler the rest is for: it reports each access to memory (src/device/sim/compile_kernels).
if(REDUCTIO_SIM)
  find_program(REDUCTIO_CLANG NAMES clang++ clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14
               DOC "The clang++ that compiles kernels for the simulated device, 14 or newer")
  if(NOT REDUCTIO_CLANG)
    message(FATAL_ERROR "reductio: kernels for the simulated device need clang++ 14 or newer: on Debian and Ubuntu, "
                        "apt-get install clang; or name one, -DREDUCTIO_CLANG=/path/to/clang++; or build without that "
                        "device, -DREDUCTIO_SIM=OFF")
  endif()
  set(_of_all)
  foreach(_script compile_kernels odd_accesses.awk hooks.awk)
    set(_script ${PROJECT_SOURCE_DIR}/src/device/sim/${_script})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_script})
    file(SHA256 ${_script} _of_one)
    string(APPEND _of_all ${_of_one})
  endforeach()
  string(SHA256 reductio_hooks_version "${_of_all}")
  string(SUBSTRING ${reductio_hooks_version} 0 8 reductio_hooks_version)
endif()
function(reductio_holds_kernels target)
  set_target_properties(${target} PROPERTIES
    CXX_COMPILER_LAUNCHER "${PROJECT_SOURCE_DIR}/src/device/sim/compile_kernels;${REDUCTIO_CLANG}")
  # Another text of the script compiles them anew.
  target_compile_definitions(${target} PRIVATE REDUCTIO_HOOKS_VERSION=0x${reductio_hooks_version})
endfunction()
