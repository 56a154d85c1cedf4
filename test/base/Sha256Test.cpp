//===- Sha256Test.cpp - The published vectors of SHA-256 ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Sha256.h"

#include <gtest/gtest.h>
#include <vector>

using namespace hocket;

// FIPS 180-4's examples, and the lengths around the padding's boundaries
// (digests from Python's hashlib).
TEST(Sha256, KnownVectors) {
  EXPECT_EQ(toHex(Sha256::of("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(toHex(Sha256::of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(toHex(Sha256::of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnom"
                             "nopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(toHex(Sha256::of(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, LengthsAroundABlock) {
  struct {
    size_t length;
    const char *digest;
  } cases[] = {
      {55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
      {56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e"},
      {63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2"},
      {64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"},
      {65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9"},
      {119, "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c"},
      {120, "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98"},
      {128, "24da1b81d0b16df6428eee73c69fcb2a93c76bc6df706f0c6670fe6bfe800464"},
  };
  for (const auto &c : cases)
    EXPECT_EQ(toHex(Sha256::of(std::string(c.length, 'x'))), c.digest)
        << c.length;
}

TEST(Sha256, ChunksGiveTheSameDigest) {
  std::string text(1000, '\0');
  for (size_t i = 0; i < text.size(); ++i)
    text[i] = char(i * 7);
  for (size_t chunk : {1u, 3u, 63u, 64u, 65u, 200u}) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += chunk)
      hash.update(text.data() + at, std::min(chunk, text.size() - at));
    EXPECT_EQ(toHex(hash.finish()), toHex(Sha256::of(text))) << chunk;
  }
}

// The rounds of FIPS 180-4 as they are written there, and as the processor
// does them, one block or several at a time.
TEST(Sha256, InstructionsDoTheSameRounds) {
  Sha256Rounds *native = nativeSha256Rounds();
  if (!native)
    GTEST_SKIP() << "this processor has no SHA instructions";
  std::vector<uint8_t> blocks(64 * 300);
  uint32_t word = 1;
  for (uint8_t &byte : blocks)
    byte = uint8_t((word = word * 1664525 + 1013904223) >> 24);
  Sha256State one = {1, 2, 3, 4, 5, 6, 7, 0xffffffff}, other = one;
  for (size_t at = 0, count = 1; at + count <= 300; at += count, ++count) {
    portableSha256Rounds(one, &blocks[64 * at], count);
    native(other, &blocks[64 * at], count);
    ASSERT_EQ(one, other) << count;
  }
}
