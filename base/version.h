// The version of the program, and of the package tidemark-memory.
#pragma once

namespace tidemark {

inline constexpr const char* kVersion = "0.1.0";  // memory/package/install_tree.sh reads this line

}  // namespace tidemark
