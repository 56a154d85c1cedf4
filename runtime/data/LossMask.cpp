//===- LossMask.cpp - Which tokens are learned ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/LossMask.h"

#include "runtime/data/SideFile.h"

#include <array>
#include <vector>

using namespace hocket;
using namespace hocket::data;

static constexpr SideFileKind maskKind{.extension = ".mask",
                                       .magic = "HKTMASK1",
                                       .numbers = 4,
                                       .purpose = "for a loss mask",
                                       .foreign = "is no loss mask"};

std::string data::lossMaskPath(const std::string &prefix) {
  return sideFilePath(prefix, maskKind);
}

Status data::removeLossMask(const std::string &prefix) {
  return removeSideFile(prefix, maskKind);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

StatusOr<std::optional<LossMask>> LossMask::open(const std::string &prefix,
                                                 uint64_t tokens) {
  HOCKET_ASSIGN_OR_RETURN(auto side, SideFile::open(prefix, maskKind));
  if (!side)
    return std::optional<LossMask>();
  const std::vector<uint64_t> &numbers = side->numbers();
  LossMaskHead head{numbers[0], numbers[1], numbers[2], numbers[3]};
  HOCKET_RETURN_IF_ERROR(side->checkCount(tokens, "tokens", ".bin"));
  if (side->file().size() != maskKind.headBytes() + (tokens + 7) / 8)
    return side->wrong("has another size than the mask of " +
                       std::to_string(tokens) + " tokens");
  if (head.sequenceLength == 0 || tokens % head.sequenceLength != 0 ||
      head.learned > tokens)
    return side->wrong("has numbers that do not go together");
  return std::optional<LossMask>(LossMask(std::move(*side).takeFile(), head));
}

Status LossMask::read(uint64_t first, std::span<uint8_t> learned) const {
  if (learned.empty())
    return okStatus();
  uint64_t begin = first / 8, end = (first + learned.size() + 7) / 8;
  std::vector<uint8_t> bits(end - begin);
  HOCKET_RETURN_IF_ERROR(
      file.read(maskKind.headBytes() + begin, bits.data(), bits.size()));
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
  HOCKET_ASSIGN_OR_RETURN(
      AtomicFile file,
      createSideFile(prefix, maskKind,
                     std::array<uint64_t, maskKind.numbers>{}));
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
  HOCKET_RETURN_IF_ERROR(
      writeSideNumbers(file, maskKind,
                       std::array{about.tokens, about.sequenceLength,
                                  about.endOfConversation, about.learned}));
  return file.commit();
}
