#pragma once
/// The only header that a kernel file needs: what a kernel is written with (device/kernel.h lists it), and what its
/// variants are prepared and registered with:
///
///   memory       Buffer<T>(count): workspace, poisoned when made, shared by copies, freed with the last;
///                zeroed_buffer<T>(count): zeros, for state that calls leave to each other;
///                zero(p, count, stream), asynchronous;
///                copy_to_host(dst, p, count, stream), returns when the values have arrived;
///                HostBuffer<T>(count, pinned): host memory, page-locked if `pinned`; moves, does not copy
///   registering  sum_kernel(id, shape, kernel): in one statement (device/sum_kernel.h); and where that does not fit,
///                Register(Variant, Prepare), or for a document's table of variants Register(shared, prepare, rows)
///   planning     dispatch(problem, f): from a problem to template arguments; Kernels<Start>: a variant's kernel for
///                all of them; plan_of(info, enqueue);
///                finishes_on_host(settings), plan_with_host_part(): the documents' finish on the host

#include "device/kernel.h"
#include "device/plan.h"
#include "device/sum_kernel.h"
