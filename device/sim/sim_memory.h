// Memory of a simulated device: pages of this machine that count against a named device of fixed size, which all
// processes of a user share (Note [Ledger] in sim_ledger.h).
//
// What is not there is found out as on a real device: new pages hold poison instead of zeros (bytes of 0xff: a NaN for
// every float type), and accessible() tells streams which addresses have lost their pages. In a forked child the
// memory is gone: its addresses fault, and every call that asks for memory throws Error(device).
#pragma once

#include <cstdint>
#include <string>

#include "device/after_fork.h"
#include "device/device_memory.h"
#include "device/host_pages.h"
#include "device/host_room.h"
#include "device/sim/sim_access.h"
#include "device/sim/sim_ledger.h"

namespace tidemark {

struct SimOptions {
  bool poison = true;
  std::string ledger_directory = SimLedger::kDirectory;
  PageFileKind file_kind = PageFileKind::automatic;
};

class SimMemory final : public DeviceMemory {
 public:
  static constexpr uint8_t kPoison = 0xff;

  // The device "sim:NAME"; total_bytes of 0 is the size that it has. Throws as SimLedger does.
  SimMemory(const std::string& name, int64_t total_bytes, const SimOptions& options = {});

  int64_t capacity_bytes() const override { return ledger_.total_bytes(); }
  int64_t free_bytes() const override { return ledger_.books().free_bytes(); }
  // Free bytes, or what this machine can still give if that is less.
  int64_t committable_bytes() const override;
  int64_t granularity_bytes() const override { return HostPages::kGranularityBytes; }
  // As the ledger says; total = own + foreign + free in one look (use()). Other clients in this process are foreign.
  int64_t own_bytes() const { return ledger_.books().own_bytes; }
  int64_t foreign_bytes() const override { return ledger_.books().foreign_bytes; }
  DeviceUse use() const override;

  const SimAccess& access() const { return access_; }
  const SimLedger& ledger() const { return ledger_; }
  // For memory that is not destroyed before its process ends: see SimLedger::leave().
  void leave() { ledger_.leave(); }

 private:
  std::byte* reserve_addresses(int64_t bytes) override;
  void release_addresses(std::byte* data, int64_t bytes) override;
  void commit_pages(std::byte* data, int64_t bytes) override;
  void decommit_pages(std::byte* data, int64_t bytes) override;
  int64_t measure_pages(const std::byte* data, int64_t bytes) const override { return pages_.measure(data, bytes); }
  void create_physical(std::span<PageId> pages) override;
  void destroy_physical(std::span<const PageId> pages) override;
  void map_physical(std::byte* data, std::span<const PageId> pages) override;
  void unmap_physical(std::byte* data, int64_t bytes) override;
  int64_t measure_physical() const override { return pages_.measure_file(); }

  void take(int64_t bytes);
  int64_t bytes_of(std::span<const PageId> pages) const;

  const bool poison_;
  SimLedger ledger_;
  HostRoom room_;
  HostPages pages_;
  SimAccess access_{HostPages::kGranularityBytes};
  AfterFork after_fork_;  // last: what it drops is there
};

}  // namespace tidemark
