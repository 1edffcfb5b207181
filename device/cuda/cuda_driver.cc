#include "device/cuda/cuda_driver.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "base/error.h"
#include "device/cuda/cuda_stream.h"

#if CUDART_VERSION < 12050
#error "cudaGetDriverEntryPointByVersion needs CUDA 12.5 or later: build with --config=cpu or a newer toolkit"
#endif

namespace tidemark {
namespace {

// `version` is the CUDA version (12.2: 12020) whose form of the call is wanted: a later driver may offer another one
// under the same name.
template <class Function>
void look_up(Function& function, const char* name, unsigned version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &status);
  if (error != cudaSuccess || status != cudaDriverEntryPointSuccess || !found) {
    throw Error(ErrorCode::device,
                fmt::format("CUDA driver has no {} of version {}.{}: {}", name, version / 1000, version % 1000 / 10,
                            error != cudaSuccess ? cudaGetErrorString(error) : "not found; install a newer driver"));
  }
  function = reinterpret_cast<Function>(found);
}

}  // namespace

CudaDriver load_cuda_driver() {
  CudaDriver driver;
  look_up(driver.init, "cuInit", 2000);
  look_up(driver.get_error_string, "cuGetErrorString", 6000);
  look_up(driver.device_get, "cuDeviceGet", 2000);
  look_up(driver.device_pci_bus_id, "cuDeviceGetPCIBusId", 4010);
  look_up(driver.primary_context_retain, "cuDevicePrimaryCtxRetain", 7000);
  look_up(driver.primary_context_release, "cuDevicePrimaryCtxRelease", 11000);
  look_up(driver.context_set_current, "cuCtxSetCurrent", 4000);
  look_up(driver.memory_info, "cuMemGetInfo", 3020);
  look_up(driver.granularity, "cuMemGetAllocationGranularity", 10020);
  look_up(driver.address_reserve, "cuMemAddressReserve", 10020);
  look_up(driver.address_free, "cuMemAddressFree", 10020);
  look_up(driver.create, "cuMemCreate", 10020);
  look_up(driver.release, "cuMemRelease", 10020);
  look_up(driver.map, "cuMemMap", 10020);
  look_up(driver.unmap, "cuMemUnmap", 10020);
  look_up(driver.set_access, "cuMemSetAccess", 10020);
  look_up(driver.retain_handle, "cuMemRetainAllocationHandle", 11000);
  return driver;
}

CudaStreamCalls load_cuda_stream_calls() {
  CudaStreamCalls calls;
  look_up(calls.get_error_string, "cuGetErrorString", 6000);
  look_up(calls.device_get, "cuDeviceGet", 2000);
  look_up(calls.primary_context_retain, "cuDevicePrimaryCtxRetain", 7000);
  look_up(calls.primary_context_release, "cuDevicePrimaryCtxRelease", 11000);
  look_up(calls.context_set_current, "cuCtxSetCurrent", 4000);
  look_up(calls.event_create, "cuEventCreate", 2000);
  look_up(calls.event_destroy, "cuEventDestroy", 4000);
  look_up(calls.event_record, "cuEventRecord", 2000);
  look_up(calls.event_query, "cuEventQuery", 2000);
  look_up(calls.event_synchronize, "cuEventSynchronize", 2000);
  look_up(calls.stream_wait_event, "cuStreamWaitEvent", 3020);
  look_up(calls.stream_synchronize, "cuStreamSynchronize", 2000);
  look_up(calls.copy, "cuMemcpyAsync", 4000);
  look_up(calls.fill, "cuMemsetD8Async", 3020);
  return calls;
}

}  // namespace tidemark
