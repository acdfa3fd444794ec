# Writes HEADER with the git revision of SOURCE and whether what is built from differs from it. Without git, or outside
# a checkout, the file REVISION of a packed source tree is read; else the revision is empty, which means unknown.

set(_revision "")
set(_dirty false)
find_program(_git git)
if(_git)
  execute_process(COMMAND ${_git} -C ${SOURCE} rev-parse HEAD
                  OUTPUT_VARIABLE _revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${_git} -C ${SOURCE} status --porcelain -- CMakeLists.txt cmake src baselines experiments
                          ":(exclude)experiments/results/*/*"
                  OUTPUT_VARIABLE _changes ERROR_QUIET)
  if(_changes)
    set(_dirty true)
  endif()
endif()
if(NOT _revision AND EXISTS ${SOURCE}/REVISION)
  # "<hash>" or "<hash> modified"
  file(STRINGS ${SOURCE}/REVISION _line LIMIT_COUNT 1)
  string(REGEX MATCH "^[0-9a-f]+" _revision "${_line}")
  if(_line MATCHES "modified")
    set(_dirty true)
  endif()
endif()

set(_text "#pragma once\n#define REDUCTIO_GIT_REVISION \"${_revision}\"\n#define REDUCTIO_GIT_DIRTY ${_dirty}\n")
set(_before "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} _before)
endif()
if(NOT _text STREQUAL _before)
  file(WRITE ${HEADER} "${_text}")
endif()
