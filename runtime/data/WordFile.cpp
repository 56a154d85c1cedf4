//===- WordFile.cpp - Which tokens continue a word ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/WordFile.h"

#include "runtime/data/SideFile.h"

#include <algorithm>
#include <array>

using namespace hocket;
using namespace hocket::data;

static constexpr SideFileKind wordKind{
    .extension = ".words",
    .magic = "HKTWORD1",
    .numbers = 3,
    .purpose = "to say which tokens continue a word",
    .foreign = "does not say which tokens continue a word"};
static constexpr uint64_t mostVocabulary = uint64_t(1) << 31;

std::string data::wordFilePath(const std::string &prefix) {
  return sideFilePath(prefix, wordKind);
}

Status data::removeWordFile(const std::string &prefix) {
  return removeSideFile(prefix, wordKind);
}

StatusOr<std::optional<WordContinuations>>
data::readWordFile(const std::string &prefix, uint64_t tokens) {
  HOCKET_ASSIGN_OR_RETURN(auto side, SideFile::open(prefix, wordKind));
  if (!side)
    return std::optional<WordContinuations>();
  HOCKET_RETURN_IF_ERROR(side->checkCount(tokens, "tokens", ".bin"));
  uint64_t vocabulary = side->numbers()[1], count = side->numbers()[2];
  if (vocabulary > mostVocabulary || count > vocabulary)
    return side->wrong("has numbers that do not go together");
  if (side->file().size() != wordKind.headBytes() + (vocabulary + 7) / 8)
    return side->wrong("has another size than one of " +
                       std::to_string(vocabulary) + " tokens");
  std::vector<uint8_t> bits((vocabulary + 7) / 8);
  HOCKET_RETURN_IF_ERROR(
      side->file().read(wordKind.headBytes(), bits.data(), bits.size()));
  WordContinuations continues(vocabulary);
  for (size_t t = 0; t < continues.size(); ++t)
    continues[t] = bits[t / 8] >> (t % 8) & 1;
  if (uint64_t(std::ranges::count(continues, true)) != count)
    return side->wrong(
        "has not as many tokens that continue a word as it says");
  return std::optional<WordContinuations>(std::move(continues));
}

Status data::writeWordFile(const std::string &prefix, uint64_t tokens,
                           const WordContinuations &continues) {
  auto count = uint64_t(std::ranges::count(continues, true));
  std::vector<uint8_t> bits((continues.size() + 7) / 8);
  for (size_t t = 0; t < continues.size(); ++t)
    bits[t / 8] |= uint8_t((continues[t] ? 1u : 0u) << (t % 8));
  HOCKET_ASSIGN_OR_RETURN(AtomicFile file,
                          createSideFile(prefix, wordKind,
                                         std::array<uint64_t, wordKind.numbers>{
                                             tokens, continues.size(), count}));
  HOCKET_RETURN_IF_ERROR(file.append(bits.data(), bits.size()));
  return file.commit();
}
