#include "base/sha256.h"

#include <gtest/gtest.h>

namespace tidemark {
namespace {

// The examples of FIPS 180-4's companion document, and the empty message.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, PiecesGiveTheDigestOfTheWhole) {
  Sha256 sha;
  sha.update("a", 1);
  sha.update("", 0);
  sha.update("bc", 2);
  EXPECT_EQ(sha.finish_hex(), sha256_hex("abc"));
}

}  // namespace
}  // namespace tidemark
