#pragma once
/// What hooks.awk writes of objects with kernels: the places of their accesses, the names of their shared arrays, and
/// their variables. The program has such tables of its own kernels; a shared object that was compiled for the simulated
/// device brings its own.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/sim/place.h"

namespace reductio::sim {

struct SharedVariable;

/// The place of an access: the file's name lies `file` bytes from here.
struct Place {
  std::int32_t file, line, column, unused;
  Site site() const { return {reinterpret_cast<const char*>(this) + file, line, column}; }
};
static_assert(sizeof(Place) == 16);
struct NamedArray {
  const SharedVariable* variable;
  const char* mangled;
};
struct ListedVariable {
  std::uintptr_t begin;
  std::size_t bytes;
  enum Kind : std::size_t { of_device, constant, of_host } kind;  ///< the last in programs alone
  const char* mangled;
};

template <class T>
struct Table {
  const T *first = nullptr, *last = nullptr;
  const T* begin() const { return first; }
  const T* end() const { return last; }
  std::size_t size() const { return static_cast<std::size_t>(last - first); }
};
/// Of the program, or of one shared object.
struct Tables {
  Table<Place> places;
  Table<NamedArray> arrays;
  Table<ListedVariable> variables;
};
/// The program's first.
const std::vector<Tables>& tables();
/// A shared object is loaded, for as long as the process lives. Once for each, however often it is called.
void add_tables(const Tables&);

}  // namespace reductio::sim

// The linker names the ends of each section of a program, and of each shared object.
extern "C" {
#define REDUCTIO_TABLE_END(name, T) \
  [[gnu::weak, gnu::visibility("hidden")]] extern const reductio::sim::T name[];
REDUCTIO_TABLE_END(__start_reductio_places, Place)
REDUCTIO_TABLE_END(__stop_reductio_places, Place)
REDUCTIO_TABLE_END(__start_reductio_arrays, NamedArray)
REDUCTIO_TABLE_END(__stop_reductio_arrays, NamedArray)
REDUCTIO_TABLE_END(__start_reductio_variables, ListedVariable)
REDUCTIO_TABLE_END(__stop_reductio_variables, ListedVariable)
#undef REDUCTIO_TABLE_END
}

namespace reductio::sim {

/// Of the program or shared object that this is compiled into.
inline Tables own_tables() {
  return {{__start_reductio_places, __stop_reductio_places},
          {__start_reductio_arrays, __stop_reductio_arrays},
          {__start_reductio_variables, __stop_reductio_variables}};
}

}  // namespace reductio::sim
