//===- WordFile.cpp - Which tokens continue a word ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/WordFile.h"

#include "base/File.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <string_view>

using namespace hocket;
using namespace hocket::data;

static_assert(std::endian::native == std::endian::little);

static constexpr std::string_view wordMagic = "HKTWORD1";
static constexpr uint64_t wordHeadBytes = 32;
static constexpr uint64_t mostVocabulary = uint64_t(1) << 31;

std::string data::wordFilePath(const std::string &prefix) {
  return prefix + ".words";
}

Status data::removeWordFile(const std::string &prefix) {
  std::error_code error;
  std::filesystem::remove(wordFilePath(prefix), error);
  if (error)
    return invalidArgument(wordFilePath(prefix) +
                           ": cannot be removed: " + error.message());
  return okStatus();
}

StatusOr<std::optional<WordContinuations>>
data::readWordFile(const std::string &prefix, uint64_t tokens) {
  std::string path = wordFilePath(prefix);
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return std::optional<WordContinuations>();
  auto wrong = [&](const std::string &what) {
    return dataLoss(path + ": " + what);
  };
  HOCKET_ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::open(path));
  std::array<uint8_t, wordHeadBytes> head;
  if (file.size() < wordHeadBytes)
    return wrong("is too short to say which tokens continue a word");
  HOCKET_RETURN_IF_ERROR(file.read(0, head.data(), head.size()));
  if (std::memcmp(head.data(), wordMagic.data(), wordMagic.size()) != 0)
    return wrong("does not say which tokens continue a word");
  std::array<uint64_t, 3> numbers;
  std::memcpy(numbers.data(), head.data() + wordMagic.size(), sizeof(numbers));
  auto [ofTokens, vocabulary, count] = numbers;
  if (ofTokens != tokens)
    return wrong("is of " + std::to_string(ofTokens) + " tokens, and " +
                 prefix + ".bin has " + std::to_string(tokens) +
                 "; prepare the data again");
  if (vocabulary > mostVocabulary || count > vocabulary)
    return wrong("has numbers that do not go together");
  if (file.size() != wordHeadBytes + (vocabulary + 7) / 8)
    return wrong("has another size than one of " + std::to_string(vocabulary) +
                 " tokens");
  std::vector<uint8_t> bits((vocabulary + 7) / 8);
  HOCKET_RETURN_IF_ERROR(file.read(wordHeadBytes, bits.data(), bits.size()));
  WordContinuations continues(vocabulary);
  for (size_t t = 0; t < continues.size(); ++t)
    continues[t] = bits[t / 8] >> (t % 8) & 1;
  if (uint64_t(std::ranges::count(continues, true)) != count)
    return wrong("has not as many tokens that continue a word as it says");
  return std::optional<WordContinuations>(std::move(continues));
}

Status data::writeWordFile(const std::string &prefix, uint64_t tokens,
                           const WordContinuations &continues) {
  std::array<uint64_t, 3> numbers = {
      tokens, continues.size(), uint64_t(std::ranges::count(continues, true))};
  std::vector<uint8_t> bits((continues.size() + 7) / 8);
  for (size_t t = 0; t < continues.size(); ++t)
    bits[t / 8] |= uint8_t((continues[t] ? 1u : 0u) << (t % 8));
  HOCKET_ASSIGN_OR_RETURN(AtomicFile file,
                          AtomicFile::create(wordFilePath(prefix)));
  HOCKET_RETURN_IF_ERROR(file.append(wordMagic));
  HOCKET_RETURN_IF_ERROR(file.append(numbers.data(), sizeof(numbers)));
  HOCKET_RETURN_IF_ERROR(file.append(bits.data(), bits.size()));
  return file.commit();
}
