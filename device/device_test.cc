#include "device/device.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/sim/sim_test_name.h"

namespace tidemark {
namespace {

using Kind = DeviceSetting::Kind;

template <class Body>
std::string refusal(ErrorCode code, Body body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code);
    return e.what();
  }
  return "accepted";
}

DeviceChoice choose(std::string_view setting, DeviceCensus census) {
  return choose_device(parse_device_setting(setting), census);
}

TEST(DeviceSetting, TakesItsForms) {
  EXPECT_EQ(parse_device_setting("auto"), DeviceSetting{});
  EXPECT_EQ(parse_device_setting("cpu"), DeviceSetting{.kind = Kind::cpu});
  EXPECT_EQ(parse_device_setting("cuda:12"), (DeviceSetting{.kind = Kind::cuda, .cuda_index = 12}));
  EXPECT_EQ(parse_device_setting("sim:lab?size=2GiB"),
            (DeviceSetting{.kind = Kind::sim, .sim_name = "lab", .sim_bytes = int64_t{2} << 30}));
  EXPECT_EQ(parse_device_setting("sim:lab"), (DeviceSetting{.kind = Kind::sim, .sim_name = "lab"}));
}

TEST(DeviceSetting, RefusesTheRest) {
  for (const char* text : {"", "CPU", "gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "sim:", "sim:a?size",
                           "sim:?size=1GiB", "sim:a?size=0", "sim:a?size=2GB", "sim:a?bytes=2GiB"}) {
    EXPECT_NE(refusal(ErrorCode::config, [&] { parse_device_setting(text); }), "accepted") << text;
  }
  EXPECT_EQ(refusal(ErrorCode::config, [] { parse_device_setting("gpu"); }),
            "device 'gpu' is unknown; write auto, cpu, cuda:N or sim:NAME?size=2GiB");
}

TEST(ChooseDevice, AutoTakesCudaWhereItIs) {
  const DeviceChoice choice = choose("auto", {.cuda = {.count = 2}});
  EXPECT_EQ(choice.kind, DeviceKind::cuda);
  EXPECT_EQ(choice.name, "cuda:0");
  EXPECT_EQ(choice.reason, "first of 2 CUDA devices");
}

TEST(ChooseDevice, AutoSaysWhyItTakesTheCpu) {
  const DeviceChoice none = choose("auto", {.cuda = {.why_none = "built without CUDA"}});
  EXPECT_EQ(none.kind, DeviceKind::cpu);
  EXPECT_EQ(none.reason, "no CUDA device: built without CUDA");
  const DeviceChoice unused = choose("auto", {.cuda = {.count = 1}, .cuda_refusal = "some ops have no kernels for it"});
  EXPECT_EQ(unused.name, "cpu");
  EXPECT_EQ(unused.reason, "CUDA device unused: some ops have no kernels for it");
}

TEST(ChooseDevice, DeviceThatIsNotThereIsAnError) {
  EXPECT_EQ(choose("cuda:1", {.cuda = {.count = 2}}).cuda_index, 1);
  EXPECT_EQ(refusal(ErrorCode::device, [] { choose("cuda:2", {.cuda = {.count = 2}}); }),
            "device 'cuda:2' is not there: the CUDA devices are 0 to 1; set device: auto");
  EXPECT_EQ(refusal(ErrorCode::device, [] { choose("cuda:0", {.cuda = {.why_none = "built without CUDA"}}); }),
            "device 'cuda:0' is not there: built without CUDA; set device: auto");
}

TEST(ChooseDevice, DeviceThatCannotBeUsedIsAConfigError) {
  EXPECT_EQ(refusal(ErrorCode::config, [] { choose("cuda:0", {.cuda = {.count = 1}, .cuda_refusal = "no kernels"}); }),
            "device 'cuda:0' cannot be used: no kernels; set device: cpu");
}

TEST(ChooseDevice, SimulatedDeviceHasItsNameAndSize) {
  const std::string name = "sim:" + sim_test_name("device");
  const DeviceChoice choice = choose(name + "?size=64MiB", {});
  EXPECT_EQ(choice.kind, DeviceKind::sim);
  EXPECT_EQ(choice.name, name);
  EXPECT_EQ(choice.reason, "device: " + name + " is set");
  const std::unique_ptr<DeviceMemory> memory = make_device_memory(choice);
  EXPECT_EQ(memory->name(), name);
  EXPECT_EQ(memory->capacity_bytes(), int64_t{64} << 20);
  EXPECT_EQ(make_device_memory(choose(name, {}))->capacity_bytes(), int64_t{64} << 20) << "the size that it has";
  EXPECT_NE(refusal(ErrorCode::config, [&] { make_device_memory(choose(name + "?size=32MiB", {})); }), "accepted");
}

// On any machine: whatever is found is described, and the CPU's memory works.
TEST(ChooseDevice, ThisMachine) {
  const DeviceChoice choice = choose_device("auto");
  EXPECT_FALSE(choice.reason.empty());
  if (choice.kind == DeviceKind::cpu) {
    EXPECT_TRUE(choice.reason.starts_with("no CUDA device: ")) << choice.reason;
    EXPECT_GT(choice.reason.size(), std::string("no CUDA device: ").size());
  }
  const std::unique_ptr<DeviceMemory> memory = make_device_memory(choose_device("cpu"));
  EXPECT_EQ(memory->name(), "cpu");
  EXPECT_EQ(memory->kind(), DeviceKind::cpu);
}

}  // namespace
}  // namespace tidemark
