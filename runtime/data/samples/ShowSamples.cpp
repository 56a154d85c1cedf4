//===- ShowSamples.cpp - Samples as text or JSON --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/ShowSamples.h"

#include "base/json/JsonLines.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <ostream>

using namespace hocket;
using namespace hocket::data;

static bool parseNumber(std::string_view text, uint64_t &value) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

StatusOr<SampleRange> data::parseSampleRange(const std::string &text) {
  SampleRange range;
  size_t colon = text.find(':');
  bool good = parseNumber(std::string_view(text).substr(0, colon), range.begin);
  if (colon == std::string::npos)
    range.end = range.begin + 1;
  else
    good = good &&
           parseNumber(std::string_view(text).substr(colon + 1), range.end);
  if (good && range.begin < range.end)
    return range;
  return invalidArgument("expected samples A:B with A < B, found '" + text +
                         "'");
}

namespace {
/// Everything that is shown of a sample.
struct ShownSample {
  uint64_t number;
  std::vector<SampleSegment> segments;
  std::vector<int32_t> tokens;
  std::vector<uint8_t> learned; ///< One a token, where some are not.
  /// Of masked tokens, whose `tokens` are without padding.
  std::vector<int32_t> labels, types;
  bool isSwapped = false;
  std::optional<std::string> className; ///< Of labelled texts; "": none.
  std::vector<int32_t> encoder;         ///< Of corrupted spans, with `labels`.
  int32_t imageToken = -1;        ///< Whose runs are shown as one, or none.
  std::vector<float> pixels;      ///< Of samples with images,
  std::vector<int32_t> imageRows; ///< and where they stand.
  NeighborShape shape;            ///< Of samples with neighbours,
  std::vector<int32_t> neighbors; ///< and their tokens.

  /// Calls visit(chunk, neighbour, tokens) for each of these.
  template <typename Visit> void eachNeighbor(Visit visit) const {
    std::span<const int32_t> rest(neighbors);
    for (uint64_t i = 0; !rest.empty(); ++i) {
      visit(i / shape.neighbors, i % shape.neighbors,
            rest.first(shape.retrievedLength));
      rest = rest.subspan(shape.retrievedLength);
    }
  }
};
} // namespace

static void writeJson(const ShownSample &sample, std::ostream &out) {
  nlohmann::ordered_json object;
  object["sample"] = sample.number;
  object["pieces"] = nlohmann::ordered_json::array();
  for (const SampleSegment &segment : sample.segments)
    object["pieces"].push_back({{"prefix", segment.prefix},
                                {"sequence", segment.sequence},
                                {"offset", segment.offset},
                                {"length", segment.length}});
  object["tokens"] = sample.tokens;
  if (!sample.learned.empty())
    object["learned"] = sample.learned;
  if (!sample.imageRows.empty()) {
    object["image_rows"] = sample.imageRows;
    object["pixels"] = sample.pixels;
  }
  sample.eachNeighbor([&](uint64_t chunk, uint64_t, auto tokens) {
    object["neighbors"][chunk].push_back(
        std::vector<int32_t>(tokens.begin(), tokens.end()));
  });
  if (!sample.encoder.empty()) {
    object["encoder_tokens"] = sample.encoder;
    object["labels"] = sample.labels;
  } else if (!sample.labels.empty()) {
    object["labels"] = sample.labels;
    object["token_types"] = sample.types;
    if (sample.className)
      object["class"] = *sample.className;
    else
      object["swapped"] = sample.isSwapped;
  }
  out << toJsonText(object) << '\n';
}

/// Control characters and line feeds as escapes, so that a text is one line.
static std::string onOneLine(const std::string &text) {
  std::string line;
  for (char c : text) {
    if (c == '\n')
      line += "\\n";
    else if (uint8_t(c) < 0x20 || c == 0x7f)
      line += '?';
    else
      line += c;
  }
  return line;
}

/// How many of the tokens from `begin` on are `token`.
static size_t runAt(std::span<const int32_t> tokens, size_t begin,
                    int32_t token) {
  size_t end = begin;
  while (end < tokens.size() && tokens[end] == token)
    ++end;
  return end - begin;
}

/// The text of `tokens`, of which those that are learned stand in brackets. An
/// image's are told once, with their number.
static std::string textOf(const tokenizer::Tokenizer &tokenizer,
                          std::span<const int32_t> tokens,
                          std::span<const uint8_t> learned,
                          int32_t imageToken) {
  if (learned.empty())
    return tokenizer.decode(tokens);
  auto decode = [&](size_t begin, size_t count) {
    return tokenizer.decode(tokens.subspan(begin, count),
                            tokenizer::SpecialTokens::Shown);
  };
  std::string text;
  for (size_t begin = 0, end = 0; begin < tokens.size(); begin = end) {
    if (size_t run = runAt(tokens, begin, imageToken)) {
      text += decode(begin, 1) + " x " + std::to_string(run);
      end = begin + run;
      continue;
    }
    while (end < tokens.size() && learned[end] == learned[begin] &&
           tokens[end] != imageToken)
      ++end;
    std::string part = decode(begin, end - begin);
    text += learned[begin] ? "[[" + part + "]]" : part;
  }
  return text;
}

static void writeText(const ShownSample &sample,
                      const tokenizer::Tokenizer *tokenizer,
                      std::ostream &out) {
  out << "sample " << sample.number << '\n';
  std::span<const int32_t> rest(sample.tokens);
  std::span<const uint8_t> restLearned(sample.learned);
  for (const SampleSegment &segment : sample.segments) {
    auto tokens = rest.first(segment.length);
    rest = rest.subspan(segment.length);
    auto learned = restLearned.first(restLearned.empty() ? 0 : segment.length);
    restLearned = restLearned.subspan(learned.size());
    out << "  " << segment.prefix << " sequence " << segment.sequence << " ["
        << segment.offset << ", " << segment.offset + segment.length << ")";
    if (tokenizer)
      out << "  "
          << onOneLine(textOf(*tokenizer, tokens, learned, sample.imageToken));
    out << "\n   ";
    for (size_t i = 0; i < tokens.size();) {
      size_t run = runAt(tokens, i, sample.imageToken);
      out << ' ' << tokens[i];
      if (run)
        out << " x " << run;
      i += run ? run : 1;
    }
    out << '\n';
  }
  sample.eachNeighbor([&](uint64_t chunk, uint64_t neighbor, auto of) {
    out << "  chunk " << chunk << ", neighbour " << neighbor << ':';
    if (tokenizer)
      out << "  "
          << onOneLine(tokenizer->decode(of, tokenizer::SpecialTokens::Shown))
          << "\n   ";
    for (int32_t token : of)
      out << ' ' << token;
    out << '\n';
  });
}

/// A sample of masked tokens: its tokens are not those of its sentences.
static void writeFramedText(const ShownSample &sample,
                            const tokenizer::Tokenizer *tokenizer,
                            std::ostream &out) {
  out << "sample " << sample.number
      << (sample.isSwapped ? ", its texts swapped" : "");
  if (sample.className)
    out << (!sample.className->empty() ? ", class " + *sample.className
            : sample.segments.empty()  ? ", no class"
                                       : ", another choice");
  out << '\n';
  for (const SampleSegment &segment : sample.segments)
    out << "  " << segment.prefix
        << (sample.className ? " text " : " sentence ") << segment.sequence
        << '\n';
  if (tokenizer)
    out << "  "
        << onOneLine(tokenizer->decode(sample.tokens,
                                       tokenizer::SpecialTokens::Shown))
        << '\n';
  for (const auto &[name, list] :
       {std::pair{"tokens", &sample.tokens}, {"labels", &sample.labels}}) {
    out << "  " << name;
    for (int32_t number : *list)
      out << ' ' << number;
    out << '\n';
  }
}

/// A sample of corrupted spans: what it is made of, and both sequences.
static void writeSpanText(const ShownSample &sample,
                          const tokenizer::Tokenizer *tokenizer,
                          std::ostream &out) {
  out << "sample " << sample.number << '\n';
  for (const SampleSegment &segment : sample.segments)
    out << "  " << segment.prefix << " sequence " << segment.sequence << " ["
        << segment.offset << ", " << segment.offset + segment.length << ")\n";
  for (const auto &[name, list] : {std::pair{"encoder", &sample.encoder},
                                   {"tokens", &sample.tokens},
                                   {"labels", &sample.labels}}) {
    bool isText = tokenizer && list != &sample.labels;
    out << "  " << name;
    if (isText)
      out << "  "
          << onOneLine(
                 tokenizer->decode(*list, tokenizer::SpecialTokens::Shown))
          << "\n   ";
    for (int32_t number : *list)
      out << ' ' << number;
    out << '\n';
  }
}

static Status readSpanSample(const SampleSource &source, ShownSample &sample) {
  sample.encoder.resize(source.encoderLength());
  for (auto *list : {&sample.tokens, &sample.labels})
    list->resize(source.sequenceLength());
  SpanSample read{sample.encoder, sample.tokens, sample.labels};
  return source.readSpans(sample.number, read);
}

static Status readImages(const SampleSource &source, ShownSample &sample) {
  sample.pixels.resize(source.imageShape().floats());
  sample.imageRows.resize(source.sequenceLength());
  ImageSample read{sample.pixels, sample.imageRows};
  return source.readImages(sample.number, read);
}

static Status readNeighbors(const SampleSource &source, ShownSample &sample) {
  sample.shape = source.neighborShape();
  sample.neighbors.resize(sample.shape.tokens(source.sequenceLength()));
  return source.readNeighbors(sample.number, sample.neighbors);
}

/// Without padding.
static Status readFramedSample(const SampleSource &source,
                               ShownSample &sample) {
  for (auto *list : {&sample.tokens, &sample.labels, &sample.types})
    list->resize(source.sequenceLength());
  FramedSample read;
  read.tokens = sample.tokens;
  read.labels = sample.labels;
  read.types = sample.types;
  HOCKET_RETURN_IF_ERROR(source.readFramed(sample.number, read));
  for (auto *list : {&sample.tokens, &sample.labels, &sample.types})
    list->resize(read.length);
  sample.isSwapped = read.isSwapped;
  const std::vector<std::string> names = source.classNames();
  int32_t label = sample.labels.front();
  if (!names.empty())
    sample.className = label < 0 ? "" : names[size_t(label)];
  return okStatus();
}

Status data::showSamples(const SampleSource &source, const ShowOptions &options,
                         std::ostream &out) {
  if (options.range.end > source.size())
    return invalidArgument("expected samples below " +
                           std::to_string(source.size()) + ", found " +
                           std::to_string(options.range.begin) + ":" +
                           std::to_string(options.range.end));
  ShownSample sample;
  sample.tokens.resize(source.sequenceLength() + 1);
  if (source.lossMask() || source.hasPrefixes())
    sample.learned.resize(sample.tokens.size());
  if (source.imageShape().images > 0)
    sample.imageToken = source.imageShape().token;
  for (sample.number = options.range.begin; sample.number < options.range.end;
       ++sample.number) {
    if (source.isFramed())
      HOCKET_RETURN_IF_ERROR(readFramedSample(source, sample));
    else if (source.encoderLength() > 0)
      HOCKET_RETURN_IF_ERROR(readSpanSample(source, sample));
    else
      HOCKET_RETURN_IF_ERROR(source.read(sample.number, sample.tokens));
    if (!sample.learned.empty())
      HOCKET_RETURN_IF_ERROR(source.readLearned(sample.number, sample.learned));
    if (source.imageShape().images > 0)
      HOCKET_RETURN_IF_ERROR(readImages(source, sample));
    if (source.neighborShape().neighbors > 0)
      HOCKET_RETURN_IF_ERROR(readNeighbors(source, sample));
    HOCKET_ASSIGN_OR_RETURN(sample.segments, source.segments(sample.number));
    if (options.json)
      writeJson(sample, out);
    else if (source.isFramed())
      writeFramedText(sample, options.tokenizer, out);
    else if (source.encoderLength() > 0)
      writeSpanText(sample, options.tokenizer, out);
    else
      writeText(sample, options.tokenizer, out);
  }
  return okStatus();
}
