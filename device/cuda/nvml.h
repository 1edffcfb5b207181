// Who else has memory of a CUDA device, as NVIDIA's management library tells it (NVML, part of the driver).
//
// Never linked and without its header, which a toolkit need not have: the library is opened at run time, and the few
// types of its interface are written down here. Where it is not there, or cannot see processes (in some containers),
// the answer is kUnknownBytes.
#pragma once

#include <cstdint>
#include <string>

namespace tidemark {

// nvmlProcessInfo_t of the interface's versions from v2 of the call on.
struct NvmlProcess {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

using NvmlDevice = void*;

// The calls that are made, as function pointers; a null pointer is a call that is not there. 0 is success.
struct NvmlTable {
  int (*init)() = nullptr;
  int (*device_by_pci_bus_id)(const char* bus_id, NvmlDevice* device) = nullptr;
  // On entry the room in `processes`, afterwards how many there are; 7 if there was too little room.
  int (*compute_processes)(NvmlDevice device, unsigned* count, NvmlProcess* processes) = nullptr;
  int (*graphics_processes)(NvmlDevice device, unsigned* count, NvmlProcess* processes) = nullptr;
};

// Of libnvidia-ml.so.1, opened on the first call and kept; empty where it is not.
const NvmlTable& nvml_table();

// Bytes that processes other than `own_pid` hold on the device with this PCI bus id ("0000:3b:00.0"). kUnknownBytes if
// a call is not there or fails, or if the library does not know what one of them holds. Never throws.
int64_t nvml_foreign_bytes(const NvmlTable& nvml, const std::string& pci_bus_id, int64_t own_pid);

}  // namespace tidemark
