#include "memory/bench/step_generator.h"

#include <algorithm>
#include <random>

namespace tidemark::memory {
namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // Not std::uniform_int_distribution: its results differ between standard libraries.
  int64_t between(int64_t low, int64_t high) { return low + static_cast<int64_t>(engine_() % (high - low + 1)); }

 private:
  std::mt19937_64 engine_;
};

class StepGenerator {
 public:
  explicit StepGenerator(const StepOptions& options) : options_(options), random_(options.seed) {}

  Trace make() {
    trace_.name = "generated_step_" + std::to_string(options_.buffers);
    const int64_t per_block = 3 * options_.ops_per_block + 3;
    const auto network = static_cast<int64_t>((1 - options_.separable_share) * static_cast<double>(options_.buffers));
    blocks_ = std::max<int64_t>(2, network / per_block / 2 * 2);
    output_begin_.resize(blocks_);
    for (int64_t block = 0; block < blocks_; ++block) width_.push_back(random_.between(40, 88));
    for (int64_t block = 0; block < blocks_; ++block) forward(block);
    for (int64_t block = blocks_ - 1; block >= 0; --block) backward(block);
    while (static_cast<int64_t>(trace_.buffers.size()) < options_.buffers) update_part();
    return std::move(trace_);
  }

 private:
  void add(int64_t begin, int64_t end, int64_t bytes, Category category) {
    Buffer buffer;
    buffer.id = static_cast<int64_t>(trace_.buffers.size());
    buffer.bytes = std::max<int64_t>(64, bytes / 64 * 64);
    buffer.intervals = {{begin, end}};
    buffer.category = category;
    trace_.buffers.push_back(buffer);
  }

  // Encoder and decoder are mirror images: block b and its partner share a level. Widths differ from block to block, as
  // searched or pruned networks have them: multiples of one size would fit together by themselves.
  int64_t partner(int64_t block) const { return blocks_ - 1 - block; }
  int64_t activation_bytes(int64_t block) const {
    const int64_t depth = std::min(block, partner(block));
    return (options_.activation_bytes >> (depth * options_.levels / (blocks_ / 2))) / 64 * width_[block];
  }
  // Outputs and scratch of up to four activations, some masks and statistics.
  int64_t op_bytes(int64_t block) {
    const int64_t kind = random_.between(0, 9);
    if (kind == 0) return random_.between(64, 8192);
    if (kind <= 2) return activation_bytes(block) / 32;
    return activation_bytes(block) / 32 * random_.between(8, kind == 9 ? 128 : 48);
  }

  void forward(int64_t block) {
    for (int op = 0; op < options_.ops_per_block; ++op, ++step_) {
      add(step_, step_ + random_.between(2, 4), op_bytes(block), Category::activations);
    }
    output_begin_[block] = step_++;
  }

  // The block again, each result kept until its own gradient is taken, last first; the block's input until the end.
  void backward(int64_t block) {
    const int64_t recompute = step_, turn = step_ + options_.ops_per_block, done = turn + options_.ops_per_block;
    for (int op = 0; op < options_.ops_per_block; ++op) {
      const int64_t gradient_step = done - op;
      add(recompute + op, gradient_step, op_bytes(block), Category::activations);
      add(gradient_step - 1, gradient_step + random_.between(1, 2), op_bytes(block), Category::gradients);
    }
    add(turn, done + 1, random_.between(1, 16) * 65536, Category::gradients);
    step_ = done;
    // The output that this block had read lives from the forward pass to here, as a skip of an encoder block does.
    add(output_begin_[block], done + 1, activation_bytes(block), Category::activations);
    if (block >= blocks_ / 2) add(output_begin_[partner(block)], done, activation_bytes(block), Category::activations);
  }

  void update_part() {
    step_ += 2;
    const int64_t begin = step_;
    for (int i = 0; i < 6; ++i, ++step_) add(step_, begin + 7, random_.between(1, 16) * 65536, Category::workspace);
    step_ = begin + 7;
  }

  const StepOptions& options_;
  Random random_;
  Trace trace_;
  int64_t blocks_ = 0, step_ = 0;
  std::vector<int64_t> output_begin_;
  std::vector<int64_t> width_;  // of each block, in 64ths of its level's activation
};

struct Rectangle {
  int64_t begin, end, low, high;
  int64_t width() const { return end - begin; }
  int64_t height() const { return high - low; }
  double area() const { return static_cast<double>(width()) * static_cast<double>(height()); }
};

class Cutter {
 public:
  explicit Cutter(uint64_t seed) : random_(seed) {}

  std::vector<Rectangle> cut(Rectangle whole, int pieces) {
    std::vector<Rectangle> parts = {whole};
    for (int attempts = 0; static_cast<int>(parts.size()) < pieces && attempts < 100 * pieces; ++attempts) {
      // Mostly the largest, so that the sizes do not spread too far.
      auto chosen = std::max_element(parts.begin(), parts.end(),
                                     [](const Rectangle& a, const Rectangle& b) { return a.area() < b.area(); });
      if (random_.between(0, 2) == 0)
        chosen = parts.begin() + random_.between(0, static_cast<int64_t>(parts.size()) - 1);
      const Rectangle r = *chosen;
      std::vector<Rectangle> cut = random_.between(0, 2) == 0 ? spiral(r) : halves(r);
      if (cut.empty()) continue;
      parts.erase(chosen);
      parts.insert(parts.end(), cut.begin(), cut.end());
    }
    return parts;
  }

 private:
  std::vector<Rectangle> halves(const Rectangle& r) {
    if (random_.between(0, 1) == 0) {
      if (r.width() < 2) return {};
      const int64_t x = random_.between(r.begin + 1, r.end - 1);
      return {{r.begin, x, r.low, r.high}, {x, r.end, r.low, r.high}};
    }
    if (r.height() < 2) return {};
    const int64_t y = random_.between(r.low + 1, r.high - 1);
    return {{r.begin, r.end, r.low, y}, {r.begin, r.end, y, r.high}};
  }

  // Four rectangles around a fifth: no straight cut goes through.
  std::vector<Rectangle> spiral(const Rectangle& r) {
    if (r.width() < 3 || r.height() < 3) return {};
    const int64_t x1 = random_.between(r.begin + 1, r.end - 2), x2 = random_.between(x1 + 1, r.end - 1);
    const int64_t y1 = random_.between(r.low + 1, r.high - 2), y2 = random_.between(y1 + 1, r.high - 1);
    return {{r.begin, x2, r.low, y1},
            {x2, r.end, r.low, y2},
            {x1, r.end, y2, r.high},
            {r.begin, x1, y1, r.high},
            {x1, x2, y1, y2}};
  }

  Random random_;
};

}  // namespace

Trace generate_step(const StepOptions& options) { return StepGenerator(options).make(); }

Trace generate_perfect_packing(const PackingOptions& options) {
  Trace trace;
  trace.name = "generated_packing_" + std::to_string(options.seed);
  Cutter cutter(options.seed);
  for (const Rectangle& r : cutter.cut({0, options.steps, 0, options.peak_bytes}, options.buffers)) {
    Buffer buffer;
    buffer.id = static_cast<int64_t>(trace.buffers.size());
    buffer.bytes = r.height();
    buffer.intervals = {{r.begin, r.end}};
    trace.buffers.push_back(buffer);
  }
  // The order of cutting would give the places away.
  std::sort(trace.buffers.begin(), trace.buffers.end(), [](const Buffer& a, const Buffer& b) {
    if (a.intervals[0].begin != b.intervals[0].begin) return a.intervals[0].begin < b.intervals[0].begin;
    if (a.intervals[0].end != b.intervals[0].end) return a.intervals[0].end < b.intervals[0].end;
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.id < b.id;
  });
  for (size_t i = 0; i < trace.buffers.size(); ++i) trace.buffers[i].id = static_cast<int64_t>(i);
  return trace;
}

}  // namespace tidemark::memory
