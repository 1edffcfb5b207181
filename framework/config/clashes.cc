#include "framework/config/clashes.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "device/device.h"
#include "framework/config/field_list.h"

namespace tidemark::config {
namespace {

class ClashFinder {
 public:
  ClashFinder(Config& config, const GivenKeys& given, Problems& problems)
      : config_(config), given_(given), problems_(problems) {}

  void run() {
    optimizer();
    schedule();
    micro_batch();
    norm_batch();
    sum_batch();
    address();
    device();
    headroom();
  }

 private:
  // At the first of the keys that was given, else at the top of the file. Silent if one of them is wrong by itself: its
  // variable then holds the default, and the clash would be with a value that nobody gave.
  void report(std::initializer_list<const char*> keys, const std::string& text) {
    std::optional<Position> at;
    for (const char* key : keys) {
      const auto found = given_.find(key);
      if (found == given_.end()) continue;
      if (!found->second.valid) return;
      if (!at) at = found->second.at;
    }
    problems_.add(at.value_or(Position{}), text);
  }

  // True if `key` was given with a value that is not its default.
  bool changed(const std::string& key) {
    if (!given_.contains(key)) return false;
    const size_t dot = key.find('.');
    Config defaults;
    const auto now = fixed_sections(config_);
    const auto fresh = fixed_sections(defaults);
    for (size_t i = 0; i < now.size(); ++i) {
      if (now[i].first != key.substr(0, dot)) continue;
      const auto values = list_fields(*now[i].second);
      const auto default_values = list_fields(*fresh[i].second);
      for (size_t k = 0; k < values.size(); ++k) {
        if (values[k].key == key.substr(dot + 1)) return values[k].value != default_values[k].value;
      }
    }
    return false;
  }

  void no_effect(const char* key, const std::string& because) {
    if (changed(key)) report({key}, "key '" + std::string(key) + "' has no effect: " + because);
  }

  void optimizer() {
    if (config_.train.optimizer == "sgd") {
      for (const char* key : {"train.beta1", "train.beta2", "train.eps"})
        no_effect(key, "it is a key of adamw, train.optimizer is sgd");
      if (config_.train.nesterov && config_.train.momentum == 0) {
        report({"train.nesterov", "train.momentum"}, "key 'train.nesterov' needs train.momentum above 0");
      }
    } else {
      for (const char* key : {"train.momentum", "train.nesterov"})
        no_effect(key, "it is a key of sgd, train.optimizer is " + config_.train.optimizer);
    }
  }

  void schedule() {
    const TrainSection& train = config_.train;
    if (train.schedule == "constant") no_effect("train.min_lr", "train.schedule is constant");
    if (train.min_lr > train.lr) {
      report({"train.min_lr", "train.lr"}, "key 'train.min_lr' must be at most train.lr");
    }
  }

  void micro_batch() {
    const int64_t micro = config_.memory.micro_batch, global = config_.train.global_batch;
    if (micro <= global) return;
    report({"memory.micro_batch", "train.global_batch"}, "key 'memory.micro_batch' (" + std::to_string(micro) +
                                                             ") must be at most train.global_batch (" +
                                                             std::to_string(global) + ")");
  }

  void norm_batch() {
    const MemorySection& memory = config_.memory;
    if (config_.model == nullptr) return;  // reported as a missing or wrong kind
    if (!config_.model->has_batch_norm()) {
      return no_effect("memory.norm_batch",
                       "model kind '" + std::string(config_.model->kind()) + "' has no batch norm");
    }
    // The groups of a step must not hang on how it is cut; the last group of a batch may be smaller.
    if (memory.micro_batch >= config_.train.global_batch || memory.micro_batch % memory.norm_batch == 0) return;
    report({"memory.micro_batch", "memory.norm_batch"},
           "key 'memory.micro_batch' (" + std::to_string(memory.micro_batch) +
               ") must be a multiple of memory.norm_batch (" + std::to_string(memory.norm_batch) + ")");
  }

  void sum_batch() {
    const MemorySection& memory = config_.memory;
    if (config_.model == nullptr || memory.sum_batch == memory.norm_batch) return;
    if (config_.model->has_batch_norm())
      return report({"memory.sum_batch", "memory.norm_batch"},
                    "key 'memory.sum_batch' (" + std::to_string(memory.sum_batch) + ") must be memory.norm_batch (" +
                        std::to_string(memory.norm_batch) + ") where the model has batch norm");
    if (memory.micro_batch >= config_.train.global_batch || memory.micro_batch % memory.sum_batch == 0) return;
    report({"memory.micro_batch", "memory.sum_batch"},
           "key 'memory.micro_batch' (" + std::to_string(memory.micro_batch) +
               ") must be a multiple of memory.sum_batch (" + std::to_string(memory.sum_batch) + ")");
  }

  void address() {
    const std::string& listen = config_.metrics.listen;
    if (listen.empty()) return;
    const size_t colon = listen.rfind(':');
    const std::string port_text = colon == std::string::npos ? "" : listen.substr(colon + 1);
    int port = -1;
    const auto [end, error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
    const bool port_ok = error == std::errc() && *end == '\0' && port >= 0 && port <= 65535;
    if (colon == 0 || !port_ok) {
      report({"metrics.listen"}, "key 'metrics.listen' must be HOST:PORT such as 127.0.0.1:9464, is '" + listen + "'");
    }
  }

  void device() {
    try {
      parse_device_setting(config_.top.device);
    } catch (const Error& error) {
      report({"device"}, std::string("key 'device' is wrong: ") + error.what());
    }
  }

  void headroom() {
    const std::string& text = config_.memory.headroom;
    if (!text.empty() && parse_byte_limit(text).share >= 1) {
      report({"memory.headroom"}, "key 'memory.headroom' leaves nothing to use: '" + text + "' is all of the device");
    }
  }

  Config& config_;
  const GivenKeys& given_;
  Problems& problems_;
};

}  // namespace

void resolve_defaults(Config& config) {
  constexpr int64_t kNormBatch = 32;
  MemorySection& memory = config.memory;
  const bool has_batch_norm = config.model != nullptr && config.model->has_batch_norm();
  if (memory.norm_batch == 0 && has_batch_norm) memory.norm_batch = std::min(kNormBatch, config.train.global_batch);
  if (memory.sum_batch == 0) memory.sum_batch = memory.norm_batch;
}

void find_clashes(Config& config, const GivenKeys& given, Problems& problems) {
  ClashFinder(config, given, problems).run();
}

}  // namespace tidemark::config
