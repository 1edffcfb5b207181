#include "device/cuda/nvml.h"

#include <dlfcn.h>

#include <map>
#include <vector>

#include "device/device_memory.h"

namespace tidemark {
namespace {

constexpr int kTooLittleRoom = 7;                    // NVML_ERROR_INSUFFICIENT_SIZE
constexpr unsigned long long kNotAvailable = ~0ULL;  // NVML_VALUE_NOT_AVAILABLE
constexpr int kTries = 4;                            // processes can come between two calls

template <class Function>
void look_up(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
}

NvmlTable load_table() {
  NvmlTable table;
  void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return table;
  look_up(library, table.init, "nvmlInit_v2");
  look_up(library, table.device_by_pci_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
  look_up(library, table.compute_processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  look_up(library, table.graphics_processes, "nvmlDeviceGetGraphicsRunningProcesses_v3");
  if (table.init && table.init() != 0) return {};
  return table;
}

using Call = int (*)(NvmlDevice, unsigned*, NvmlProcess*);

// False if the library cannot tell.
bool add_processes(Call call, NvmlDevice device, std::map<unsigned, unsigned long long>& bytes_by_pid) {
  std::vector<NvmlProcess> processes(64);
  for (int i = 0; i < kTries; ++i) {
    unsigned count = static_cast<unsigned>(processes.size());
    const int result = call(device, &count, processes.data());
    if (result == 0) {
      processes.resize(count);
      for (const NvmlProcess& process : processes) bytes_by_pid[process.pid] = process.used_bytes;
      return true;
    }
    if (result != kTooLittleRoom) return false;
    processes.resize(processes.size() * 2 + count);
  }
  return false;
}

}  // namespace

const NvmlTable& nvml_table() {
  static const NvmlTable table = load_table();
  return table;
}

int64_t nvml_foreign_bytes(const NvmlTable& nvml, const std::string& pci_bus_id, int64_t own_pid) {
  if (!nvml.device_by_pci_bus_id || !nvml.compute_processes || !nvml.graphics_processes) return kUnknownBytes;
  NvmlDevice device = nullptr;
  if (nvml.device_by_pci_bus_id(pci_bus_id.c_str(), &device) != 0) return kUnknownBytes;
  // A process can be in both lists with the same figure.
  std::map<unsigned, unsigned long long> bytes_by_pid;
  if (!add_processes(nvml.compute_processes, device, bytes_by_pid)) return kUnknownBytes;
  if (!add_processes(nvml.graphics_processes, device, bytes_by_pid)) return kUnknownBytes;
  int64_t sum = 0;
  for (const auto& [pid, bytes] : bytes_by_pid) {
    if (static_cast<int64_t>(pid) == own_pid) continue;
    if (bytes == kNotAvailable) return kUnknownBytes;
    sum += static_cast<int64_t>(bytes);
  }
  return sum;
}

}  // namespace tidemark
