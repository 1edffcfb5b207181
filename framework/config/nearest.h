// "Did you mean": the candidate that is fewest edits away.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tidemark::config {

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (restricted Damerau-Levenshtein).
int edit_distance(std::string_view a, std::string_view b);

// The nearest candidate; the first of equals. Empty if none is near enough to be meant: more than about a third of the
// characters differ.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace tidemark::config
