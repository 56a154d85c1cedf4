//===- CorpusReport.cpp - What token files hold, for people ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/data/CorpusReport.h"

#include "base/Format.h"
#include "base/Quantity.h"
#include "runtime/tools/page/Page.h"

#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::data;
using nlohmann::ordered_json;

static double meanLength(const CorpusSummary &corpus) {
  return corpus.documents ? double(corpus.tokens) / double(corpus.documents)
                          : 0.0;
}

/// Of bucket k: 0, 1, 2, 4, 8, ...
static uint64_t leastOf(size_t bucket) {
  return bucket ? uint64_t(1) << (bucket - 1) : 0;
}

static uint64_t mostOf(size_t bucket) {
  return bucket < 2 ? bucket : leastOf(bucket) * 2 - 1;
}

static std::string share(double part, double all) {
  return formatText("%.1f %%", all > 0 ? 100.0 * part / all : 0.0);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string bucketName(size_t bucket) {
  if (bucket < 2)
    return std::to_string(bucket);
  return formatGrouped(leastOf(bucket)) + " to " +
         formatGrouped(mostOf(bucket));
}

static std::string corpusText(const CorpusSummary &corpus) {
  std::string text = corpus.prefix +
                     ".{bin,idx}: " + formatNoun(corpus.documents, "document") +
                     " in " + formatNoun(corpus.sequences, "sequence") + ", " +
                     formatNoun(corpus.tokens, "token") + " of type " +
                     tokenTypeName(corpus.type) + "\n";
  if (const auto &mask = corpus.mask)
    text += "conversations: " + formatGrouped(mask->learned) +
            " tokens are answers (" +
            share(double(mask->learned), double(corpus.tokens)) +
            "), the others are no labels; packed into sequences of " +
            formatGrouped(mask->sequenceLength) +
            " tokens, each conversation ended by token " +
            std::to_string(mask->endOfConversation) + "\n";
  if (const auto &images = corpus.images) {
    std::string side = std::to_string(images->imageSize);
    text += "images: " + formatGrouped(images->images) + " of " + side + " x " +
            side + " pixels, used " + formatNoun(images->uses, "time") +
            ", at most " + std::to_string(images->mostPerDocument) +
            " in a sequence; each has " +
            formatNoun(images->tokensPerImage, "token") + " " +
            std::to_string(images->imageToken) + "\n";
  }
  for (const auto &[name, documents] : corpus.classes)
    text += (name == corpus.classes.front().first ? "classes: " : ", ") + name +
            " " + formatGrouped(documents) + " (" +
            share(double(documents), double(corpus.documents)) + ")";
  if (!corpus.classes.empty())
    text += "\n";
  if (corpus.documents == 0)
    return text;
  text += formatTable(
      {"tokens of a document", ">shortest", ">median", ">mean", ">90 %",
       ">99 %", ">longest"},
      {{"", formatGrouped(corpus.shortest), formatGrouped(corpus.median),
        formatText("%.1f", meanLength(corpus)), formatGrouped(corpus.p90),
        formatGrouped(corpus.p99), formatGrouped(corpus.longest)}});
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < corpus.buckets.size(); ++i)
    if (const LengthBucket &bucket = corpus.buckets[i]; bucket.documents)
      rows.push_back({bucketName(i), formatGrouped(bucket.documents),
                      share(double(bucket.documents), double(corpus.documents)),
                      formatGrouped(bucket.tokens),
                      share(double(bucket.tokens), double(corpus.tokens))});
  return text + formatTable({"tokens of a document", ">documents", ">share",
                             ">tokens", ">share"},
                            rows);
}

/// What each has of all, and in a blend, how much is read of it.
static std::string sharesText(const std::vector<ReportedCorpus> &corpora) {
  uint64_t documents = 0, tokens = 0;
  double weights = 0;
  for (const ReportedCorpus &corpus : corpora) {
    documents += corpus.summary.documents;
    tokens += corpus.summary.tokens;
    weights += corpus.weight.value_or(0);
  }
  std::vector<std::string> titles = {"files", ">documents", ">tokens",
                                     ">share"};
  std::vector<std::string> last = {"all", formatGrouped(documents),
                                   formatGrouped(tokens), "100.0 %"};
  if (weights > 0) {
    titles.insert(titles.end(), {">weight", ">passes"});
    last.insert(last.end(), {"100.0 %", "1.00"});
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto &[corpus, weight] : corpora) {
    double part = double(corpus.tokens);
    rows.push_back({corpus.prefix, formatGrouped(corpus.documents),
                    formatGrouped(corpus.tokens), share(part, double(tokens))});
    if (weights > 0) {
      double passes = part > 0 ? *weight / weights * double(tokens) / part : 0;
      rows.back().push_back(share(*weight, weights));
      rows.back().push_back(formatText("%.2f", passes));
    }
  }
  rows.push_back(last);
  return formatTable(titles, rows);
}

std::string hocket::corporaText(const std::vector<ReportedCorpus> &corpora) {
  std::string text;
  for (const ReportedCorpus &corpus : corpora)
    text += corpusText(corpus.summary);
  return corpora.size() > 1 ? text + sharesText(corpora) : text;
}

//===----------------------------------------------------------------------===//
// JSON and the page
//===----------------------------------------------------------------------===//

ordered_json hocket::corpusJson(const ReportedCorpus &reported) {
  const CorpusSummary &corpus = reported.summary;
  ordered_json object;
  object["prefix"] = corpus.prefix;
  if (reported.weight)
    object["weight"] = *reported.weight;
  object["token_type"] = tokenTypeName(corpus.type);
  object["documents"] = corpus.documents;
  object["empty_documents"] = corpus.buckets[0].documents;
  object["sequences"] = corpus.sequences;
  object["tokens"] = corpus.tokens;
  if (const auto &mask = corpus.mask) {
    object["learned"] = mask->learned;
    object["packed"] = mask->sequenceLength;
    object["end_of_conversation"] = mask->endOfConversation;
  }
  if (const auto &images = corpus.images)
    object["images"] = {{"images", images->images},
                        {"uses", images->uses},
                        {"size", images->imageSize},
                        {"tokens", images->tokensPerImage},
                        {"token", images->imageToken},
                        {"most_per_sequence", images->mostPerDocument}};
  for (const auto &[name, documents] : corpus.classes)
    object["classes"][name] = documents;
  object["shortest"] = corpus.shortest;
  object["mean"] = meanLength(corpus);
  object["median"] = corpus.median;
  object["p90"] = corpus.p90;
  object["p99"] = corpus.p99;
  object["longest"] = corpus.longest;
  object["lengths"] = ordered_json::array();
  for (size_t i = 0; i < corpus.buckets.size(); ++i)
    if (const LengthBucket &bucket = corpus.buckets[i]; bucket.documents)
      object["lengths"].push_back({{"from", leastOf(i)},
                                   {"to", mostOf(i)},
                                   {"documents", bucket.documents},
                                   {"tokens", bucket.tokens}});
  return object;
}

std::string hocket::corporaPage(const std::vector<ReportedCorpus> &corpora) {
  ordered_json files = ordered_json::array();
  for (const ReportedCorpus &corpus : corpora)
    files.push_back(corpusJson(corpus));
  return pageText(dataPage, {{"files", files}});
}
