//===- TokenCheck.cpp - Data against the vocabulary -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/step/TokenCheck.h"

#include "base/Format.h"
#include "base/ResultCache.h"
#include "runtime/data/TokenExtremes.h"
#include "runtime/data/samples/BlendedDataset.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <sstream>
#include <sys/stat.h>

using namespace hocket;
using namespace hocket::data;

/// A file of fewer bytes is read faster than anyone notices.
static constexpr uint64_t worthKeeping = uint64_t(16) << 20;

/// What changes whenever somebody writes to the file.
static std::optional<std::string> stampOf(const std::string &path) {
  struct stat info;
  std::error_code error;
  std::filesystem::path whole = std::filesystem::canonical(path, error);
  if (error || ::stat(path.c_str(), &info) != 0)
    return std::nullopt;
  std::ostringstream text;
  text << whole.string() << ' ' << info.st_ino << ' ' << info.st_size << ' '
       << info.st_mtim.tv_sec << '.' << info.st_mtim.tv_nsec << ' '
       << info.st_ctim.tv_sec << '.' << info.st_ctim.tv_nsec;
  return text.str();
}

namespace {
/// Where the extremes of one file are kept, if anywhere.
class KeptExtremes {
public:
  explicit KeptExtremes(const std::string &prefix) {
    std::optional<std::string> bin = stampOf(prefix + ".bin"),
                               index = stampOf(prefix + ".idx");
    auto opened = ResultCache::open();
    if (!bin || !index || !opened.ok())
      return;
    cache = *std::move(opened);
    key = ResultCache::keyOf({"extremes of tokens, version 1", *bin, *index});
  }

  std::optional<TokenExtremes> find() const {
    std::optional<std::string> text;
    if (cache)
      text = cache->find(key);
    TokenExtremes kept;
    std::istringstream words(text.value_or(""));
    for (PlacedToken *placed : {&kept.least, &kept.greatest})
      words >> placed->token >> placed->sequence >> placed->position;
    return words ? std::optional(kept) : std::nullopt;
  }

  /// That it cannot be kept costs time at the next start and nothing else.
  void store(const TokenExtremes &extremes) const {
    std::ostringstream words;
    for (const PlacedToken &placed : {extremes.least, extremes.greatest})
      words << placed.token << ' ' << placed.sequence << ' ' << placed.position
            << '\n';
    if (cache)
      (void)cache->store(key, words.str());
  }

private:
  std::optional<ResultCache> cache;
  std::string key;
};
} // namespace

/// Says how far the reading of a file is, once that takes half a second: ten
/// times a second on a terminal, elsewhere twice a minute.
static data::ScanProgress progressOf(const std::string &prefix,
                                     const RunOutput &output,
                                     const std::function<bool()> &interrupted) {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  std::chrono::milliseconds pause = output.show ? 100ms : 30'000ms;
  return [=, due = Clock::now() + 500ms](uint64_t done, uint64_t all) mutable {
    if (Clock::now() < due)
      return !interrupted();
    due = Clock::now() + pause;
    (output.show ? output.show
                 : output.print)("comparing the tokens of " + prefix +
                                 " with the vocabulary: " + formatBytes(done) +
                                 " of " + formatBytes(all));
    return !interrupted();
  };
}

static Status checkFile(const std::string &prefix, uint64_t vocabularySize,
                        const ScanProgress &progress) {
  HOCKET_ASSIGN_OR_RETURN(IndexedDataset file, IndexedDataset::open(prefix));
  if (!canLeaveVocabulary(file.tokenType(), vocabularySize))
    return okStatus();
  std::optional<KeptExtremes> kept;
  std::optional<TokenExtremes> extremes;
  if (file.tokens() * tokenBytes(file.tokenType()) >= worthKeeping) {
    kept.emplace(prefix);
    extremes = kept->find();
  }
  if (!extremes) {
    HOCKET_ASSIGN_OR_RETURN(extremes, findTokenExtremes(file, progress));
    if (kept && extremes)
      kept->store(*extremes);
  }
  return extremes ? checkVocabulary(prefix, *extremes, vocabularySize)
                  : okStatus();
}

Status hocket::checkTokens(const std::vector<std::string> &words,
                           uint64_t vocabularySize, const RunOutput &output,
                           const std::function<bool()> &interrupted) {
  HOCKET_ASSIGN_OR_RETURN(std::vector<BlendPart> parts, parseBlend(words));
  for (const BlendPart &part : parts) {
    HOCKET_ASSIGN_OR_RETURN(std::string prefix, resolvePrefix(part.prefix));
    HOCKET_RETURN_IF_ERROR(checkFile(prefix, vocabularySize,
                                     progressOf(prefix, output, interrupted)));
  }
  return okStatus();
}
