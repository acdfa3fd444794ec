#pragma once
/// Loads and stores with a hint to the caches, which are not here: plain ones. Those through the read-only cache may
/// not meet what this very launch wrote, whatever orders the two.

#include <type_traits>

#include "device/sim/order.h"
#include "device/sim/vectors.h"

namespace reductio::device {
inline namespace on_sim {

#define REDUCTIO_READ_ONLY_LOAD(name)                                                                \
  template <class T>                                                                                 \
  REDUCTIO_AS_CALLER inline std::remove_cv_t<T> name(T* p, sim::Site site = sim::here()) {           \
    const std::remove_cv_t<T> value = *p;                                                            \
    sim::check_read_only(p, sizeof(T), site);                                                        \
    return value;                                                                                    \
  }
#define REDUCTIO_LOAD(name)                                                                          \
  template <class T>                                                                                 \
  REDUCTIO_AS_CALLER inline std::remove_cv_t<T> name(T* p) {                                         \
    return *p;                                                                                       \
  }
#define REDUCTIO_STORE(name)                                                                         \
  template <class T>                                                                                 \
  REDUCTIO_AS_CALLER inline void name(T* p, std::type_identity_t<T> value) {                         \
    *p = value;                                                                                      \
  }
REDUCTIO_READ_ONLY_LOAD(load_past_l1)
REDUCTIO_READ_ONLY_LOAD(__ldg)
REDUCTIO_LOAD(__ldca)
REDUCTIO_LOAD(__ldcg)
REDUCTIO_LOAD(__ldcs)
REDUCTIO_LOAD(__ldlu)
REDUCTIO_LOAD(__ldcv)
REDUCTIO_STORE(__stwb)
REDUCTIO_STORE(__stcg)
REDUCTIO_STORE(__stcs)
REDUCTIO_STORE(__stwt)
/// Of memory that a load may read.
REDUCTIO_AS_CALLER inline void prefetch_to_l2(const void*) {}
#undef REDUCTIO_READ_ONLY_LOAD
#undef REDUCTIO_LOAD
#undef REDUCTIO_STORE

}  // namespace on_sim
}  // namespace reductio::device

// CUDA's own names are global there, so they are here.
using reductio::device::__ldca;
using reductio::device::__ldcg;
using reductio::device::__ldcs;
using reductio::device::__ldcv;
using reductio::device::__ldg;
using reductio::device::__ldlu;
using reductio::device::__stcg;
using reductio::device::__stcs;
using reductio::device::__stwb;
using reductio::device::__stwt;
