// TM_HOST_DEVICE marks functions that nvcc compiles for the host and the device, and every other compiler for the host.
#pragma once

#ifdef __CUDACC__
#define TM_HOST_DEVICE __host__ __device__
#else
#define TM_HOST_DEVICE
#endif
