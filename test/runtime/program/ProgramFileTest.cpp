//===- ProgramFileTest.cpp - Executables on disk --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/file/ProgramFile.h"

#include "base/File.h"
#include "base/Sha256.h"
#include "test/runtime/program/ProgramBuilder.h"

#include <gtest/gtest.h>

using namespace hocket;

/// A file with a right header around any payload.
static std::string wrap(const std::string &payload) {
  std::string bytes("HOCKET\0\2", 8);
  for (int i = 0; i < 8; ++i)
    bytes += char(payload.size() >> (8 * i));
  Sha256::Digest digest = Sha256::of(payload);
  bytes.append(digest.begin(), digest.end());
  return bytes + payload;
}

static std::string reasonFor(const std::string &bytes) {
  return parseProgram(bytes, "x.hkx").status().message();
}

TEST(ProgramFile, RoundTripsWithTheSameBytes) {
  program::Program program = test::tinyModel();
  std::string path = testing::TempDir() + "/hocket-round-trip.hkx";
  ASSERT_TRUE(writeProgram(program, path).ok());
  auto bytes = readFile(path, 1 << 26);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, *serializeProgram(program));
  auto read = readProgram(path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*serializeProgram(*read), *bytes);
  EXPECT_EQ(bytes->substr(0, 8), std::string("HOCKET\0\2", 8));
  EXPECT_EQ(*bytes, wrap(bytes->substr(programHeaderBytes)));
  std::remove(path.c_str());
}

TEST(ProgramFile, RefusesWhatIsNoExecutable) {
  EXPECT_EQ(reasonFor(""), "x.hkx: is not a Hocket executable: it does not "
                           "start with \"HOCKET\"");
  EXPECT_EQ(reasonFor(std::string(100, 'x')),
            "x.hkx: is not a Hocket executable: it does not start with "
            "\"HOCKET\"");
  EXPECT_EQ(reasonFor(std::string("HOCKET\0\1", 8)),
            "x.hkx: has format version 1, this program reads version 2; "
            "compile the model again");
  EXPECT_EQ(reasonFor(std::string("HOCKET\0\2", 8)),
            "x.hkx: is truncated: it has 8 bytes, the header alone takes 48");
  EXPECT_EQ(readProgram("/nonexistent.hkx").status().code(),
            StatusCode::NotFound);
}

TEST(ProgramFile, RefusesWrongLengths) {
  std::string bytes = wrap("");
  EXPECT_EQ(reasonFor(bytes + "yy"),
            "x.hkx: is damaged: 2 bytes follow its end");
  bytes = *serializeProgram(test::tinyModel());
  size_t payload = bytes.size() - programHeaderBytes;
  EXPECT_EQ(reasonFor(bytes.substr(0, bytes.size() - 10)),
            "x.hkx: is truncated: its header promises " +
                std::to_string(payload) + " bytes, " +
                std::to_string(payload - 10) + " follow");
  for (int i = 8; i < 16; ++i)
    bytes[i] = char(0xff);
  EXPECT_EQ(reasonFor(bytes),
            "x.hkx: is damaged: its header promises 18446744073709551615 "
            "bytes, more than any executable has");
}

// Every byte of the file matters: flipping any bit is noticed.
TEST(ProgramFile, NoticesEveryFlippedByte) {
  std::string bytes = wrap(std::string("\x08\x01", 2));
  ASSERT_TRUE(parseProgram(bytes, "x").ok());
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = char(damaged[i] ^ (1 << bit));
      EXPECT_FALSE(parseProgram(damaged, "x").ok()) << i;
    }
  std::string large = *serializeProgram(test::tinyModel());
  large[large.size() / 2] ^= 4;
  EXPECT_EQ(reasonFor(large),
            "x.hkx: is damaged: its content does not match its SHA-256");
}

TEST(ProgramFile, EveryPrefixIsRefused) {
  std::string bytes = *serializeProgram(test::tinyModel());
  for (size_t size = 0; size < bytes.size(); size += 97)
    EXPECT_FALSE(parseProgram(bytes.substr(0, size), "x").ok()) << size;
}

/// `count` times the two bytes of an empty field of this number.
static std::string emptyFields(int number, size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i)
    bytes += {char(number << 3 | 2), 0};
  return bytes;
}

// Two bytes in a file can be hundreds in memory. What no compiler writes is
// refused before that memory is taken.
TEST(ProgramFile, BoundsTheMemoryOfEmptyMessages) {
  constexpr size_t count = size_t(3) << 20;
  for (int field : {6, 9}) { // Parameters, roles.
    std::string reason = reasonFor(wrap(emptyFields(field, count)));
    EXPECT_EQ(reason.substr(0, 40), "x.hkx: is no executable of the compiler'")
        << field << ": " << reason;
  }
  EXPECT_EQ(reasonFor(wrap(emptyFields(9, 1000))), "");
}

// The format's version says which fields there are.
TEST(ProgramFile, RefusesFieldsThatTheSchemaLacks) {
  EXPECT_EQ(reasonFor(wrap(std::string("\x92\x3f\x00", 3))),
            "x.hkx: is damaged: its content is not a serialized program");
}

// A digest only proves that the bytes are what someone wrote.
TEST(ProgramFile, RefusesAPayloadThatIsNoProgram) {
  EXPECT_EQ(reasonFor(wrap("\xff\xff\xff")),
            "x.hkx: is damaged: its content is not a serialized program");
  // Unknown groups, nested deeper than any schema of ours.
  EXPECT_EQ(reasonFor(wrap(std::string(100000, '\x7b'))),
            "x.hkx: is damaged: its content is not a serialized program");
}
