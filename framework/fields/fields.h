// How a section of the configuration declares its keys: one line a key. Parser, --help, --set, reference.yaml, "show"
// and the nearest-key hint all follow from that line.
//
//   void TrainSection::fields(Fields& f) {
//     f.integer("global_batch", global_batch, "Samples of one optimizer step.", {.min = 1});
//     f.choice("optimizer", optimizer, "Update rule.", {"sgd", "adamw"});
//   }
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::config {

struct IntegerRange {
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
};

struct RealRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_open = false;  // min itself is refused
  bool max_open = false;
};

// Visitor over the keys of a section; the bound variables hold the defaults when visited and are written by the parser.
class Fields {
 public:
  virtual ~Fields() = default;

  virtual void integer(std::string_view key, int64_t& target, std::string_view help, IntegerRange range = {}) = 0;
  virtual void real(std::string_view key, double& target, std::string_view help, RealRange range = {}) = 0;
  virtual void boolean(std::string_view key, bool& target, std::string_view help) = 0;
  virtual void text(std::string_view key, std::string& target, std::string_view help) = 0;
  // A file or folder; relative ones are taken from the configuration file's folder if they exist there, else from the
  // working directory. must_exist: a missing one is a configuration error at its line, and a key with an empty default
  // must be given.
  virtual void path(std::string_view key, std::string& target, std::string_view help, bool must_exist = false) = 0;
  virtual void choice(std::string_view key, std::string& target, std::string_view help,
                      std::vector<std::string> allowed) = 0;
  // Bytes ("4GiB", 1048576) or a share of the device ("90%"); empty text stands for "not given". Kept as text, checked
  // at parse.
  virtual void byte_limit(std::string_view key, std::string& target, std::string_view help) = 0;
  virtual void integers(std::string_view key, std::vector<int64_t>& target, std::string_view help,
                        IntegerRange range = {}) = 0;
};

// Anything with keys of its own: a fixed section, a model kind, a data kind.
class Section {
 public:
  virtual ~Section() = default;
  virtual void fields(Fields& fields) = 0;
};

}  // namespace tidemark::config
