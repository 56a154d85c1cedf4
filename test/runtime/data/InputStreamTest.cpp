//===- InputStreamTest.cpp - Compressed inputs, whole and damaged ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/InputStream.h"
#include "runtime/data/text/Prepare.h"
#include "test/runtime/data/TokenFiles.h"

#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

using namespace hocket;
using namespace hocket::data;
using namespace hocket::test;

//===----------------------------------------------------------------------===//
// Compressors
//===----------------------------------------------------------------------===//

static std::string gzipped(const std::string &plain) {
  std::string text = plain;
  z_stream state{};
  EXPECT_EQ(deflateInit2(&state, 6, Z_DEFLATED, 15 + 16, 8, 0), Z_OK);
  std::string out(deflateBound(&state, text.size()) + 64, '\0');
  state.next_in = reinterpret_cast<Bytef *>(text.data());
  state.avail_in = uInt(text.size());
  state.next_out = reinterpret_cast<Bytef *>(out.data());
  state.avail_out = uInt(out.size());
  EXPECT_EQ(deflate(&state, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - state.avail_out);
  deflateEnd(&state);
  return out;
}

static std::string xzipped(const std::string &text, uint32_t preset = 1) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(
                preset, LZMA_CHECK_CRC64, nullptr,
                reinterpret_cast<const uint8_t *>(text.data()), text.size(),
                reinterpret_cast<uint8_t *>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

static std::string zstandard(const std::string &text) {
  ZSTD_CCtx *state = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(state, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(
      ZSTD_compress2(state, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(state);
  return out;
}

static const std::pair<const char *, std::string (*)(const std::string &)>
    compressors[] = {
        {".gz", gzipped},
        {".xz", [](const std::string &text) { return xzipped(text); }},
        {".zst", [](const std::string &text) { return zstandard(text); }}};

/// All that a stream gives in reads of `step` bytes, or the error.
static std::string readAll(const std::string &path, size_t step) {
  auto stream = InputStream::open(path);
  if (!stream.ok())
    return stream.status().message();
  std::string all, part(step, '\0');
  while (true) {
    auto got = (*stream)->read(part.data(), step);
    if (!got.ok())
      return got.status().message();
    all.append(part, 0, *got);
    if (*got < step)
      break;
  }
  EXPECT_EQ((*stream)->consumed(), std::filesystem::file_size(path));
  return all;
}

/// Text that compresses, but not to nothing.
static std::string someText(size_t lines) {
  std::string text;
  for (size_t i = 0; i < lines; ++i)
    text += "line " + std::to_string(i * 2654435761u % 100003) + " of it\n";
  return text;
}

//===----------------------------------------------------------------------===//
// Whole files
//===----------------------------------------------------------------------===//

// What the programs gzip, xz and zstd of Debian 12 made of "hello\n".
TEST(InputStream, ReadsWhatTheProgramsWrite) {
  ScratchFolder folder;
  const std::pair<const char *, const char *> files[] = {
      {"a.gz", "1f8b0800000000000003cb48cdc9c9e7020020303a3606000000"},
      {"a.xz",
       "fd377a585a000004e6d6b4460200210116000000742fe5a301000568656c6c6f0a00000"
       "0a56097f194f6fde000011e06c12fa41d1fb6f37d010000000004595a"},
      {"a.zst", "28b52ffd045831000068656c6c6f0a5388bd91"},
  };
  for (auto [name, hex] : files) {
    writeBytes(folder / name, fromHex(hex));
    EXPECT_EQ(readAll(folder / name, 100), "hello\n") << name;
  }
}

// Larger than every buffer, in steps that end anywhere, and two streams in one.
TEST(InputStream, ReadsLongFilesOfSeveralStreams) {
  ScratchFolder folder;
  std::string text = someText(40000), more = someText(300);
  for (auto [ending, compress] : compressors) {
    std::string path = folder / (std::string("a") + ending);
    writeBytes(path, compress(text) + compress(more));
    for (size_t step : {size_t(1) << 10, size_t(99991), size_t(1) << 22})
      EXPECT_TRUE(readAll(path, step) == text + more) << path << " " << step;
  }
  // gzip and xz allow zeros at the end, xz by fours.
  for (const char *ending : {"a.gz", "a.xz"}) {
    writeBytes(folder / ending,
               readBytes(folder / ending) + std::string(512, '\0'));
    EXPECT_TRUE(readAll(folder / ending, 4096) == text + more) << ending;
  }
}

//===----------------------------------------------------------------------===//
// Damage
//===----------------------------------------------------------------------===//

TEST(InputStream, SaysWhatIsWrong) {
  ScratchFolder folder;
  const std::pair<const char *, std::string> cases[] = {
      {"a.gz", ": not a whole gzip file, at byte 2: incorrect header check"},
      {"a.xz", ": not a whole xz file, at byte 12: the file does not begin as "
               "xz files do"},
      {"a.zst", ": not a whole Zstandard file, at byte 0: Unknown frame "
                "descriptor"},
  };
  for (const auto &[name, message] : cases) {
    writeBytes(folder / name, "plain text, it is");
    EXPECT_EQ(readAll(folder / name, 100), folder / name + message);
  }
  writeBytes(folder / "b.xz", xzipped("x").substr(0, 40));
  EXPECT_EQ(readAll(folder / "b.xz", 100),
            folder / "b.xz: not a whole xz file, at byte 40: it ends in the "
                     "middle");
  // A header that asks for a dictionary of 1.5 GiB.
  writeBytes(folder / "c.xz", xzipped("x"));
  lzma_options_lzma wide;
  lzma_lzma_preset(&wide, 1);
  wide.dict_size = uint32_t(3) << 29;
  lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &wide},
                           {LZMA_VLI_UNKNOWN, nullptr}};
  std::string header = readBytes(folder / "c.xz");
  lzma_block block{};
  block.version = 1;
  block.check = LZMA_CHECK_CRC64;
  block.compressed_size = block.uncompressed_size = LZMA_VLI_UNKNOWN;
  block.filters = filters;
  ASSERT_EQ(lzma_block_header_size(&block), LZMA_OK);
  header.resize(12 + block.header_size);
  ASSERT_EQ(lzma_block_header_encode(
                &block, reinterpret_cast<uint8_t *>(header.data()) + 12),
            LZMA_OK);
  writeBytes(folder / "c.xz", header + std::string(64, '\0'));
  EXPECT_NE(readAll(folder / "c.xz", 100).find("needs more than 256 MiB"),
            std::string::npos);
}

// Cut anywhere, it is an error; with a bit changed, an error or the same.
TEST(InputStream, NeverGivesOtherTextForDamage) {
  ScratchFolder folder;
  std::string text = someText(4);
  for (auto [ending, compress] : compressors) {
    std::string path = folder / (std::string("a") + ending);
    std::string whole = compress(text);
    for (size_t size = 0; size < whole.size(); ++size) {
      writeBytes(path, whole.substr(0, size));
      EXPECT_NE(readAll(path, 64).find(": not a whole "), std::string::npos)
          << ending << " cut to " << size;
    }
    for (size_t bit = 0; bit < 8 * whole.size(); bit += 3) {
      std::string damaged = whole;
      damaged[bit / 8] ^= char(1 << bit % 8);
      writeBytes(path, damaged);
      std::string got = readAll(path, 64);
      EXPECT_TRUE(got == text || got.find(": not a whole ") != got.npos)
          << ending << " bit " << bit;
    }
  }
}

//===----------------------------------------------------------------------===//
// Token files of them
//===----------------------------------------------------------------------===//

TEST(InputStream, CompressedInputsGiveTheSameTokenFiles) {
  ScratchFolder folder;
  std::string lines, text = someText(500);
  for (int i = 0; i < 500; ++i)
    lines += "{\"text\": \"document " + std::to_string(i) + "\"}\n";
  writeBytes(folder / "a.jsonl", lines);
  writeBytes(folder / "b.txt", text);
  PrepareOptions options;
  options.prefix = folder / "plain";
  options.chunkBytes = 1000;
  options.inputs = {folder / "a.jsonl", folder / "b.txt"};
  ASSERT_TRUE(prepare(options).ok());
  for (auto [ending, compress] : compressors) {
    writeBytes(folder / "a.jsonl" + ending, compress(lines));
    writeBytes(folder / "b.txt" + ending, compress(text));
    options.prefix = folder / "packed";
    options.inputs = {folder / "a.jsonl" + ending, folder / "b.txt" + ending};
    uint64_t bytes = 0, all = 0;
    auto result = prepare(options, [&](const PrepareProgress &progress) {
      EXPECT_GE(progress.bytes, bytes);
      bytes = progress.bytes;
      all = progress.totalBytes;
    });
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(bytes, all) << "all that is on the disk was told of";
    EXPECT_EQ(result->bytes, lines.size() + text.size());
    for (const char *file : {"_text_document.bin", "_text_document.idx"})
      EXPECT_TRUE(readBytes(folder / "packed" + file) ==
                  readBytes(folder / "plain" + file))
          << ending;
  }
  writeBytes(folder / "c.jsonl.gz", gzipped("{\"text\": \"x\"}\n{}\n"));
  options.inputs = {folder / "c.jsonl.gz"};
  EXPECT_EQ(prepare(options).status().message(),
            folder / "c.jsonl.gz:2:1: expected an object with the key 'text'");
  writeBytes(folder / "c.jsonl.gz", gzipped(""));
  EXPECT_EQ(prepare(options).status().message(),
            folder / "c.jsonl.gz: is empty");
}
