//===- LossMask.cpp - Which tokens are learned ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/LossMask.h"

#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

using namespace hocket;
using namespace hocket::data;

static_assert(std::endian::native == std::endian::little);

static constexpr std::string_view magic = "HKTMASK1";
static constexpr uint64_t headBytes = 40;

std::string data::lossMaskPath(const std::string &prefix) {
  return prefix + ".mask";
}

Status data::removeLossMask(const std::string &prefix) {
  std::error_code error;
  std::filesystem::remove(lossMaskPath(prefix), error);
  if (error)
    return invalidArgument(lossMaskPath(prefix) +
                           ": cannot be removed: " + error.message());
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

StatusOr<std::optional<LossMask>> LossMask::open(const std::string &prefix,
                                                 uint64_t tokens) {
  std::string path = lossMaskPath(prefix);
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return std::optional<LossMask>();
  auto wrong = [&](const std::string &what) {
    return dataLoss(path + ": " + what);
  };
  HOCKET_ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::open(path));
  std::array<uint8_t, headBytes> bytes;
  if (file.size() < headBytes)
    return wrong("is too short for a loss mask");
  HOCKET_RETURN_IF_ERROR(file.read(0, bytes.data(), bytes.size()));
  if (std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
    return wrong("is no loss mask");
  std::array<uint64_t, 4> numbers;
  std::memcpy(numbers.data(), bytes.data() + magic.size(), sizeof(numbers));
  LossMaskHead head{numbers[0], numbers[1], numbers[2], numbers[3]};
  if (head.tokens != tokens)
    return wrong("is of " + std::to_string(head.tokens) + " tokens, and " +
                 prefix + ".bin has " + std::to_string(tokens) +
                 "; prepare the data again");
  if (file.size() != headBytes + (tokens + 7) / 8)
    return wrong("has another size than the mask of " + std::to_string(tokens) +
                 " tokens");
  if (head.sequenceLength == 0 || tokens % head.sequenceLength != 0 ||
      head.learned > tokens)
    return wrong("has numbers that do not go together");
  return std::optional<LossMask>(LossMask(std::move(file), head));
}

Status LossMask::read(uint64_t first, std::span<uint8_t> learned) const {
  if (learned.empty())
    return okStatus();
  uint64_t begin = first / 8, end = (first + learned.size() + 7) / 8;
  std::vector<uint8_t> bits(end - begin);
  HOCKET_RETURN_IF_ERROR(
      file.read(headBytes + begin, bits.data(), bits.size()));
  for (size_t i = 0; i < learned.size(); ++i) {
    uint64_t token = first + i;
    learned[i] = bits[token / 8 - begin] >> (token % 8) & 1;
  }
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

StatusOr<LossMaskWriter> LossMaskWriter::create(const std::string &prefix) {
  HOCKET_ASSIGN_OR_RETURN(AtomicFile file,
                          AtomicFile::create(lossMaskPath(prefix)));
  std::array<uint8_t, headBytes> empty = {};
  HOCKET_RETURN_IF_ERROR(file.append(empty.data(), empty.size()));
  return LossMaskWriter(std::move(file));
}

Status LossMaskWriter::append(std::span<const uint8_t> learned) {
  std::vector<uint8_t> bytes;
  for (uint8_t bit : learned) {
    open |= uint8_t((bit ? 1u : 0u) << (about.tokens % 8));
    about.learned += bit != 0;
    if (++about.tokens % 8 == 0) {
      bytes.push_back(open);
      open = 0;
    }
  }
  return file.append(bytes.data(), bytes.size());
}

Status LossMaskWriter::finish(uint64_t sequenceLength,
                              uint64_t endOfConversation) {
  if (about.tokens % 8 != 0)
    HOCKET_RETURN_IF_ERROR(file.append(&open, 1));
  about.sequenceLength = sequenceLength;
  about.endOfConversation = endOfConversation;
  std::array<uint64_t, 4> numbers = {about.tokens, about.sequenceLength,
                                     about.endOfConversation, about.learned};
  std::array<uint8_t, headBytes> head;
  std::memcpy(head.data(), magic.data(), magic.size());
  std::memcpy(head.data() + magic.size(), numbers.data(), sizeof(numbers));
  HOCKET_RETURN_IF_ERROR(file.writeAt(0, head.data(), head.size()));
  return file.commit();
}
