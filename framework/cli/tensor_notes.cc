#include "framework/cli/tensor_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string_view>

#include "base/error.h"
#include "framework/compile/further_runs.h"
#include "framework/config/nearest.h"

namespace tidemark::cli {
namespace {

constexpr size_t kNearNames = 3;
constexpr size_t kLongestName = 100;  // longer ones are not compared: that grows with the square

// A * stands for any characters, also none. What lies between stars may as well be where it first appears.
bool fits(std::string_view pattern, std::string_view name) {
  size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  for (pattern.remove_prefix(star + 1); (star = pattern.find('*')) != std::string_view::npos;
       pattern.remove_prefix(star + 1)) {
    const size_t at = name.find(pattern.substr(0, star));
    if (at == std::string_view::npos) return false;
    name.remove_prefix(at + star);
  }
  return name.ends_with(pattern);
}

class Notes {
 public:
  Notes(const compile::Program& program, const compile::Body& body) : body_(body) {
    for (const compile::Instruction& i : body.instructions)
      for (ValueId v : i.output_values) further_runs_.emplace(compile::first_run_of(body.graph.value(v).name), &i);
    for (const Value& value : body.graph.values())
      if (!value.removed && body.offset_of_value[value.id.index()] >= 0) notes_.push_back(note_of(value));
    add_segment(program.persistent);
    if (body.shares_step_segment) add_segment(program.step);
    for (size_t i = 0; i < body.instructions.size(); ++i)
      if (body.instructions[i].workspace >= 0) notes_.push_back(note_of_workspace(i));
    std::ranges::stable_sort(notes_, {}, &TensorNote::first);
  }

  std::vector<TensorNote> find(const std::vector<std::string>& patterns) const {
    std::vector<TensorNote> found;
    std::set<std::string> names;
    for (const std::string& pattern : patterns)
      for (const TensorNote& note : meant_by(pattern))
        if (names.insert(note.name).second) found.push_back(note);
    return found;
  }

 private:
  size_t last_instruction() const { return std::max<size_t>(body_.instructions.size(), 1) - 1; }

  // What is there, though the body does nothing with it.
  void add_segment(const std::vector<compile::Tensor>& tensors) {
    for (const compile::Tensor& t : tensors)
      if (std::ranges::find(notes_, t.name, &TensorNote::name) == notes_.end())
        notes_.push_back({.name = t.name,
                          .bytes = t.bytes(),
                          .category = t.category,
                          .offset = t.offset,
                          .last = last_instruction(),
                          .is_kept_beyond_body = true});
  }

  TensorNote note_of(const Value& value) const {
    TensorNote note{.name = value.name,
                    .bytes = value.type.bytes(),
                    .category = value.category,
                    .offset = body_.offset_of_value[value.id.index()],
                    .made_again = compile::first_run_of(value.name)};
    const int buffer = body_.buffer_of_value[value.id.index()];
    note.is_kept_beyond_body = buffer < 0;
    if (buffer < 0) {
      note.last = last_instruction();
    } else {
      const auto& intervals = body_.trace.buffers[static_cast<size_t>(buffer)].intervals;
      note.first = static_cast<size_t>(intervals.front().begin);
      note.last = static_cast<size_t>(intervals.back().end - 1);
    }
    if (value.overwrites.valid()) {
      note.in_place_of = body_.graph.value(value.overwrites).name;
    } else if (buffer >= 0) {
      note.in_place_of = predecessor(static_cast<size_t>(buffer));
    }
    count_further_runs(note);
    return note;
  }

  TensorNote note_of_workspace(size_t i) const {
    const compile::Instruction& instruction = body_.instructions[i];
    return {.name = instruction.node + "/workspace",
            .bytes = instruction.workspace_bytes,
            .category = Category::workspace,
            .offset = instruction.workspace,
            .first = i,
            .last = i};
  }

  // The one of its alias group that ends where this begins, at the same offset.
  std::string predecessor(size_t to) const {
    const memory::Buffer& buffer = body_.trace.buffers[to];
    if (!buffer.alias_group) return "";
    for (size_t from = 0; from < body_.trace.buffers.size(); ++from) {
      const memory::Buffer& other = body_.trace.buffers[from];
      if (from != to && other.alias_group == buffer.alias_group && body_.plan.offsets[from] == body_.plan.offsets[to] &&
          other.intervals.back().end - 1 == buffer.intervals.front().begin &&
          other.intervals.front().begin < buffer.intervals.front().begin)
        return body_.buffer_names[from];
    }
    return "";
  }

  void count_further_runs(TensorNote& note) const {
    const auto [begin, end] = further_runs_.equal_range(note.name);
    int64_t nanoseconds = 0;
    bool known = begin != end;
    for (auto run = begin; run != end; ++run) {
      const std::optional<int64_t> cost = run->second->cost_nanoseconds;
      known = known && cost;
      nanoseconds += cost.value_or(0);
      ++note.runs_again;
    }
    if (known) note.runs_again_nanoseconds = nanoseconds;
  }

  std::vector<TensorNote> those(const auto& is_meant) const {
    std::vector<TensorNote> found;
    std::ranges::copy_if(notes_, std::back_inserter(found), is_meant);
    return found;
  }

  std::vector<TensorNote> meant_by(const std::string& pattern) const {
    std::vector<TensorNote> found;
    if (pattern.find('*') != std::string::npos) {
      found = those([&](const TensorNote& note) { return fits(pattern, note.name); });
    } else {
      found = those([&](const TensorNote& note) { return note.name == pattern || note.made_again == pattern; });
      if (found.empty()) found = those([&](const TensorNote& note) { return note.name.starts_with(pattern); });
    }
    if (!found.empty()) return found;
    throw Error(ErrorCode::config, fmt::format("--tensor '{}': '{}' has no tensor of that name or beginning{}", pattern,
                                               body_.name, near_names(pattern)));
  }

  std::string near_names(const std::string& pattern) const {
    if (pattern.size() > kLongestName) return "";
    std::vector<std::pair<int, std::string>> ranked;
    for (const TensorNote& note : notes_) {
      const std::string name = note.name.substr(0, kLongestName);
      ranked.emplace_back(std::min(config::edit_distance(pattern, name),
                                   1 + config::edit_distance(pattern, name.substr(0, pattern.size()))),
                          note.name);
    }
    std::ranges::stable_sort(ranked, {}, &std::pair<int, std::string>::first);
    ranked.resize(std::min(ranked.size(), kNearNames));
    std::string names;
    for (const auto& [distance, name] : ranked) names += (names.empty() ? "; nearest: '" : ", '") + name + "'";
    return names;
  }

  const compile::Body& body_;
  std::multimap<std::string, const compile::Instruction*> further_runs_;  // by what they make again; "": first runs
  std::vector<TensorNote> notes_;
};

std::string node_at(const compile::Body& body, size_t instruction) {
  return instruction < body.instructions.size() ? body.instructions[instruction].node : "";
}

std::string fate(const TensorNote& note) {
  std::string text = note.is_kept_beyond_body ? "kept beyond this body" : "kept";
  if (note.category == Category::workspace) text = "for one instruction";
  if (!note.made_again.empty()) text = "a further run's '" + note.made_again + "'";
  if (note.runs_again > 0) text = fmt::format("let go, made again {} x", note.runs_again);
  if (note.runs_again_nanoseconds)
    text += fmt::format(" at {:.4f} ms in all", 1e-6 * static_cast<double>(*note.runs_again_nanoseconds));
  if (!note.in_place_of.empty()) text += ", in place of '" + note.in_place_of + "'";
  return text;
}

}  // namespace

std::vector<TensorNote> notes_of_tensors(const compile::Program& program, const compile::Body& body,
                                         const std::vector<std::string>& patterns) {
  return Notes(program, body).find(patterns);
}

void print_tensors(const compile::Body& body, const std::vector<TensorNote>& notes, std::ostream& out) {
  out << fmt::format("tensors of '{}': bytes, category, offset, name, fate; first and last of its {} instructions\n",
                     body.name, body.instructions.size());
  const auto alive = [&](const TensorNote& n) {
    return n.is_kept_beyond_body
               ? std::string("throughout")
               : fmt::format("{} '{}' to {} '{}'", n.first, node_at(body, n.first), n.last, node_at(body, n.last));
  };
  for (const TensorNote& n : notes)
    out << fmt::format("  {:>12}  {:<12} {:>12}  {}: {}; {}\n", n.bytes, to_string(n.category), n.offset, n.name,
                       fate(n), alive(n));
}

nlohmann::ordered_json tensors_json(const compile::Body& body, const std::vector<TensorNote>& notes) {
  using nlohmann::ordered_json;
  const auto name_or_null = [](const std::string& name) {
    return name.empty() ? ordered_json(nullptr) : ordered_json(name);
  };
  ordered_json tensors = ordered_json::array();
  for (const TensorNote& n : notes) {
    const auto& cost = n.runs_again_nanoseconds;
    tensors.push_back(
        {{"name", n.name},
         {"bytes", n.bytes},
         {"category", to_string(n.category)},
         {"offset", n.offset},
         {"first_instruction", n.first},
         {"first_node", node_at(body, n.first)},
         {"last_instruction", n.last},
         {"last_node", node_at(body, n.last)},
         {"kept_beyond_body", n.is_kept_beyond_body},
         {"runs_again", n.runs_again},
         {"runs_again_seconds", cost ? ordered_json(1e-9 * static_cast<double>(*cost)) : ordered_json(nullptr)},
         {"made_again", name_or_null(n.made_again)},
         {"in_place_of", name_or_null(n.in_place_of)}});
  }
  return tensors;
}

}  // namespace tidemark::cli
