//===- InputStream.cpp - Files, compressed or not -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/InputStream.h"

#include "base/File.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <lzma.h>
#include <optional>
#include <span>
#include <vector>
#include <zlib.h>
#include <zstd.h>

using namespace hocket;
using namespace hocket::data;

std::string_view data::withoutCompression(std::string_view path) {
  for (std::string_view ending : {".gz", ".xz", ".zst"})
    if (path.ends_with(ending))
      return path.substr(0, path.size() - ending.size());
  return path;
}

Status data::cannotRead(const std::string &path, int error) {
  std::string message = path + ": cannot read: " + errnoMessage(error);
  return error == ENOENT ? notFound(message) : invalidArgument(message);
}

//===----------------------------------------------------------------------===//
// Plain files
//===----------------------------------------------------------------------===//

namespace {

class PlainStream : public InputStream {
public:
  PlainStream(std::string path, std::FILE *file)
      : path(std::move(path)), file(file) {}

  StatusOr<size_t> read(char *out, size_t size) override {
    size_t got = std::fread(out, 1, size, file.get());
    used += got;
    if (std::ferror(file.get()))
      return cannotRead(path, errno);
    return got;
  }
  uint64_t consumed() const override { return used; }

private:
  struct Close {
    void operator()(std::FILE *open) const { std::fclose(open); }
  };
  std::string path;
  std::unique_ptr<std::FILE, Close> file;
  uint64_t used = 0;
};

//===----------------------------------------------------------------------===//
// Decoders
//===----------------------------------------------------------------------===//

/// One step of a decoder: it takes bytes from the front of `from` and fills the
/// front of `to`.
struct DecoderWindow {
  std::span<const uint8_t> from;
  std::span<uint8_t> to;
  bool fileEnded = false; ///< Nothing follows `from`.
};

class Decoder {
public:
  virtual ~Decoder() = default;
  virtual const char *name() const = 0;
  /// What is wrong with the bytes, or nullptr.
  virtual const char *step(DecoderWindow &window) = 0;
  /// Whether the file may end here.
  virtual bool mayEnd() const = 0;
};

class GzipDecoder : public Decoder {
public:
  GzipDecoder() {
    // 15 bits of window; 16 more ask for gzip's header and its checksum.
    ready = inflateInit2(&state, 15 + 16) == Z_OK;
  }
  ~GzipDecoder() override { inflateEnd(&state); }
  GzipDecoder(const GzipDecoder &) = delete;
  GzipDecoder &operator=(const GzipDecoder &) = delete;

  const char *name() const override { return "gzip"; }
  bool mayEnd() const override { return between && members > 0; }

  const char *step(DecoderWindow &window) override {
    if (!ready)
      return "out of memory";
    if (between && members > 0 && !skipPadding(window))
      return nullptr;
    between = false;
    state.next_in = const_cast<Bytef *>(window.from.data());
    state.avail_in = uInt(window.from.size());
    state.next_out = window.to.data();
    state.avail_out = uInt(window.to.size());
    int result = inflate(&state, Z_NO_FLUSH);
    window.from = window.from.last(state.avail_in);
    window.to = window.to.last(state.avail_out);
    if (result == Z_STREAM_END) {
      between = true;
      ++members;
      inflateReset(&state);
      return nullptr;
    }
    if (result == Z_OK || result == Z_BUF_ERROR)
      return nullptr;
    return state.msg ? state.msg : "the data is damaged";
  }

private:
  /// Zeros may follow a member, as on tapes; whether something else is there.
  static bool skipPadding(DecoderWindow &window) {
    while (!window.from.empty() && window.from.front() == 0)
      window.from = window.from.subspan(1);
    return !window.from.empty();
  }

  z_stream state{};
  bool ready = false, between = true;
  uint64_t members = 0;
};

class XzDecoder : public Decoder {
public:
  XzDecoder() {
    constexpr uint64_t mostMemory = uint64_t(256) << 20;
    ready = lzma_stream_decoder(&state, mostMemory, LZMA_CONCATENATED);
  }
  ~XzDecoder() override { lzma_end(&state); }
  XzDecoder(const XzDecoder &) = delete;
  XzDecoder &operator=(const XzDecoder &) = delete;

  const char *name() const override { return "xz"; }
  bool mayEnd() const override { return ended; }

  const char *step(DecoderWindow &window) override {
    if (ready != LZMA_OK)
      return "out of memory";
    state.next_in = window.from.data();
    state.avail_in = window.from.size();
    state.next_out = window.to.data();
    state.avail_out = window.to.size();
    lzma_ret result =
        lzma_code(&state, window.fileEnded ? LZMA_FINISH : LZMA_RUN);
    window.from = window.from.last(state.avail_in);
    window.to = window.to.last(state.avail_out);
    switch (result) {
    case LZMA_OK:
    case LZMA_BUF_ERROR:
      return nullptr;
    case LZMA_STREAM_END:
      ended = true;
      return nullptr;
    case LZMA_FORMAT_ERROR:
      return "the file does not begin as xz files do";
    case LZMA_MEMLIMIT_ERROR:
      return "its dictionary needs more than 256 MiB of memory";
    case LZMA_MEM_ERROR:
      return "out of memory";
    case LZMA_OPTIONS_ERROR:
      return "it uses a filter or a version that is not known";
    default:
      return "the data is damaged";
    }
  }

private:
  lzma_stream state = LZMA_STREAM_INIT;
  lzma_ret ready = LZMA_OK;
  bool ended = false;
};

class ZstdDecoder : public Decoder {
public:
  ZstdDecoder() : state(ZSTD_createDStream()) {}
  ~ZstdDecoder() override { ZSTD_freeDStream(state); }
  ZstdDecoder(const ZstdDecoder &) = delete;
  ZstdDecoder &operator=(const ZstdDecoder &) = delete;

  const char *name() const override { return "Zstandard"; }
  bool mayEnd() const override { return betweenFrames; }

  const char *step(DecoderWindow &window) override {
    if (!state)
      return "out of memory";
    ZSTD_inBuffer in{window.from.data(), window.from.size(), 0};
    ZSTD_outBuffer out{window.to.data(), window.to.size(), 0};
    size_t result = ZSTD_decompressStream(state, &out, &in);
    window.from = window.from.subspan(in.pos);
    window.to = window.to.subspan(out.pos);
    if (ZSTD_isError(result))
      return ZSTD_getErrorName(result);
    // At the end of a frame nothing is asked for. A call without progress
    // there says how large the next header is.
    if (in.pos || out.pos)
      betweenFrames = result == 0;
    return nullptr;
  }

private:
  ZSTD_DStream *state;
  bool betweenFrames = false;
};

//===----------------------------------------------------------------------===//
// Compressed files
//===----------------------------------------------------------------------===//

class CompressedStream : public InputStream {
public:
  CompressedStream(std::string path, std::unique_ptr<InputStream> file,
                   std::unique_ptr<Decoder> decoder)
      : path(std::move(path)), file(std::move(file)),
        decoder(std::move(decoder)), buffer(size_t(1) << 16) {}

  StatusOr<size_t> read(char *out, size_t size) override;
  uint64_t consumed() const override {
    return file->consumed() - window.from.size();
  }

private:
  Status refill();
  Status damaged(const std::string &what) const {
    return dataLoss(path + ": not a whole " + decoder->name() +
                    " file, at byte " + std::to_string(consumed()) + ": " +
                    what);
  }

  std::string path;
  std::unique_ptr<InputStream> file;
  std::unique_ptr<Decoder> decoder;
  std::vector<uint8_t> buffer;
  DecoderWindow window;
};

} // namespace

Status CompressedStream::refill() {
  if (!window.from.empty() || window.fileEnded)
    return okStatus();
  HOCKET_ASSIGN_OR_RETURN(
      size_t got,
      file->read(reinterpret_cast<char *>(buffer.data()), buffer.size()));
  window.from = std::span<const uint8_t>(buffer).first(got);
  window.fileEnded = got < buffer.size();
  return okStatus();
}

StatusOr<size_t> CompressedStream::read(char *out, size_t size) {
  window.to = {reinterpret_cast<uint8_t *>(out), size};
  while (!window.to.empty()) {
    HOCKET_RETURN_IF_ERROR(refill());
    size_t before = window.from.size() + window.to.size();
    if (const char *wrong = decoder->step(window))
      return damaged(wrong);
    if (window.from.size() + window.to.size() < before)
      continue;
    // Nothing taken and nothing made: this is the end, or should be.
    if (!window.from.empty())
      return damaged("the data is damaged");
    if (!window.fileEnded)
      continue;
    if (!decoder->mayEnd())
      return damaged("it ends in the middle");
    break;
  }
  return size - window.to.size();
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

static std::unique_ptr<Decoder> decoderOf(std::string_view path) {
  if (path.ends_with(".gz"))
    return std::make_unique<GzipDecoder>();
  if (path.ends_with(".xz"))
    return std::make_unique<XzDecoder>();
  if (path.ends_with(".zst"))
    return std::make_unique<ZstdDecoder>();
  return nullptr;
}

StatusOr<std::unique_ptr<InputStream>>
InputStream::open(const std::string &path) {
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return cannotRead(path, errno);
  std::unique_ptr<InputStream> plain =
      std::make_unique<PlainStream>(path, file);
  std::unique_ptr<Decoder> decoder = decoderOf(path);
  if (!decoder)
    return plain;
  return std::unique_ptr<InputStream>(std::make_unique<CompressedStream>(
      path, std::move(plain), std::move(decoder)));
}
