#include "framework/config/testing/fake_lists.h"

namespace tidemark::config {
namespace {

class FakeModel : public models::Model {
 public:
  std::vector<std::string> problems(const data::DataInfo&) const override { return {}; }
  models::ModelOutputs build(models::ModelBuilder&, const models::ModelRequest&) const override { return {}; }
};

class TinyModel : public FakeModel {
 public:
  std::string_view kind() const override { return "tiny"; }
  void fields(Fields& f) override {
    f.integer("layers", layers_, "Number of layers.", {.min = 1, .max = 100});
    f.integer("width", width_, "Channels.", {.min = 1});
    f.real("dropout", dropout_, "Share of activations dropped.", {.min = 0, .max = 1, .max_open = true});
  }

 private:
  int64_t layers_ = 2;
  int64_t width_ = 8;
  double dropout_ = 0;
};

class NormModel : public FakeModel {
 public:
  std::string_view kind() const override { return "norm"; }
  bool has_batch_norm() const override { return true; }
  void fields(Fields& f) override {
    f.integers("stages", stages_, "Blocks of each stage.", {.min = 1});
    f.boolean("wide", wide_, "Twice the channels.");
  }

 private:
  std::vector<int64_t> stages_ = {2, 2};
  bool wide_ = false;
};

class FakeData : public data::DataKind {
 public:
  std::unique_ptr<data::Dataset> open(int64_t) const override { return nullptr; }
};

class NoiseData : public FakeData {
 public:
  std::string_view kind() const override { return "noise"; }
  void fields(Fields& f) override { f.integer("samples", samples_, "Number of samples.", {.min = 1}); }

 private:
  int64_t samples_ = 100;
};

class FileData : public FakeData {
 public:
  std::string_view kind() const override { return "file"; }
  void fields(Fields& f) override {
    f.path("path", path_, "The file.", true);
    f.real("share", share_, "Share of the file.", {.min = 0, .max = 1, .min_open = true});
    f.byte_limit("limit", limit_, "Bytes read.");
    f.text("note", note_, "Any text.");
  }

 private:
  std::string path_;
  double share_ = 0.1;
  std::string limit_;
  std::string note_;
};

}  // namespace

Lists fake_lists() {
  Lists lists;
  lists.models.push_back(std::make_unique<TinyModel>());
  lists.models.push_back(std::make_unique<NormModel>());
  lists.data_kinds.push_back(std::make_unique<NoiseData>());
  lists.data_kinds.push_back(std::make_unique<FileData>());
  lists.planners = {"best", "quick"};
  lists.recompute_planners = {"search", "none"};
  lists.optimizers = {"adamw", "sgd"};
  return lists;
}

}  // namespace tidemark::config
