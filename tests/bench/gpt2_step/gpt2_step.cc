// Tidemark's side of the GPT-2 step comparison, driven over standard input and output by gpt2_vs_torch.py.
//
//   gpt2_step --batch B --context T --tokens FILE [--threads N] [--layers L --heads H --width W --vocabulary V]
//     FILE: i32 tokens [B,T], then i32 targets [B,T]
//   commands, one a line; each is answered by one line of JSON on standard output
//     weights FILE     writes all weights as safetensors
//     gradients FILE   forward and backward without an update; writes all gradients, answers the loss
//     step             one AdamW step; answers loss and seconds
//     profile          the same, with the seconds of every op
//     memory           answers planned and measured bytes of the step's program
//     memory-clipping  the same of the program that keeps all gradients, as clipping needs it
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "device/host_memory.h"
#include "framework/checkpoint/safetensors.h"
#include "framework/compile/compile.h"
#include "framework/models/gpt.h"
#include "framework/optim/optimizer.h"
#include "framework/runtime/profiler.h"
#include "framework/train/trainer.h"
#include "memory/arena/arena.h"
#include "ops/all_ops.h"

namespace tidemark {
namespace {

using nlohmann::json;

struct Options {
  int64_t batch = 4, context = 64, layers = 12, heads = 12, width = 768, vocabulary = 50257, positions = 1024;
  int threads = 2;
  std::string tokens;
};

// Hands the sizes of the command line to the model, which declares its keys in the usual way.
class SizeFields : public config::Fields {
 public:
  explicit SizeFields(const Options& o)
      : sizes_{{"layers", o.layers},   {"heads", o.heads},         {"width", o.width},
               {"context", o.context}, {"positions", o.positions}, {"vocabulary", o.vocabulary}} {}
  void integer(std::string_view key, int64_t& target, std::string_view, config::IntegerRange) override {
    target = sizes_.at(std::string(key));
  }
  void real(std::string_view, double&, std::string_view, config::RealRange) override {}  // dropout stays 0
  void boolean(std::string_view, bool&, std::string_view) override {}
  void text(std::string_view, std::string&, std::string_view) override {}
  void path(std::string_view, std::string&, std::string_view, bool) override {}
  void choice(std::string_view, std::string&, std::string_view, std::vector<std::string>) override {}
  void byte_limit(std::string_view, std::string&, std::string_view) override {}
  void integers(std::string_view, std::vector<int64_t>&, std::string_view, config::IntegerRange) override {}

 private:
  std::map<std::string, int64_t> sizes_;
};

data::HostBatch read_batch(const Options& o) {
  const auto bytes = static_cast<size_t>(o.batch * o.context * 4);
  const std::string file = read_file(o.tokens);
  if (file.size() != 2 * bytes)
    throw Error(ErrorCode::data, "'" + o.tokens + "' does not hold two times [batch, context] i32");
  data::HostBatch batch;
  batch.samples = o.batch;
  batch.targets = o.batch * o.context;
  for (size_t field = 0; field < 2; ++field) {
    batch.fields.emplace_back(bytes);
    std::memcpy(batch.fields[field].data(), file.data() + field * bytes, bytes);
  }
  return batch;
}

// A program on its own arena. `keep_gradients`: the accumulating form, whose gradients are still there after the
// backward pass.
class Side {
 public:
  Side(const Options& o, bool keep_gradients)
      : batch_(read_batch(o)),
        data_{.fields = {{"tokens", {DType::i32, Shape{o.context}}}, {"targets", {DType::i32, Shape{o.context}}}},
              .classes = o.vocabulary,
              .kind = "text"},
        optimizer_(optim::make_optimizer("adamw", {.beta2 = 0.95})) {
    SizeFields sizes(o);
    model_.fields(sizes);
    plan_ = {.global_batch = o.batch,
             .micro_batch = o.batch,
             .train_samples = o.batch,
             .clip_norm = keep_gradients ? 1e30 : 0.0};
    train::TrainingGraphs graphs = train::build_training_graphs(model_, data_, *optimizer_, plan_, ops_.table());
    compile::CompileOptions options{.name = "gpt2", .threads = o.threads};
    program_ = compile::compile(std::move(graphs.bodies), ops_, options);
    arena_ = std::make_unique<memory::Arena>(device_, program_.arena_bytes);
    arena_->ensure(program_.arena_bytes);
    executor_ = std::make_unique<runtime::Executor>(program_, arena_->data());
    trainer_ = std::make_unique<train::Trainer>(*executor_, data_, *optimizer_, optim::Schedule{.lr = 1e-4}, plan_);
    trainer_->initialise(graphs.initializers);
  }

  json step() {
    const auto begin = std::chrono::steady_clock::now();
    const train::StepResult result = trainer_->step(batch_);
    return {{"loss", result.loss},
            {"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()}};
  }

  // On an executor of its own: the timed steps run without an observer.
  json profile() {
    runtime::Profiler profiler;
    runtime::Executor executor(program_, arena_->data(), &profiler);
    train::Trainer trainer(executor, data_, *optimizer_, optim::Schedule{.lr = 1e-4}, plan_);
    trainer.step(batch_);
    json ops = json::array();
    for (const runtime::OpTime& t : profiler.by_op())
      ops.push_back({{"op", t.op}, {"kernel", t.kernel}, {"calls", t.calls}, {"seconds", t.seconds}});
    return ops;
  }

  json memory() const {
    return {{"planned_peak_bytes", device_.round_up(program_.arena_bytes)},
            {"arena_bytes", program_.arena_bytes},
            {"lower_bound_bytes", program_.lower_bound_bytes},
            {"measured_bytes", device_.measured_bytes()}};
  }

  json save(const std::string& path, Category category, Scope scope) const {
    std::vector<checkpoint::TensorView> views;
    for (const auto& tensors : {program_.persistent, program_.step})
      for (const compile::Tensor& t : tensors)
        if (t.category == category && t.scope == scope)
          views.push_back({t.name, t.type, {executor_->address(t), static_cast<size_t>(t.bytes())}});
    std::ofstream file(path, std::ios::binary);
    checkpoint::write_safetensors(views, [&](std::span<const std::byte> piece) {
      file.write(reinterpret_cast<const char*>(piece.data()), static_cast<std::streamsize>(piece.size()));
    });
    file.close();
    if (!file) throw Error(ErrorCode::io, "cannot write '" + path + "'");
    return {{"tensors", views.size()}};
  }

 private:
  const ops::OpSet ops_ = ops::all_ops();
  models::Gpt model_;
  const data::HostBatch batch_;
  const data::DataInfo data_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  train::BatchPlan plan_;
  compile::Program program_;
  HostMemory device_;
  std::unique_ptr<memory::Arena> arena_;
  std::unique_ptr<runtime::Executor> executor_;
  std::unique_ptr<train::Trainer> trainer_;
};

json answer(const std::string& command, const std::string& path, const Options& options, std::unique_ptr<Side>& side) {
  if (command == "gradients") {
    side.reset();  // one arena at a time
    Side keeping(options, true);
    json result = keeping.step();
    result.update(keeping.save(path, Category::gradients, Scope::step));
    return result;
  }
  if (command == "memory-clipping") {
    side.reset();
    return Side(options, true).memory();
  }
  if (side == nullptr) side = std::make_unique<Side>(options, false);
  if (command == "weights") return side->save(path, Category::weights, Scope::run);
  if (command == "step") return side->step();
  if (command == "profile") return side->profile();
  if (command == "memory") return side->memory();
  throw Error(ErrorCode::config, "unknown command '" + command + "'");
}

int main_loop(const Options& options) {
  std::unique_ptr<Side> side;
  std::string command;
  while (std::cin >> command) {
    std::string path;
    if (command == "weights" || command == "gradients") std::cin >> path;
    std::cout << answer(command, path, options, side).dump() << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace tidemark

int main(int argc, char** argv) {
  tidemark::Options options;
  CLI::App app("Tidemark's side of the GPT-2 step comparison");
  app.add_option("--batch", options.batch);
  app.add_option("--context", options.context);
  app.add_option("--layers", options.layers);
  app.add_option("--heads", options.heads);
  app.add_option("--width", options.width);
  app.add_option("--vocabulary", options.vocabulary);
  app.add_option("--positions", options.positions);
  app.add_option("--threads", options.threads);
  app.add_option("--tokens", options.tokens)->required();
  CLI11_PARSE(app, argc, argv);
  try {
    return tidemark::main_loop(options);
  } catch (const std::exception& error) {
    std::cerr << "gpt2_step: " << error.what() << '\n';
    return 1;
  }
}
