//===- Generate.h - Text that a model writes --------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Requests wait for a row of the microbatch, are written in it token by token,
/// and leave it to the next one. What is written for a request depends on
/// nothing but the request: not on the rows, the plan or what else is asked.
///
/// A program with entries that write keeps the keys and values of each row, and
/// computes every token once. One without computes whole sequences for each
/// token; what is written is the same, to the bit.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_INFERENCE_GENERATE_H
#define HOCKET_RUNTIME_INFERENCE_GENERATE_H

#include "runtime/inference/CacheHost.h"
#include "runtime/inference/ModelRun.h"
#include "runtime/inference/PromptImages.h"
#include "runtime/inference/Sampling.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <list>

namespace hocket::inference {

struct GenerateRequest {
  std::vector<int32_t> prompt; ///< At least one token.
  uint64_t tokens = 0;         ///< At most so many are written.
  uint64_t stream = 0;         ///< Of the seed's random numbers.
  SamplingOptions sampling;
  /// Whether what has been written ends here; asked behind each token, on every
  /// rank, and answered by the tokens alone.
  std::function<bool(std::span<const int32_t> written)> ends;
  /// Of how many of the likeliest tokens to tell at each place.
  uint64_t likeliest = 0;
  /// Whether to tell of the prompt's own tokens, too.
  bool tellsOfPrompt = false;
  /// What the prompt's tokens of images stand for, in their order.
  std::vector<TowerImage> images = {};
  /// What was retrieved for it (PromptNeighbors.h).
  std::vector<int32_t> neighbors = {};
};

enum class Finish {
  Ended,  ///< `ends` said so.
  Length, ///< As many tokens as were asked for.
  Full,   ///< The sequence has no position left.
};

/// "stop", "length" or "context".
const char *finishName(Finish finish);

struct TokenChoice {
  int32_t token = 0;
  /// Natural, under the model itself (temperature 1, nothing cut off): what
  /// score() says of the same token, bit for bit.
  float logProbability = 0;
};

/// A token that stands at a place, and those that are likeliest there: of as
/// likely ones the lowest first.
struct PlacedToken : TokenChoice {
  std::vector<TokenChoice> likeliest;
};

struct GeneratedText {
  std::vector<PlacedToken> prompt; ///< From its second token on, if asked for.
  std::vector<int32_t> tokens;
  std::vector<float> logProbabilities;             ///< As a TokenChoice's.
  std::vector<std::vector<TokenChoice>> likeliest; ///< If asked for.
  Finish finish = Finish::Length;
};

/// What stands around the text of a prompt: what the tokenizer puts there, or
/// what is in the text already, as a chat template makes it.
enum class PromptForm { Plain, Markup };

/// The tokens of a text that is to be gone on with, or that an encoder reads,
/// with its end behind it then. Of an empty text the end of a document; empty
/// where the tokenizer has none.
std::vector<int32_t> promptOf(const program::Program &program,
                              const tokenizer::Tokenizer &tokenizer,
                              const std::string &text,
                              PromptForm form = PromptForm::Plain);

/// InvalidArgument for what the program cannot take.
Status checkRequest(const program::Program &program,
                    const GenerateRequest &request);

/// Writes on one rank; what is not said to be local is a collective of the
/// world, in which all ranks have the same requests.
class Generator {
public:
  /// Hears of each token as it is written.
  using Listener = std::function<void(uint64_t id, const PlacedToken &)>;
  struct Finished {
    uint64_t id;
    GeneratedText text;
  };

  /// InvalidArgument for a program that it cannot use.
  static StatusOr<std::unique_ptr<Generator>> create(LoadedModel &model);

  /// Local: puts a checked request behind those that wait. `id` is given back
  /// with what is written.
  void add(uint64_t id, GenerateRequest request);
  /// Local: nobody waits for `id` any more, which may be done.
  void remove(uint64_t id);
  bool isIdle() const { return running.empty() && waiting.empty(); }

  /// One more token of each request that has a row. Those that are done leave.
  StatusOr<std::vector<Finished>> step();

  void setListener(Listener next) { listener = std::move(next); }

private:
  struct Job {
    uint64_t id;
    GenerateRequest request;
    uint64_t row = 0;
    /// The prompt and what is written; with an encoder, which reads the prompt,
    /// the decoder's first token in its place.
    std::vector<int32_t> tokens;
    uint64_t kept = 0; ///< Of these, those that the cache has.
    GeneratedText text;
    uint64_t untold = 0; ///< Places of the prompt to tell of.
    uint64_t seen = 0;   ///< Of its images, those that the cache has.
    uint64_t placed = 0; ///< Of their rows, those that stand in its text.
  };
  /// What the model says of the token behind a place.
  struct Said {
    std::span<const float> logits;
    float minusLse; ///< -log(sum(exp(logits)))
  };

  /// What one forward pass is to tell of.
  struct Pass {
    ScoreHost *host;
    std::string entry;
    std::vector<LabelPlace> places;
    /// Of each job that runs: places of its prompt, and whether its last token
    /// is among them, behind these.
    struct Part {
      uint64_t told = 0;
      bool writes = false;
    };
    std::vector<Part> parts;
  };

  explicit Generator(LoadedModel &model);
  std::vector<Finished> takeFinishedBeforeTheyBegin();
  /// Gives requests that wait a row each; whether there were any.
  bool takeRows();
  Status encode();
  /// Has the tower see the images of texts that begin.
  Status seeImages();
  uint64_t imageRowsOf(const Job &job) const;
  void fillImages(data::Batch &batch) const;
  void fillNeighbors(data::Batch &batch) const;
  void fillPrefixes(data::Batch &batch) const;
  void fill(data::Batch &batch) const;
  /// How many places more can be told of.
  uint64_t roomFor(const Pass &pass) const;
  Pass passOverSequences();
  Pass passOverNewTokens();
  void addNewTokens(Job &job, CacheHost &to, Pass &pass) const;
  PlacedToken placed(const Job &job, int32_t token, const Said &said) const;
  StatusOr<bool> append(Job &job, const Said &said);

  LoadedModel &model;
  const uint64_t rows, length, vocabulary;
  ScoreHost host;
  /// Of a program that keeps a cache.
  std::unique_ptr<CacheHost> prefill, decode;
  std::unique_ptr<EncoderHost> encoder; ///< In the place of `prefill`.
  std::unique_ptr<ImageHost> tower;     ///< Of a program that sees images.
  std::list<Job> waiting, running;
  std::vector<bool> taken; ///< By row.
  Listener listener;
};

struct GeneratedTexts {
  std::vector<GeneratedText> texts;
  double seconds = 0; ///< That writing took.
};

/// Writes for all requests, in their order. Of several processes each gives the
/// same requests, and each has the texts.
StatusOr<GeneratedTexts>
generate(std::shared_ptr<const program::Program> program,
         const std::shared_ptr<const std::vector<GenerateRequest>> &requests,
         const ModelOptions &options, const Generator::Listener &listener = {});

} // namespace hocket::inference

#endif // HOCKET_RUNTIME_INFERENCE_GENERATE_H
