// The configuration of a run: one struct per section, keys declared in config.cc.
//
// To add a key: a member with its default, and one line in its section's fields(). A rule between keys goes into
// clashes.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/data/dataset.h"
#include "framework/fields/fields.h"
#include "framework/models/model.h"

namespace tidemark::config {

struct TrainSection : Section {
  explicit TrainSection(std::vector<std::string> optimizers = {}) : optimizers_(std::move(optimizers)) {}

  int64_t global_batch = 64;  // samples of one step
  int64_t steps = 0;          // 0: `epochs` counts
  int64_t epochs = 1;
  std::string optimizer = "adamw";
  double lr = 1e-3;
  std::string schedule = "constant";
  int64_t warmup_steps = 0;
  double min_lr = 0;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double clip_norm = 0;  // 0: off
  std::string precision = "f32";
  int64_t seed = 1;
  int64_t threads = 0;       // 0: all cores
  int64_t eval_every = 0;    // steps; 0: at the end of every epoch
  int64_t eval_samples = 0;  // 0: all
  int64_t log_every = 10;    // steps
  int64_t early_stop = 0;    // evaluations without a lower loss; 0: off

  void fields(Fields& f) override;

 private:
  std::vector<std::string> optimizers_;
};

struct MemorySection : Section {
  explicit MemorySection(std::vector<std::string> planners = {}, std::vector<std::string> recompute_planners = {});

  std::string budget;       // ByteLimit as text; empty: what the device has
  int64_t micro_batch = 0;  // samples; 0: see Note [Choice of the micro-batch] in framework/train/planned_run.h
  int64_t norm_batch = 0;   // samples of a batch-norm group; load_config fills it in; 0 without batch norm
  int64_t sum_batch = 0;    // samples summed at once; load_config puts norm_batch where there is one
  std::string recompute = "auto";
  std::string cost_file;  // empty: see train::cost_file_path
  std::string planner;    // by default the first of the list
  bool growth = false;
  std::string headroom = "5%";    // ByteLimit as text
  std::string watermark = "90%";  // ByteLimit as text, of the budget; empty: none
  double idle_release = 0;        // seconds; 0: never
  bool debug = false;

  void fields(Fields& f) override;

 private:
  std::vector<std::string> planners_;
  std::vector<std::string> recompute_planners_;
};

struct MetricsSection : Section {
  std::string listen;  // "HOST:PORT"; empty: off

  void fields(Fields& f) override;
};

struct CheckpointSection : Section {
  std::string dir;  // empty: off
  int64_t every = 200;
  int64_t keep = 3;

  void fields(Fields& f) override;
};

// Keys that stand outside any section.
struct TopSection : Section {
  std::string device = "auto";

  void fields(Fields& f) override;
};

// What a configuration may choose from.
struct Lists {
  std::vector<std::unique_ptr<models::Model>> models;
  std::vector<std::unique_ptr<data::DataKind>> data_kinds;
  std::vector<std::string> planners;  // of offsets, the recommended one first
  std::vector<std::string> recompute_planners;
  std::vector<std::string> optimizers;
};

struct Config {
  std::unique_ptr<models::Model> model;
  std::unique_ptr<data::DataKind> data;
  TrainSection train;
  MemorySection memory;
  MetricsSection metrics;
  CheckpointSection checkpoint;
  TopSection top;
};

// The sections that do not hang on a kind, by name, in the order in which they are printed.
std::vector<std::pair<std::string, Section*>> fixed_sections(Config& config);

}  // namespace tidemark::config
