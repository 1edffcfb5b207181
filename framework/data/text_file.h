// Text as data kinds read it: a file or the files of a folder, plain or gzipped, in UTF-8.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tidemark::data {

// Calls take(text) for the file, or for the files of the folder in order of name. Throws Error(data) that names file
// and offset of what is no UTF-8, of an empty file, of over 2 GiB in all, and what read_maybe_gzip() throws; Error(io)
// for a folder that cannot be read.
void read_texts(const std::string& path, const std::function<void(std::string_view text)>& take);

// Offset of the first byte that is not part of well-formed UTF-8 (RFC 3629), or -1.
int64_t find_invalid_utf8(std::string_view text);

}  // namespace tidemark::data
