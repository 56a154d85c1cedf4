//===- SafetensorsTest.cpp - Sound and hostile safetensors ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Safetensors.h"
#include "test/runtime/ChildProcess.h"
#include "test/runtime/checkpoint/TensorBytes.h"
#include "test/runtime/data/TokenFiles.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace hocket;
using namespace hocket::checkpoint;
using namespace hocket::test;

//===----------------------------------------------------------------------===//
// Against the safetensors package
//===----------------------------------------------------------------------===//

TEST(Safetensors, ReadsThePackagesFile) {
  auto file = SafetensorsFile::open(goldenFolder + "package.safetensors");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->metadata().at("format"), "pt");
  ASSERT_EQ(file->tensors().size(), 10u);
  EXPECT_EQ(file->tensors().front().name, "long");
  const TensorInfo *bytes = file->find("bytes");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->type, ElementType::U8);
  EXPECT_EQ(*file->read(*bytes), (std::vector<uint8_t>{0, 1, 2, 3, 4}));
  const TensorInfo *scalar = file->find("scalar");
  ASSERT_TRUE(scalar);
  EXPECT_TRUE(scalar->shape.empty());
  EXPECT_EQ(toFloats(*file->read(*scalar), scalar->type)->front(), 2.5f);
  EXPECT_EQ(file->find("none"), nullptr);
}

TEST(Safetensors, ReadsChunksOfALongTensor) {
  ScratchFolder folder;
  std::vector<uint8_t> bytes((10 << 20) + 3);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = uint8_t(i * 2654435761u >> 24);
  ASSERT_TRUE(
      writeSafetensors(
          folder / "long.safetensors",
          {{"first",
            ElementType::U8,
            {3},
            bytesInMemory(std::span(bytes).first(3))},
           {"long", ElementType::U8, {bytes.size()}, bytesInMemory(bytes)}})
          .ok());
  auto file = SafetensorsFile::open(folder / "long.safetensors");
  ASSERT_TRUE(file.ok());
  const TensorInfo &info = *file->find("long");
  EXPECT_TRUE(*file->read(info) == bytes);
  auto reader = file->reader(info);
  ASSERT_TRUE(reader.ok());
  auto expectChunk = [&](uint64_t offset, uint64_t size) {
    std::vector<uint8_t> chunk(size);
    ASSERT_TRUE(reader->read(offset, chunk).ok()) << offset;
    EXPECT_TRUE(std::equal(chunk.begin(), chunk.end(),
                           bytes.begin() + ptrdiff_t(offset)))
        << offset << ", " << size;
  };
  // Within a window, over its end, back, longer than one, the last byte.
  for (auto [offset, size] :
       std::vector<std::pair<uint64_t, uint64_t>>{{0, 7},
                                                  {7, 1 << 20},
                                                  {(4 << 20) - 1, 2},
                                                  {5, 3},
                                                  {1, 9 << 20},
                                                  {(10 << 20) - 1, 4},
                                                  {(10 << 20) + 2, 1}})
    expectChunk(offset, size);
  std::vector<uint8_t> beyond(2);
  EXPECT_FALSE(reader->read((10 << 20) + 2, beyond).ok());
}

TEST(Safetensors, WritesThePackagesBytes) {
  ScratchFolder folder;
  std::string golden = goldenFolder + "package.safetensors";
  auto file = SafetensorsFile::open(golden);
  ASSERT_TRUE(file.ok());
  std::vector<TensorToWrite> tensors;
  for (const TensorInfo &info : file->tensors())
    tensors.push_back({info.name, info.type, info.shape, bytesOf(*file, info)});
  std::reverse(tensors.begin(), tensors.end());
  auto written = writeSafetensors(folder / "w.safetensors", tensors);
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(readBytes(folder / "w.safetensors"), readBytes(golden));
  EXPECT_EQ(written->bytes, readBytes(golden).size());
}

TEST(Safetensors, WritesNoTensorsAtAll) {
  ScratchFolder folder;
  ASSERT_TRUE(writeSafetensors(folder / "e", {}).ok());
  auto file = SafetensorsFile::open(folder / "e");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_TRUE(file->tensors().empty());
}

//===----------------------------------------------------------------------===//
// Hostile files
//===----------------------------------------------------------------------===//

static std::string withLength(uint64_t length, const std::string &rest) {
  std::string file;
  appendBytes(file, length);
  return file + rest;
}
static std::string file(const std::string &header, size_t dataBytes) {
  return withLength(header.size(), header) + std::string(dataBytes, 'x');
}
/// A header of one tensor 'a'.
static std::string one(const std::string &entry) {
  return "{\"a\":" + entry + "}";
}
static std::string entry(const std::string &type, const std::string &shape,
                         const std::string &offsets) {
  return "{\"dtype\":\"" + type + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

static std::string openError(const std::string &content) {
  ScratchFolder folder;
  writeBytes(folder / "h", content);
  auto opened = SafetensorsFile::open(folder / "h");
  if (opened.ok())
    return "fine";
  EXPECT_EQ(opened.status().code(), StatusCode::DataLoss);
  std::string prefix = folder / "h: ";
  EXPECT_EQ(opened.status().message().substr(0, prefix.size()), prefix);
  return opened.status().message().substr(prefix.size());
}

TEST(Safetensors, NamesWhatIsWrong) {
  std::string f32x2 = entry("F32", "[2]", "[0,8]");
  const std::string integers =
      "expected an array of integers from 0 to 18446744073709551615";
  const std::pair<std::string, std::string> cases[] = {
      {file(one(f32x2), 8), "fine"},
      {"", "expected a safetensors file of at least 8 bytes, found 0"},
      {"1234567", "expected a safetensors file of at least 8 bytes, found 7"},
      {withLength(100'000'001, "{}"),
       "expected a header of at most 100000000 bytes, found 100000001"},
      {withLength(~0ull, "{}"), "expected a header of at most 100000000 bytes, "
                                "found 18446744073709551615"},
      {withLength(3, "{}"),
       "a header of 3 bytes passes the end of the file, which has 10"},
      {file("", 0), "header: expected '{' at its first byte"},
      {file(" {}", 0), "header: expected '{' at its first byte"},
      {file("[]", 0), "header: expected '{' at its first byte"},
      {file("{\"a\":", 0), "header: byte 5: expected a value"},
      {file("{} x", 0), "header: byte 3: expected the end of the text"},
      {file("{\"\xff\":1}", 0), "header: byte 2: expected valid UTF-8"},
      {file("{\"a\":" + std::string(50000, '['), 0),
       "header: byte 1028: expected at most 1024 levels"},
      {file("{\"a\":" + f32x2 + ",\"a\":" + f32x2 + "}", 8),
       "header: the name 'a' appears twice"},
      {file("{\"__metadata__\":[]}", 0), "__metadata__: expected an object"},
      {file("{\"__metadata__\":{\"k\":1}}", 0),
       "__metadata__: expected a string under 'k'"},
      {file("{\"__metadata__\":{\"k\":\"\",\"k\":\"\"}}", 0),
       "__metadata__: the key 'k' appears twice"},
      {file(one("3"), 0), "tensor 'a': expected an object"},
      {file(one("{}"), 0), "tensor 'a': the key 'dtype' is missing"},
      {file(one("{\"dtype\":\"F32\",\"shape\":[2]}"), 8),
       "tensor 'a': the key 'data_offsets' is missing"},
      {file(one("{\"dtype\":\"F32\",\"dtype\":\"F32\"}"), 8),
       "tensor 'a': the key 'dtype' appears twice"},
      {file(one("{\"type\":\"F32\"}"), 8),
       "tensor 'a': expected dtype, shape and data_offsets, found the key "
       "'type'"},
      {file(one("{\"dtype\":4}"), 8), "tensor 'a': dtype: expected a string"},
      {file(one(entry("f32", "[2]", "[0,8]")), 8),
       "tensor 'a': dtype: unknown type 'f32'"},
      {file(one(entry("F32", "2", "[0,8]")), 8),
       "tensor 'a': shape: " + integers},
      {file(one(entry("F32", "[-2]", "[0,8]")), 8),
       "tensor 'a': shape: " + integers},
      {file(one(entry("F32", "[2.0]", "[0,8]")), 8),
       "tensor 'a': shape: " + integers},
      {file(one(entry("F32", "[2]", "[0]")), 8),
       "tensor 'a': data_offsets: expected [begin, end] with begin <= end, "
       "found [0]"},
      {file(one(entry("F32", "[2]", "[8,0]")), 8),
       "tensor 'a': data_offsets: expected [begin, end] with begin <= end, "
       "found [8, 0]"},
      {file(one(entry("F32", "[2]", "[0,4]")), 4),
       "tensor 'a': F32 [2] needs 8 bytes, data_offsets give 4"},
      {file(one(entry("F32", "[4294967296,4294967296]", "[0,0]")), 0),
       "tensor 'a': shape [4294967296, 4294967296] overflows 64 bits"},
      {file(one(entry("F64", "[2305843009213693953]", "[0,8]")), 8),
       "tensor 'a': shape [2305843009213693953] overflows 64 bits"},
      {file(one(entry("F32", "[2]", "[4,12]")), 12),
       "tensor 'a': leaves a gap: begins at byte 4, expected 0"},
      {file("{\"a\":" + f32x2 + ",\"b\":" + entry("F32", "[2]", "[4,12]") + "}",
            12),
       "tensor 'b': overlaps the tensor before it: begins at byte 4, expected "
       "8"},
      {file("{\"a\":" + f32x2 + ",\"b\":" + entry("F32", "[2]", "[9,17]") + "}",
            17),
       "tensor 'b': leaves a gap: begins at byte 9, expected 8"},
      {file(one(f32x2), 7), "the tensors end at byte 8, the data has 7 bytes"},
      {file(one(f32x2), 9), "the tensors end at byte 8, the data has 9 bytes"},
      {file(one(entry("U8", "[18446744073709551615]",
                      "[0,18446744073709551615]")),
            8),
       "the tensors end at byte 18446744073709551615, the data has 8 bytes"},
  };
  for (const auto &[content, message] : cases)
    EXPECT_EQ(openError(content), message) << content.substr(0, 80);
}

// No flipped bit of a header may lead outside the file.
TEST(Safetensors, SurvivesEveryFlippedBit) {
  ScratchFolder folder;
  std::string golden = readBytes(goldenFolder + "package.safetensors");
  uint64_t headerEnd = 8 + 640;
  for (uint64_t bit = 0; bit < headerEnd * 8; ++bit) {
    std::string damaged = golden;
    damaged[bit / 8] = char(damaged[bit / 8] ^ (1 << bit % 8));
    auto header = parseSafetensorsHeader(
        std::string_view(damaged).substr(8, headerEnd - 8),
        golden.size() - headerEnd);
    if (!header.ok())
      continue;
    for (const TensorInfo &info : header->tensors)
      ASSERT_LE(info.end, golden.size() - headerEnd);
  }
}

// Headers that claim what no model has take little more than their bytes.
TEST(Safetensors, AHeaderTakesLittleMoreThanItsBytes) {
  ScratchFolder folder;
  auto expectBounded = [&](const std::string &header, uint64_t more) {
    writeBytes(folder / "h", file(header, 0));
    uint64_t peak =
        peakBytesOf([&] { (void)SafetensorsFile::open(folder / "h").ok(); });
    EXPECT_LE(peak, 2 * header.size() + (more << 20)) << header.substr(0, 80);
  };
  std::string tensors = "{", texts = "{\"__metadata__\":{";
  for (int i = 0; tensors.size() < (size_t(12) << 20); ++i)
    tensors += (i ? ",\"" : "\"") + std::to_string(i) +
               "\":" + entry("F32", "[0]", "[0,0]");
  for (int i = 0; texts.size() < (size_t(8) << 20) - 100; ++i)
    texts += (i ? ",\"" : "\"") + std::to_string(i) + "\":\"\"";
  expectBounded(tensors + "}", 64);
  expectBounded(texts + "}}", 192); // Of at most 8 MiB.
  expectBounded("{\"a\":" + std::string(12 << 20, '[') + "}", 64);
  EXPECT_EQ(
      openError(file(texts + ",\"b\":\"" + std::string(200, 'x') + "\"}}", 0)),
      "__metadata__: has 8.00 MiB, at most 8.00 MiB are expected");
  std::string zeros = "0";
  for (int i = 0; i < 10000; ++i)
    zeros += ",0";
  EXPECT_EQ(openError(file(one(entry("F32", "[" + zeros + "]", "[0,0]")), 0)),
            "the entry of a tensor: has 19.58 KiB, at most 16.00 KiB are "
            "expected");
}

TEST(Safetensors, FindsTensorsByNamesWithEscapes) {
  auto header = parseSafetensorsHeader(
      R"({"b\"c":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
      R"( "\u00e9" : {"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
      2);
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(header->tensors[0].name, "\xc3\xa9");
  EXPECT_EQ(header->tensors[1].name, "b\"c");
  EXPECT_EQ(header->byName, (std::vector<uint32_t>{1, 0}));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::string writeError(const std::string &path,
                              std::vector<TensorToWrite> tensors) {
  auto written = writeSafetensors(path, std::move(tensors));
  return written.ok() ? "fine" : written.status().message();
}

TEST(Safetensors, RefusesToWriteNonsense) {
  ScratchFolder folder;
  std::vector<uint8_t> four(4);
  TensorToWrite good{"a", ElementType::F32, {1}, bytesInMemory(four)};
  TensorToWrite wide{"b", ElementType::F32, {1ull << 63}, bytesInMemory(four)};
  TensorToWrite shortOne{"c", ElementType::F32, {2}, bytesInMemory(four)};
  TensorToWrite metadata = good, binary = good;
  metadata.name = "__metadata__";
  binary.name = "\xff";
  EXPECT_EQ(writeError(folder / "w", {good, good}),
            "two tensors are called 'a'");
  EXPECT_EQ(writeError(folder / "w", {wide}),
            "tensor 'b': shape [9223372036854775808] overflows 64 bits");
  EXPECT_EQ(writeError(folder / "w", {metadata}),
            "no tensor may be called '__metadata__'");
  EXPECT_EQ(writeError(folder / "w", {binary}),
            "the name of a tensor is not valid UTF-8");
  EXPECT_NE(writeError(folder / "w", {shortOne}), "fine");
  EXPECT_EQ(folder.list(), std::vector<std::string>());
}

// A disk that fills up, played by a limit on the size of a file.
TEST(Safetensors, AFailedWriteLeavesTheOldFile) {
  ScratchFolder folder;
  writeBytes(folder / "w", "old");
  std::vector<uint8_t> bytes(1 << 20);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit small{4096, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string message = writeError(
      folder / "w", {{"a", ElementType::U8, {1 << 20}, bytesInMemory(bytes)}});
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(message, folder / "w: cannot write: File too large");
  EXPECT_EQ(readBytes(folder / "w"), "old");
  EXPECT_EQ(folder.list(), std::vector<std::string>{"w"});
}
