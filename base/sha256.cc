#include "base/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "base/error.h"

namespace tidemark {

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

// libcrypto fails here only without memory or without its default provider: nothing that a user could answer to.
Sha256::Sha256() : state_(std::make_unique<State>()) {
  TM_CHECK(state_->context && EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1,
           "libcrypto offers no SHA-256");
}

Sha256::~Sha256() = default;

void Sha256::update(const void* data, size_t bytes) {
  TM_CHECK(EVP_DigestUpdate(state_->context.get(), data, bytes) == 1, "SHA-256 update failed: already finished?");
}

std::string Sha256::finish_hex() {
  std::array<unsigned char, 32> digest;
  TM_CHECK(EVP_DigestFinal_ex(state_->context.get(), digest.data(), nullptr) == 1, "SHA-256 was already finished");
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::string sha256_hex(std::string_view data) {
  Sha256 sha;
  sha.update(data.data(), data.size());
  return sha.finish_hex();
}

}  // namespace tidemark
