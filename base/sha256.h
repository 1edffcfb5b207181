// SHA-256 digests (FIPS 180-4), computed by libcrypto.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tidemark {

// A digest over bytes that arrive in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(const void* data, size_t bytes);
  // 64 lower-case hexadecimal digits. Call once; nothing can be added after it.
  std::string finish_hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view data);

}  // namespace tidemark
