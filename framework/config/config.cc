#include "framework/config/config.h"

namespace tidemark::config {

void TrainSection::fields(Fields& f) {
  f.integer("global_batch", global_batch, "Samples of one optimizer step.", {.min = 1, .max = 1 << 24});
  f.integer("steps", steps, "Optimizer steps of the run; 0: as many as `epochs` takes.",
            {.min = 0, .max = 1'000'000'000});
  f.integer("epochs", epochs, "Passes over the training data, where steps is 0.", {.min = 1, .max = 1'000'000});
  f.choice("optimizer", optimizer, "Update rule.", optimizers_);
  f.real("lr", lr, "Learning rate, after the warm-up.", {.min = 0, .min_open = true});
  f.choice("schedule", schedule, "How the learning rate falls after the warm-up.", {"constant", "cosine", "linear"});
  f.integer("warmup_steps", warmup_steps, "Steps in which the learning rate rises from 0 to lr.", {.min = 0});
  f.real("min_lr", min_lr, "Learning rate at the end of a falling schedule.", {.min = 0});
  f.real("momentum", momentum, "Momentum of sgd; 0: none.", {.min = 0, .max = 1, .max_open = true});
  f.boolean("nesterov", nesterov, "Nesterov's form of sgd's momentum.");
  f.real("weight_decay", weight_decay,
         "Weight decay of matrices and filters, not of biases and scales: L2 for sgd, decoupled for adamw.",
         {.min = 0});
  f.real("beta1", beta1, "Decay of adamw's first moment.", {.min = 0, .max = 1, .max_open = true});
  f.real("beta2", beta2, "Decay of adamw's second moment.", {.min = 0, .max = 1, .max_open = true});
  f.real("eps", eps, "Added to the root of adamw's second moment.", {.min = 0, .min_open = true});
  f.real("clip_norm", clip_norm, "Largest norm of all gradients together; 0: no clipping.", {.min = 0});
  f.choice("precision", precision, "Number format of weights and activations.", {"f32"});
  f.integer("seed", seed, "Of initial weights, sample order and dropout.", {.min = 0});
  f.integer("threads", threads, "CPU threads; 0: one per core. Another number changes the order of float sums.",
            {.min = 0, .max = 1024});
  f.integer("eval_every", eval_every, "Steps between evaluations; 0: at the end of every epoch.", {.min = 0});
  f.integer("eval_samples", eval_samples,
            "Samples of an evaluation, in whole micro-batches or, with memory.sum_batch, global batches; 0: all.",
            {.min = 0});
  f.integer("log_every", log_every, "Steps between progress lines.", {.min = 1});
  f.integer("early_stop", early_stop, "Ends the run after so many evaluations without a lower loss; 0: never.",
            {.min = 0});
}

MemorySection::MemorySection(std::vector<std::string> planners, std::vector<std::string> recompute_planners)
    : planners_(std::move(planners)), recompute_planners_(std::move(recompute_planners)) {
  if (!planners_.empty()) planner = planners_.front();
}

void MemorySection::fields(Fields& f) {
  f.byte_limit("budget", budget, "Most device memory that the run may take; empty: what the device has.");
  f.integer(
      "micro_batch", micro_batch,
      "Samples computed at once; 0: the whole global batch or, where that does not fit the budget without "
      "recomputation and sums are made in groups (sum_batch), a half, a quarter .. of it in whole groups, whichever "
      "has the shortest predicted step.",
      {.min = 0});
  f.integer("norm_batch", norm_batch,
            "Samples of one batch-norm group, part of the experiment; 0: 32 or the global batch, the smaller.",
            {.min = 0});
  f.integer(
      "sum_batch", sum_batch,
      "Samples whose gradients are summed at once, part of the experiment: micro-batches that are multiples of it give "
      "the same bits on the same kernels, which plan sees to. Few cost time, and parameters that are read twice have "
      "two "
      "gradients. 0: norm_batch; without batch norm the micro-batch.",
      {.min = 0});
  std::vector<std::string> recompute_choices{"auto"};
  recompute_choices.insert(recompute_choices.end(), recompute_planners_.begin(), recompute_planners_.end());
  f.choice("recompute", recompute,
           "Planner that computes activations again where the budget has no room to keep them; auto is search.",
           recompute_choices);
  f.text("cost_file", cost_file,
         "Measured costs of instructions, which recomputation weighs; empty: costs.json in the user's cache folder.");
  f.choice("planner", planner, "Offset planner of the arena.", planners_);
  f.boolean("growth", growth, "Takes pages when a body first needs them instead of all at the start.");
  f.byte_limit("headroom", headroom, "What to leave of the device's memory where no budget is given.");
  f.byte_limit("watermark", watermark,
               "Warns once when more than this share of the budget is taken, unless the plan takes it; empty: never.");
  f.real(
      "idle_release", idle_release,
      "Seconds between steps without a request after which the allocator of packed data gives its cached pages back; "
      "0: never.",
      {.min = 0, .max = 1e6});
  f.boolean("debug", debug,
            "Fills dead ranges with NaN, puts guard bytes between buffers, names places that leak; slow.");
}

void MetricsSection::fields(Fields& f) {
  f.text("listen", listen, "HOST:PORT that serves Prometheus metrics; empty: none.");
}

void CheckpointSection::fields(Fields& f) {
  f.path("dir", dir, "Folder of the checkpoints; empty: none are written.");
  f.integer("every", every, "Steps between checkpoints.", {.min = 1});
  f.integer("keep", keep, "Checkpoints kept; the oldest go first.", {.min = 1});
}

void TopSection::fields(Fields& f) {
  f.text("device", device,
         "auto, cpu or sim:NAME?size=2GiB, a simulated device that processes share; cuda:N is known and refused: this "
         "build trains on the CPU.");
}

std::vector<std::pair<std::string, Section*>> fixed_sections(Config& config) {
  return {{"train", &config.train},
          {"memory", &config.memory},
          {"metrics", &config.metrics},
          {"checkpoint", &config.checkpoint},
          {"", &config.top}};
}

}  // namespace tidemark::config
