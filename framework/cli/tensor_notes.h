// `tidemark plan --explain --tensor NAME`: where tensors of a body lie, how long, and whether they are made again.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "framework/compile/program.h"

namespace tidemark::cli {

struct TensorNote {
  std::string name;
  int64_t bytes = 0;
  Category category = Category::activations;
  int64_t offset = 0;  // bytes from the arena's start
  // Instructions of the body, first and last, at which the bytes are its own (or of another version of it).
  size_t first = 0;
  size_t last = 0;
  bool is_kept_beyond_body = false;               // lies in a segment, always alive
  int64_t runs_again = 0;                         // how often it is let go and made again
  std::optional<int64_t> runs_again_nanoseconds;  // of all these runs; nothing if not known
  std::string made_again;                         // not empty: is what a further run makes, of the tensor named here
  std::string in_place_of;                        // takes over the bytes of this tensor where that one ends
};

// Those of the body's tensors and workspaces that a pattern means, in the order of the patterns and of their first
// instructions: NAME with what further runs make of it; if there is none, what begins with NAME; with a *, which stands
// for any characters, what the whole of it fits. Throws Error(config) for a pattern that means nothing, with the
// nearest names.
std::vector<TensorNote> notes_of_tensors(const compile::Program& program, const compile::Body& body,
                                         const std::vector<std::string>& patterns);

// A heading and one line a tensor.
void print_tensors(const compile::Body& body, const std::vector<TensorNote>& notes, std::ostream& out);
// One object a tensor: name, bytes, category, offset, first_instruction and last_instruction with the nodes they run,
// first_node and last_node, kept_beyond_body, runs_again, runs_again_seconds, made_again and in_place_of; the last
// three are null where there is nothing to say.
nlohmann::ordered_json tensors_json(const compile::Body& body, const std::vector<TensorNote>& notes);

}  // namespace tidemark::cli
