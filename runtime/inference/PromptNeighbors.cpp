//===- PromptNeighbors.cpp - What was retrieved for prompts ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/inference/PromptNeighbors.h"

#include "base/Format.h"
#include "base/Quantity.h"
#include "runtime/inference/ModelRun.h"

using namespace hocket;
using namespace hocket::inference;

StatusOr<std::vector<int32_t>>
inference::neighborsOf(const program::Program &program,
                       const tokenizer::Tokenizer &tokenizer,
                       const std::vector<std::string> &texts) {
  const auto &retrieval = program.training().retrieval();
  if (!program.training().has_retrieval())
    return invalidArgument("the model attends to no retrieved texts; leave "
                           "them out");
  if (texts.size() > retrieval.neighbors())
    return invalidArgument(
        formatText("there are %zu retrieved texts, the model takes %llu "
                   "(model.retrieval.neighbors)",
                   texts.size(), wide(retrieval.neighbors())));
  uint64_t each = retrieval.retrieved_length();
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < texts.size(); ++i) {
    tokenizer.encode(texts[i], tokens);
    if (tokens.size() > (i + 1) * each)
      return invalidArgument(
          formatText("the retrieved text %zu has %zu tokens, the model takes "
                     "%llu (model.retrieval.retrieved_length): shorten it",
                     i + 1, tokens.size() - size_t(i * each), wide(each)));
    tokens.resize((i + 1) * each, int32_t(retrieval.pad_token()));
  }
  tokens.resize(retrieval.neighbors() * each, int32_t(retrieval.pad_token()));
  return tokens;
}

Status inference::checkNeighbors(const program::Program &program,
                                 const std::vector<int32_t> &neighbors) {
  if (!program.training().has_retrieval())
    return neighbors.empty()
               ? okStatus()
               : invalidArgument("the model attends to no retrieved texts");
  if (neighbors.empty())
    return invalidArgument(
        "the model attends to texts that were retrieved for a prompt, and "
        "there are none: give them as --retrieved, or as \"retrieved\" of a "
        "line of --prompts or of a request to a server");
  const auto &retrieval = program.training().retrieval();
  uint64_t taken = retrieval.neighbors() * retrieval.retrieved_length();
  if (neighbors.size() != taken)
    return invalidArgument("the retrieved texts have " +
                           formatNoun(neighbors.size(), "token") +
                           ", the model takes " + std::to_string(taken));
  return checkTokensOf(program, neighbors, "a retrieved text");
}
