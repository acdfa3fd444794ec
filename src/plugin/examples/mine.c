// reductio verify ./mine.c: a sum of doubles on the CPU, with a setting and a plan
#include <reductio/plugin.h>
#include <stdlib.h>

static const char* prepare(const reductio_problem* p, void** plan) {
  size_t* step = malloc(sizeof *step);
  if (!step) return "no memory";
  *step = (size_t)atoi(p->settings[0]);
  *plan = step;
  return 0;
}

static const char* sum(const reductio_problem* p, void* plan, void* in, void* out, void* stream) {
  const size_t step = *(size_t*)plan;
  double sums[4] = {0, 0, 0, 0};
  for (size_t i = 0; i < p->n; ++i) sums[i % step] += ((const double*)in)[i];
  *(double*)out = sums[0] + sums[1] + sums[2] + sums[3];
  (void)stream;
  return 0;
}

static const reductio_setting settings[] = {{"step", "1,2,4", "4"}};
static const reductio_variant mine = {.id = "mine/steps", .device = REDUCTIO_CPU, .operations = REDUCTIO_SUM,
    .types = REDUCTIO_F64, .repeats = REDUCTIO_SAME_PER_SHAPE, .settings = settings, .setting_count = 1,
    .prepare = prepare, .enqueue = sum, .destroy = free};
REDUCTIO_ADD(mine)
