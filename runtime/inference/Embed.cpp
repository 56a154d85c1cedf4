//===- Embed.cpp - Embeddings of texts by an encoder ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/inference/Embed.h"

#include "runtime/program/Entries.h"
#include "runtime/train/TrainingData.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

using namespace hocket;
using namespace hocket::inference;

namespace {

/// The tokens around a text, and behind it.
struct Frame {
  int32_t cls = 0, sep = 0, pad = 0;
};

Frame frameOf(const program::Program &program) {
  const program::TrainingInfo &training = program.training();
  if (training.has_masked_lm())
    return {int32_t(training.masked_lm().cls_token()),
            int32_t(training.masked_lm().sep_token()),
            int32_t(training.masked_lm().pad_token())};
  return {int32_t(training.classification().cls_token()),
          int32_t(training.classification().sep_token()),
          int32_t(training.classification().pad_token())};
}

bool tellsHidden(const program::Program &program) {
  for (const program::Role &role : program.roles())
    for (const program::Entry &entry : role.entries())
      for (const program::Host *host : hostsOf(role, entry))
        if (host->name() == "hidden" &&
            host->direction() == program::Host::OUTPUT)
          return true;
  return false;
}

} // namespace

/// What the caller and the ranks share.
struct TextEmbedder::Shared {
  std::shared_ptr<const program::Program> program;
  Frame frame;
  uint64_t rows = 0, length = 0, dim = 0;

  std::mutex mutex;
  std::condition_variable changed;
  uint64_t asked = 0;    ///< Batches that were handed out,
  uint64_t answered = 0; ///< and of which rank 0 has the answer.
  std::vector<std::span<const int32_t>> texts;
  std::vector<float> rowsOfTexts;
  bool closing = false;
  std::optional<Status> ended; ///< The ranks', once all have.
  std::thread ranks;

  Status run(LoadedModel &model);
  void fill(data::Batch &batch) const;
  uint64_t tokensOf(size_t text) const {
    return std::min<uint64_t>(texts[text].size(), length - 2);
  }
};

/// A text a row; rows behind the last one are padding.
void TextEmbedder::Shared::fill(data::Batch &batch) const {
  batch.sequenceLength = length;
  batch.tokens.assign(rows * length, frame.pad);
  batch.labels.assign(rows * length, -1);
  batch.sentenceLabels.assign(rows * length, -1);
  batch.tokenTypes.assign(rows * length, 0);
  batch.keyCounts.assign(rows * length, 1);
  for (size_t r = 0; r < texts.size(); ++r) {
    auto at = batch.tokens.begin() + ptrdiff_t(r * length);
    uint64_t count = tokensOf(r);
    *at++ = frame.cls;
    at = std::copy_n(texts[r].begin(), count, at);
    *at = frame.sep;
    std::fill_n(batch.keyCounts.begin() + ptrdiff_t(r * length), length,
                int32_t(count + 2));
  }
}

/// What each rank does: the same batches, one after another.
Status TextEmbedder::Shared::run(LoadedModel &model) {
  ScoreHost host = ScoreHost::ofHidden(*program, model.world().rank(),
                                       [&](data::Batch &batch) {
                                         fill(batch);
                                         return okStatus();
                                       });
  {
    std::lock_guard lock(mutex);
    dim = host.width();
  }
  for (uint64_t batch = 0;; ++batch) {
    std::vector<LabelPlace> places;
    {
      std::unique_lock lock(mutex);
      if (model.isFirst() && batch == 0)
        changed.notify_all(); // It is loaded.
      changed.wait(lock, [&] { return asked > batch || closing; });
      if (asked == batch)
        return okStatus();
      for (size_t r = 0; r < texts.size(); ++r)
        for (uint64_t i = 0; i < tokensOf(r); ++i)
          places.push_back({r, 1 + i});
    }
    host.ask(/*labels=*/false, std::move(places));
    HOCKET_RETURN_IF_ERROR(model.forward(host));
    HOCKET_ASSIGN_OR_RETURN(std::vector<float> hidden,
                            host.shareLogits(model.world()));
    // No rank reads the texts any more once all have come here.
    if (!model.isFirst())
      continue;
    std::vector<float> means(texts.size() * dim);
    const float *next = hidden.data();
    std::vector<double> sum(dim);
    for (size_t r = 0; r < texts.size(); ++r) {
      uint64_t count = tokensOf(r);
      std::ranges::fill(sum, 0.0);
      for (uint64_t i = 0; i < count; ++i)
        for (uint64_t d = 0; d < dim; ++d)
          sum[d] += double(*next++);
      for (uint64_t d = 0; d < dim && count > 0; ++d)
        means[r * dim + d] = float(sum[d] / double(count));
    }
    std::lock_guard lock(mutex);
    rowsOfTexts = std::move(means);
    ++answered;
    changed.notify_all();
  }
}

TextEmbedder::TextEmbedder(std::shared_ptr<Shared> shared)
    : shared(std::move(shared)) {}

StatusOr<std::unique_ptr<TextEmbedder>>
TextEmbedder::open(std::shared_ptr<const program::Program> program,
                   const ModelOptions &options) {
  if (!isFramed(*program) || !tellsHidden(*program))
    return invalidArgument("the embedder's program does not embed; compile an "
                           "encoder (attention_mask: BIDIRECTIONAL) with "
                           "--entries embed");
  auto shared = std::make_shared<Shared>();
  shared->frame = frameOf(*program);
  shared->rows = rowsOf(*program);
  shared->length = lengthOf(*program);
  shared->program = std::move(program);
  std::unique_ptr<TextEmbedder> embedder(new TextEmbedder(shared));
  shared->ranks = std::thread([shared, options] {
    Status status =
        runModel(shared->program, options, {},
                 [shared](LoadedModel &model) { return shared->run(model); });
    std::lock_guard lock(shared->mutex);
    shared->ended = std::move(status);
    shared->changed.notify_all();
  });
  std::unique_lock lock(shared->mutex);
  shared->changed.wait(lock, [&] { return shared->dim > 0 || shared->ended; });
  if (shared->ended)
    return shared->ended->ok() ? internalError("the embedder's ranks ended")
                               : *shared->ended;
  return embedder;
}

TextEmbedder::~TextEmbedder() {
  {
    std::lock_guard lock(shared->mutex);
    shared->closing = true;
    shared->changed.notify_all();
  }
  if (shared->ranks.joinable())
    shared->ranks.join();
}

uint64_t TextEmbedder::dim() const { return shared->dim; }
uint64_t TextEmbedder::rows() const { return shared->rows; }

Status TextEmbedder::embed(std::span<const std::vector<int32_t>> texts,
                           std::span<float> out) {
  for (size_t first = 0; first < texts.size(); first += rows()) {
    size_t count = std::min<size_t>(rows(), texts.size() - first);
    for (const auto &text : texts.subspan(first, count))
      HOCKET_RETURN_IF_ERROR(
          checkTokensOf(*shared->program, text, "a text to embed"));
    std::unique_lock lock(shared->mutex);
    shared->texts.assign(texts.begin() + long(first),
                         texts.begin() + long(first + count));
    uint64_t batch = ++shared->asked;
    shared->changed.notify_all();
    shared->changed.wait(
        lock, [&] { return shared->answered == batch || shared->ended; });
    if (shared->answered != batch)
      return shared->ended->ok() ? internalError("the embedder's ranks ended")
                                 : *shared->ended;
    std::ranges::copy(shared->rowsOfTexts,
                      out.begin() + long(first * shared->dim));
  }
  return okStatus();
}
