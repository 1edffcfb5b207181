// The calls of the CUDA driver that this program makes, as a table of function pointers.
//
// The program never links libcuda: it would not start where there is no driver. The table is filled at run time; tests
// fill it with a driver of their own.
#pragma once

#include <cuda.h>

#include <string>

namespace tidemark {

struct CudaDriver {
  decltype(&::cuInit) init = nullptr;
  decltype(&::cuGetErrorString) get_error_string = nullptr;
  decltype(&::cuDeviceGet) device_get = nullptr;
  decltype(&::cuDeviceGetPCIBusId) device_pci_bus_id = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) primary_context_retain = nullptr;
  decltype(&::cuDevicePrimaryCtxRelease) primary_context_release = nullptr;
  decltype(&::cuCtxSetCurrent) context_set_current = nullptr;
  decltype(&::cuMemGetInfo) memory_info = nullptr;
  decltype(&::cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&::cuMemAddressReserve) address_reserve = nullptr;
  decltype(&::cuMemAddressFree) address_free = nullptr;
  decltype(&::cuMemCreate) create = nullptr;
  decltype(&::cuMemRelease) release = nullptr;
  decltype(&::cuMemMap) map = nullptr;
  decltype(&::cuMemUnmap) unmap = nullptr;
  decltype(&::cuMemSetAccess) set_access = nullptr;
  decltype(&::cuMemRetainAllocationHandle) retain_handle = nullptr;
};

// The table of the installed driver. Throws Error(device) that names the call which cannot be found.
CudaDriver load_cuda_driver();

// "cuMemCreate: error 2 (out of memory)"
std::string describe(const CudaDriver& driver, const char* call, CUresult result);

}  // namespace tidemark
