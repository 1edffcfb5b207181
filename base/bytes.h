// Sizes as people write and read them: parse and print.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark {

// "1048576", "512MiB", "1.5 GiB": a non-negative number, then nothing or KiB, MiB, GiB, TiB. A fraction needs a unit
// and is rounded down to whole bytes. Throws Error(config) that says what is accepted.
int64_t parse_bytes(std::string_view text);

// One decimal in the largest unit that keeps the number at 1 or more: "9.1 GiB", "512 B". Not exact: for messages only.
std::string format_bytes(int64_t bytes);

// A limit as settings give it: bytes, or a share of something whose size is known later.
struct ByteLimit {
  int64_t bytes = 0;  // used if share is 0
  double share = 0;   // in (0, 1]; 0 means that the limit is in bytes

  bool is_share() const { return share > 0; }
  // The limit in bytes, given the size that a share is of; rounded down.
  int64_t resolve(int64_t total_bytes) const;

  bool operator==(const ByteLimit&) const = default;
};

// "90%" (above 0, at most 100) or what parse_bytes takes. Throws Error(config).
ByteLimit parse_byte_limit(std::string_view text);

// Exact where format_bytes is not: parse_byte_limit(to_string(limit)) == limit for shares that were written as a
// percentage with up to six digits, and for every number of bytes.
std::string to_string(const ByteLimit& limit);

}  // namespace tidemark
