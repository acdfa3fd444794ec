/* Your reduction as a variant of reductio: plain C99 and C++, no dependency. docs/plugins.md has examples.
 *
 *   #include <reductio/plugin.h>
 *   static void my_sum(const float* in, size_t n, float* out, void* workspace, cudaStream_t stream) { ... }
 *   REDUCTIO_SUM_F32("mine/sum", my_sum)
 *
 * The macros at the end suffice for most kernels. Use them as often as you like, also in several files of one library.
 * Other languages define the structures below, and one function with C linkage: reductio_plugin(). */
#ifndef REDUCTIO_PLUGIN_H
#define REDUCTIO_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with every change below. A program loads plug-ins of this version and of earlier ones. Version 2 added sums of
 * rows, columns and segments. */
#define REDUCTIO_PLUGIN_VERSION 2u

/* reductio_variant.operations and .types are sums of these. */
enum {
  REDUCTIO_SUM = 1,
  REDUCTIO_SUM_OF_SQUARES = 2,
  REDUCTIO_MOMENTS = 4,  /* the sum and the sum of squares, in this order, by one call */
  REDUCTIO_WIDE_SUM = 8, /* the sum of i8 or i32 in i64, of f32 in f64 */
  /* Many sums, one after the other in `out`: of each row or column of a row-major matrix, or of each segment. */
  REDUCTIO_ROW_SUMS = 16,
  REDUCTIO_COLUMN_SUMS = 32,
  REDUCTIO_SEGMENT_SUMS = 64
};
/* The result of i8 is an i32, that of f16 and bf16 an f32; all others have their own type. Integers wrap around. */
enum {
  REDUCTIO_I8 = 1,
  REDUCTIO_I32 = 2,
  REDUCTIO_I64 = 4,
  REDUCTIO_F16 = 8,
  REDUCTIO_BF16 = 16,
  REDUCTIO_F32 = 32,
  REDUCTIO_F64 = 64
};
/* reductio_variant.device */
enum { REDUCTIO_GPU = 1, REDUCTIO_CPU = 2 };
/* reductio_variant.result: where enqueue() leaves it */
enum {
  REDUCTIO_ON_DEVICE = 0, /* in `out` */
  REDUCTIO_HOST_PART = 1, /* nowhere yet: finish() waits for the stream and does the host's part */
  REDUCTIO_ON_HOST = 2    /* on the host: enqueue() waits; finish() copies the result */
};
/* reductio_variant.repeats: repeated calls on one input give the same bits */
enum {
  REDUCTIO_MAY_DIFFER = 0,     /* not always */
  REDUCTIO_SAME_PER_SHAPE = 1, /* for one n, its settings and one GPU */
  REDUCTIO_SAME = 2            /* for one n, whatever the settings and the GPU */
};

/* What the user may choose, such as --set block=256. */
typedef struct reductio_setting {
  const char* name;
  const char* values;   /* "128,256,512" */
  const char* standard; /* one of them; null: the first */
} reductio_setting;

struct reductio_variant;

/* The problem that a plan solves. It keeps its address until the plan is destroyed. */
typedef struct reductio_problem {
  const struct reductio_variant* variant; /* the table's */
  uint32_t operation;                     /* one of REDUCTIO_SUM, ... */
  uint32_t type;                          /* one of REDUCTIO_I8, ... */
  uint64_t n;                             /* elements; may be 0 */
  const char* const* settings;            /* the values chosen, in the order of reductio_variant.settings */
  void* workspace;                        /* GPU memory (CPU: host memory), aligned to 256 bytes, filled with 0xFF */
  uint64_t workspace_bytes;               /* what workspace_bytes() asked for */
  /* For REDUCTIO_ROW_SUMS and REDUCTIO_COLUMN_SUMS; else 0. n is rows * columns. */
  uint64_t rows, columns, pitch; /* element k of row r is in[r * pitch + k]; a pitch is at least `columns` */
  /* For REDUCTIO_SEGMENT_SUMS; else 0. Segment s has the elements from offsets[s] to offsets[s + 1] - 1, or none. */
  uint64_t segments;
  const int64_t* offsets; /* in the memory that `in` is in; null for a plan that is never called */
} reductio_problem;

/* Functions that return const char* return null on success, else one line that says what is wrong. The program copies
 * that text before it calls the plug-in again. All calls come from one thread. Make no CUDA call while the library is
 * loaded or in reductio_plugin(): the program forks, and a forked process cannot use CUDA that has started. */
typedef struct reductio_variant {
  const char* id;    /* "mine/atomic": a group and a name, of letters, digits and - _ + . @ */
  const char* title; /* in a few words; null: the id */
  uint32_t device;
  uint32_t operations;
  uint32_t types;
  uint32_t result;
  uint32_t repeats;
  uint32_t consumes_input; /* not 0: overwrites its input, which is restored before each call, untimed */
  const reductio_setting* settings;
  uint32_t setting_count;

  /* Bytes of workspace; null: none. problem->workspace is not set yet. */
  uint64_t (*workspace_bytes)(const reductio_problem* problem);
  /* The most additions that any element goes through. It sets the allowed rounding error; null: n. */
  uint64_t (*longest_chain)(const reductio_problem* problem);
  /* Called once for each plan, before its calls: allocate memory and set state here. `plan` is yours, for the functions
   * below; null: nothing to prepare. A text refuses the problem with that reason; destroy() is not called then. */
  const char* (*prepare)(const reductio_problem* problem, void** plan);
  /* The call. On a GPU it queues its work on `stream`, a cudaStream_t, and returns: it must not allocate, wait or use
   * another stream. `in` is aligned only to the element; `out`, in GPU memory, to the result. On a CPU it returns when
   * it is done, and `stream` is null. */
  const char* (*enqueue)(const reductio_problem* problem, void* plan, void* in, void* out, void* stream);
  /* Unless the result is on the device: writes it to `result`, in host memory. */
  const char* (*finish)(const reductio_problem* problem, void* plan, void* result, void* stream);
  void (*destroy)(void* plan); /* null: nothing to destroy */
  const void* data;            /* for your use */
} reductio_variant;

typedef struct reductio_table {
  uint32_t version; /* REDUCTIO_PLUGIN_VERSION */
  uint32_t count;
  const reductio_variant* const* variants; /* at fixed addresses */
} reductio_table;

#define REDUCTIO_EXPORT __attribute__((visibility("default")))

/* The program calls this once it has loaded the library. Null, with a text in *error, if there is nothing to offer. */
REDUCTIO_EXPORT const reductio_table* reductio_plugin(const char** error);

#ifndef REDUCTIO_WITHOUT_MACROS /* as the program itself reads this */

/* ---- In C and C++: macros that make that function ----
 *
 *   REDUCTIO_ADD(variant)                     adds a static reductio_variant
 *   REDUCTIO_SUM_F32("mine/sum", my_sum)      adds a sum on the GPU, of this signature:
 *       void my_sum(const float* in, size_t n, float* out, void* workspace, cudaStream_t stream)
 *   REDUCTIO_CPU_SUM_F32("mine/sum", my_sum)  adds a sum on the CPU:
 *       void my_sum(const float* in, size_t n, float* out)
 *
 * Likewise with F64, I32, I64, I8 (in: int8_t, out: int32_t), F16 (__half, float) and BF16 (__nv_bfloat16, float).
 * On the GPU the workspace has REDUCTIO_WORKSPACE_BYTES; define that before the #include for another size. */
#ifndef REDUCTIO_WORKSPACE_BYTES
#define REDUCTIO_WORKSPACE_BYTES (1u << 16)
#endif

#define REDUCTIO_MOST_ADDED 256u
typedef struct reductio_added {
  const reductio_variant* variants[REDUCTIO_MOST_ADDED];
  uint32_t count;
} reductio_added;

/* Weak: of several files that include this, the linker keeps one. */
REDUCTIO_EXPORT __attribute__((weak)) reductio_added reductio_all_added = {{0}, 0};
REDUCTIO_EXPORT __attribute__((weak)) const reductio_table* reductio_plugin(const char** error) {
  static reductio_table table;
  if (reductio_all_added.count == 0 || reductio_all_added.count > REDUCTIO_MOST_ADDED) {
    *error = reductio_all_added.count == 0 ? "it adds no variant (REDUCTIO_ADD, REDUCTIO_SUM_F32)"
                                           : "it adds more than 256 variants";
    return 0;
  }
  table.version = REDUCTIO_PLUGIN_VERSION;
  table.count = reductio_all_added.count;
  table.variants = reductio_all_added.variants;
  return &table;
}

#endif
#ifdef __cplusplus
}
#endif
#ifndef REDUCTIO_WITHOUT_MACROS

#define REDUCTIO_JOIN_2(a, b) a##b
#define REDUCTIO_JOIN(a, b) REDUCTIO_JOIN_2(a, b)
#define REDUCTIO_NAMED(name) REDUCTIO_JOIN(name, __LINE__)

#define REDUCTIO_ADD(variant)                                                       \
  __attribute__((constructor)) static void REDUCTIO_NAMED(reductio_add_)(void) {    \
    if (reductio_all_added.count < REDUCTIO_MOST_ADDED)                             \
      reductio_all_added.variants[reductio_all_added.count] = &(variant);           \
    ++reductio_all_added.count;                                                     \
  }

typedef struct CUstream_st* reductio_stream; /* cudaStream_t */

/* A launch that was refused must not show up as the failure of the next call. */
#if defined(__CUDACC__) || defined(CUDART_VERSION)
static inline const char* reductio_launch_error(void) {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? 0 : cudaGetErrorString(error);
}
#else
static inline const char* reductio_launch_error(void) { return 0; }
#endif

static inline uint64_t reductio_default_workspace(const reductio_problem* problem) {
  (void)problem;
  return REDUCTIO_WORKSPACE_BYTES;
}

#define REDUCTIO_ADD_SUM(id, on, bit, workspace_of, call)                                                              \
  static const char* REDUCTIO_NAMED(reductio_call_)(const reductio_problem* p, void* plan, void* in, void* out,        \
                                                    void* stream) {                                                    \
    (void)plan;                                                                                                        \
    (void)stream;                                                                                                      \
    call;                                                                                                              \
    return (on) == REDUCTIO_GPU ? reductio_launch_error() : 0;                                                         \
  }                                                                                                                    \
  static const reductio_variant REDUCTIO_NAMED(reductio_variant_) = {                                                  \
      id, 0, on, REDUCTIO_SUM, bit, REDUCTIO_ON_DEVICE, REDUCTIO_MAY_DIFFER, 0, 0, 0, workspace_of, 0, 0,              \
      REDUCTIO_NAMED(reductio_call_), 0, 0, 0};                                                                        \
  REDUCTIO_ADD(REDUCTIO_NAMED(reductio_variant_))

#define REDUCTIO_GPU_SUM(id, f, bit, element, result)                        \
  REDUCTIO_ADD_SUM(id, REDUCTIO_GPU, bit, reductio_default_workspace,        \
                   f((const element*)in, (size_t)p->n, (result*)out, p->workspace, (reductio_stream)stream))
#define REDUCTIO_CPU_SUM(id, f, bit, element, result) \
  REDUCTIO_ADD_SUM(id, REDUCTIO_CPU, bit, 0, f((const element*)in, (size_t)p->n, (result*)out))

#define REDUCTIO_SUM_F32(id, f) REDUCTIO_GPU_SUM(id, f, REDUCTIO_F32, float, float)
#define REDUCTIO_SUM_F64(id, f) REDUCTIO_GPU_SUM(id, f, REDUCTIO_F64, double, double)
#define REDUCTIO_SUM_I32(id, f) REDUCTIO_GPU_SUM(id, f, REDUCTIO_I32, int32_t, int32_t)
#define REDUCTIO_SUM_I64(id, f) REDUCTIO_GPU_SUM(id, f, REDUCTIO_I64, int64_t, int64_t)
#define REDUCTIO_SUM_I8(id, f) REDUCTIO_GPU_SUM(id, f, REDUCTIO_I8, int8_t, int32_t)
#define REDUCTIO_SUM_F16(id, f) REDUCTIO_GPU_SUM(id, f, REDUCTIO_F16, __half, float)
#define REDUCTIO_SUM_BF16(id, f) REDUCTIO_GPU_SUM(id, f, REDUCTIO_BF16, __nv_bfloat16, float)

#define REDUCTIO_CPU_SUM_F32(id, f) REDUCTIO_CPU_SUM(id, f, REDUCTIO_F32, float, float)
#define REDUCTIO_CPU_SUM_F64(id, f) REDUCTIO_CPU_SUM(id, f, REDUCTIO_F64, double, double)
#define REDUCTIO_CPU_SUM_I32(id, f) REDUCTIO_CPU_SUM(id, f, REDUCTIO_I32, int32_t, int32_t)
#define REDUCTIO_CPU_SUM_I64(id, f) REDUCTIO_CPU_SUM(id, f, REDUCTIO_I64, int64_t, int64_t)
#define REDUCTIO_CPU_SUM_I8(id, f) REDUCTIO_CPU_SUM(id, f, REDUCTIO_I8, int8_t, int32_t)

#endif
#endif
