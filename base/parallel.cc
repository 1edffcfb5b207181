#include "base/parallel.h"

#include <omp.h>

namespace tidemark::internal {

void run_parts(int parts, void (*run)(void* context, int part), void* context) {
#pragma omp parallel num_threads(parts)
  {
    const int team = omp_get_num_threads();
    for (int part = omp_get_thread_num(); part < parts; part += team) run(context, part);
  }
}

}  // namespace tidemark::internal
