//===- RetrievedData.cpp - Neighbours of the samples of a test ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/RetrievedData.h"

#include "runtime/data/samples/NeighborSearch.h"
#include "runtime/data/samples/RunSamples.h"
#include "runtime/train/TrainingData.h"

#include <algorithm>
#include <memory>

using namespace hocket;
using namespace hocket::test;

namespace {

/// How often a chunk has tokens of each of eight remainders.
class CountingEmbedder : public data::ChunkEmbedder {
public:
  uint64_t dim() const override { return 8; }
  Sha256::Digest digest() const override { return {1}; }
  uint64_t atOnce() const override { return 16; }

  Status embed(std::span<const data::ChunkTokens> chunks,
               std::span<float> out) override {
    std::ranges::fill(out, 0.0f);
    for (size_t i = 0; i < chunks.size(); ++i)
      for (int32_t token : chunks[i])
        out[i * dim() + size_t(token) % dim()] += 1 + 0.01f * float(token);
    return okStatus();
  }
};

} // namespace

Status test::retrieveFor(const program::Program &program,
                         const std::string &prefix) {
  data::RunData run;
  run.data = {prefix};
  HOCKET_ASSIGN_OR_RETURN(
      data::RunSamplesRequest request,
      data::resolveRunSamples(
          run, datasetOptionsOf(program, program.training().seed()),
          runLengthOf(program, program.training().steps()),
          data::Split::Train));
  const data::RetrievalOptions &retrieval = *request.options.retrieval;
  data::NeighborSearchOptions search;
  search.corpus = retrieval.corpus;
  search.chunkLength = retrieval.shape.chunkLength;
  search.neighbors = retrieval.shape.neighbors;
  search.vocabularySize = request.options.vocabularySize;
  search.threads = 1;
  search.embedder = std::make_shared<CountingEmbedder>();
  data::NeighborTarget target;
  HOCKET_ASSIGN_OR_RETURN(auto file, data::IndexedDataset::open(prefix));
  target.file = std::make_shared<const data::IndexedDataset>(std::move(file));
  target.options = request.options;
  target.split = request.split;
  target.samples = request.samples;
  HOCKET_ASSIGN_OR_RETURN(
      target.text, data::GptDataset::create(target.file, target.options,
                                            target.split, target.samples));
  auto opened = data::NeighborSearch::open(
      search, [](const std::string &, uint64_t, uint64_t) { return true; });
  HOCKET_RETURN_IF_ERROR(opened.status());
  return (*opened)->find(target).status();
}
