//===- Generate.cpp - Text that a model writes ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/inference/Generate.h"

#include "base/Format.h"
#include "base/Sha256.h"
#include "runtime/data/samples/BatchSource.h"
#include "runtime/inference/PromptNeighbors.h"
#include "runtime/program/Entries.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <numeric>

using namespace hocket;
using namespace hocket::inference;

const char *inference::finishName(Finish finish) {
  switch (finish) {
  case Finish::Ended:
    return "stop";
  case Finish::Length:
    return "length";
  case Finish::Full:
    return "context";
  }
  return "?";
}

std::vector<int32_t> inference::promptOf(const program::Program &program,
                                         const tokenizer::Tokenizer &tokenizer,
                                         const std::string &text,
                                         PromptForm form) {
  std::vector<int32_t> tokens;
  if (form == PromptForm::Markup)
    tokenizer.encodeMarkup(text, tokens);
  else
    tokenizer.encodePrompt(text, tokens);
  const auto &training = program.training();
  if (training.has_span_corruption()) // As inputs end in training.
    tokens.push_back(int32_t(training.span_corruption().end_token()));
  // Nothing stands before a document but the end of another.
  if (std::optional<int32_t> end = tokenizer.endOfDocument();
      end && tokens.empty())
    tokens.push_back(*end);
  return tokens;
}

Status inference::checkRequest(const program::Program &program,
                               const GenerateRequest &request) {
  if (program.training().has_masked_lm())
    return invalidArgument("the model tells masked tokens of whole texts, and "
                           "writes none after another");
  if (program.training().has_classification())
    return invalidArgument("the model tells the class of a text, and writes "
                           "none");
  HOCKET_RETURN_IF_ERROR(checkSampling(request.sampling));
  if (request.prompt.empty())
    return invalidArgument("the prompt has no token");
  uint64_t encoder = encoderLengthOf(program);
  uint64_t most = encoder > 0 ? encoder : lengthOf(program);
  if (request.prompt.size() > most)
    return invalidArgument(formatText(
        "the prompt has %zu tokens, the model sees %llu: compile it with a "
        "longer training.%ssequence_length",
        request.prompt.size(), wide(most), encoder > 0 ? "encoder_" : ""));
  if (encoder > 0 && request.tellsOfPrompt)
    return invalidArgument("the encoder reads the prompt, and nothing tells "
                           "how likely its tokens are");
  if (program.training().has_prefix_lm() && request.tellsOfPrompt)
    return invalidArgument("tokens of the prompt see those behind them, and "
                           "nothing tells how likely they are");
  HOCKET_RETURN_IF_ERROR(checkImages(program, request.images, request.prompt));
  HOCKET_RETURN_IF_ERROR(checkNeighbors(program, request.neighbors));
  return checkTokensOf(program, request.prompt, "the prompt");
}

//===----------------------------------------------------------------------===//
// The generator
//===----------------------------------------------------------------------===//

Generator::Generator(LoadedModel &model)
    : model(model), rows(rowsOf(model.program())),
      length(lengthOf(model.program())),
      vocabulary(model.program().model().vocab_size()),
      host(model.program(), model.world().rank(),
           [this](data::Batch &batch) {
             fill(batch);
             return okStatus();
           }),
      taken(rows) {}

StatusOr<std::unique_ptr<Generator>> Generator::create(LoadedModel &model) {
  std::unique_ptr<Generator> generator(new Generator(model));
  HOCKET_ASSIGN_OR_RETURN(std::optional<CacheShape> shape,
                          CacheShape::of(model.program()));
  uint64_t encoder = encoderLengthOf(model.program());
  if (!shape && encoder > 0)
    return invalidArgument("the program keeps nothing of what its encoder has "
                           "read; compile it with --entries generate");
  if (!shape)
    return generator;
  if (shape->rows != generator->rows)
    return invalidArgument("the program writes other sequences at a time than "
                           "it evaluates");
  auto hostOf = [&](const char *entry) {
    return std::make_unique<CacheHost>(model.program(), model.world().rank(),
                                       entry, *shape);
  };
  generator->decode = hostOf("decode");
  if (model.program().training().has_images())
    generator->tower = std::make_unique<ImageHost>(
        model.program(), model.world().rank(), *shape);
  if (encoder > 0)
    generator->encoder = std::make_unique<EncoderHost>(
        model.program(), model.world().rank(), shape->rows, encoder);
  else
    generator->prefill = hostOf("prefill");
  return generator;
}

void Generator::add(uint64_t id, GenerateRequest request) {
  Job job{id, std::move(request), 0, {}, 0, {}, 0, 0, 0};
  const auto &training = model.program().training();
  if (training.has_span_corruption()) // As T5's decoder begins.
    job.tokens = {int32_t(training.span_corruption().pad_token())};
  else
    job.tokens = job.request.prompt;
  if (job.request.tellsOfPrompt)
    job.untold = job.tokens.size() - 1;
  waiting.push_back(std::move(job));
}

void Generator::remove(uint64_t id) {
  waiting.remove_if([id](const Job &job) { return job.id == id; });
  running.remove_if([&](const Job &job) {
    if (job.id == id)
      taken[job.row] = false;
    return job.id == id;
  });
}

bool Generator::takeRows() {
  bool takes = false;
  for (uint64_t row = 0; row < rows && !waiting.empty(); ++row) {
    if (taken[row])
      continue;
    taken[row] = takes = true;
    waiting.front().row = row;
    running.splice(running.end(), waiting, waiting.begin());
  }
  return takes;
}

/// Reads the prompts of all rows. Those that had been read give the same bits.
Status Generator::encode() {
  for (const Job &job : running)
    encoder->set(job.row, job.request.prompt);
  encoder->ask(/*labels=*/false, {});
  return model.forward(*encoder, "prefill");
}

uint64_t Generator::imageRowsOf(const Job &job) const {
  return job.request.images.size() *
         rowsInText(model.program().training().images());
}

/// One image of each group of ranks at a time.
Status Generator::seeImages() {
  while (true) {
    bool isAny = false;
    tower->clear();
    for (Job &job : running)
      if (job.seen < job.request.images.size() && !tower->isTaken(job.row)) {
        tower->set(job.row, job.seen, job.request.images[job.seen]);
        ++job.seen;
        isAny = true;
      }
    if (!isAny)
      return okStatus();
    tower->ask(/*labels=*/false, {});
    HOCKET_RETURN_IF_ERROR(model.forward(*tower, "encode"));
  }
}

/// Without labels: `picked` is 0 then, and `picked - lse` the negative lse.
void Generator::fill(data::Batch &batch) const {
  batch.sequenceLength = length;
  batch.tokens.assign(rows * length, 0);
  batch.labels.assign(rows * length, -1);
  for (const Job &job : running)
    std::copy(job.tokens.begin(), job.tokens.end(),
              batch.tokens.begin() + ptrdiff_t(job.row * length));
  if (model.program().training().has_images())
    fillImages(batch);
  if (model.program().training().has_retrieval())
    fillNeighbors(batch);
  if (model.program().training().has_prefix_lm())
    fillPrefixes(batch);
}

/// The same of every chunk.
void Generator::fillNeighbors(data::Batch &batch) const {
  uint64_t each = neighborTokensOf(model.program());
  batch.neighbors.assign(rows * each, 0);
  for (const Job &job : running) {
    const std::vector<int32_t> &chunk = job.request.neighbors;
    auto to = batch.neighbors.begin() + ptrdiff_t(job.row * each);
    for (uint64_t i = 0; i < each; i += chunk.size())
      to = std::ranges::copy(chunk, to).out;
  }
}

/// A prompt is the prefix of what is written.
void Generator::fillPrefixes(data::Batch &batch) const {
  batch.keyCounts.assign(rows * length, 1);
  for (const Job &job : running) {
    std::vector<int32_t> counts;
    data::addPrefixCounts(job.request.prompt.size(), length, counts);
    std::ranges::copy(counts,
                      batch.keyCounts.begin() + ptrdiff_t(job.row * length));
  }
}

/// Rows without images have zeros, which stand nowhere.
void Generator::fillImages(data::Batch &batch) const {
  const auto &images = model.program().training().images();
  uint64_t each = pixelsOf(images);
  batch.pixels.assign(rows * each, 0.0f);
  batch.imageRows.assign(rows * length, -1);
  for (const Job &job : running) {
    auto to = batch.pixels.begin() + ptrdiff_t(job.row * each);
    for (const TowerImage &image : job.request.images)
      to = std::ranges::copy(*image, to).out;
    uint64_t placed = 0;
    for (size_t i = 0; placed < imageRowsOf(job); ++i)
      if (job.tokens[i] == int32_t(images.image_token()))
        batch.imageRows[job.row * length + i] = towerRowOf(images, placed++);
  }
}

/// Logits of the prompts that a step brings, at most: a place of a large
/// vocabulary takes hundreds of kilobytes.
static constexpr uint64_t mostLogits = uint64_t(1) << 26;

uint64_t Generator::roomFor(const Pass &pass) const {
  uint64_t most = std::max<uint64_t>(mostLogits / vocabulary, rows + 1);
  return most - std::min<uint64_t>(most, pass.places.size());
}

/// Of each job places of its prompt, then, once it has told of all, its last.
Generator::Pass Generator::passOverSequences() {
  Pass pass{&host, "eval_step", {}, {}};
  for (const Job &job : running) {
    uint64_t count = std::min(job.untold, roomFor(pass));
    uint64_t first = job.request.prompt.size() - 1 - job.untold;
    for (uint64_t i = 0; i < count; ++i)
      pass.places.push_back({job.row, first + i});
    bool writes = count == job.untold && job.request.tokens > 0;
    if (writes)
      pass.places.push_back({job.row, job.tokens.size() - 1});
    pass.parts.push_back({count, writes});
  }
  return pass;
}

/// Where this many tokens of a prompt are left, one at a time is no slower.
static constexpr uint64_t fewTokens = 4;

Generator::Pass Generator::passOverNewTokens() {
  uint64_t most = 0;
  for (const Job &job : running)
    most = std::max<uint64_t>(most, job.tokens.size() - job.kept);
  // Images stand in prompts alone.
  bool places = std::ranges::any_of(
      running, [&](const Job &job) { return job.placed < imageRowsOf(job); });
  CacheHost &to = (most > fewTokens || places) && prefill ? *prefill : *decode;
  Pass pass{&to, to.entry(), {}, {}};
  to.clear();
  for (Job &job : running)
    addNewTokens(job, to, pass);
  return pass;
}

/// As many as there is room for in a run, and, of a prompt that is told of, for
/// what is said.
void Generator::addNewTokens(Job &job, CacheHost &to, Pass &pass) const {
  uint64_t pending = job.tokens.size() - job.kept;
  uint64_t count = std::min(pending, to.room(job.row));
  if (job.untold > 0)
    count = std::min(count, roomFor(pass));
  if (to.entry() == "decode")
    count = std::min<uint64_t>(count, 1);
  Pass::Part part;
  auto imageToken = int32_t(model.program().training().images().image_token());
  for (uint64_t i = 0; i < count; ++i, ++job.kept) {
    int32_t token = job.tokens[job.kept];
    std::optional<uint64_t> imageRow;
    if (job.placed < imageRowsOf(job) && token == imageToken)
      imageRow = job.placed++;
    LabelPlace place =
        to.add(job.row, job.kept, token, job.request.prompt.size(), imageRow);
    bool isLast = job.kept + 1 == job.tokens.size();
    part.writes = isLast && job.request.tokens > 0;
    bool isTold = part.told < job.untold && !isLast;
    part.told += isTold ? 1 : 0;
    if (isTold || part.writes)
      pass.places.push_back(place);
  }
  pass.parts.push_back(part);
}

PlacedToken Generator::placed(const Job &job, int32_t token,
                              const Said &said) const {
  auto choice = [&](int32_t of) {
    return TokenChoice{of, said.logits[size_t(of)] + said.minusLse};
  };
  PlacedToken result{choice(token), {}};
  std::vector<int32_t> order(job.request.likeliest > 0 ? size_t(vocabulary)
                                                       : 0);
  std::iota(order.begin(), order.end(), 0);
  auto end = order.begin() +
             ptrdiff_t(std::min<uint64_t>(job.request.likeliest, order.size()));
  std::partial_sort(order.begin(), end, order.end(), [&](int32_t a, int32_t b) {
    float left = said.logits[size_t(a)], right = said.logits[size_t(b)];
    return left > right || (left == right && a < b);
  });
  for (auto next = order.begin(); next != end; ++next)
    result.likeliest.push_back(choice(*next));
  return result;
}

/// Whether that was the last.
StatusOr<bool> Generator::append(Job &job, const Said &said) {
  GeneratedText &text = job.text;
  HOCKET_ASSIGN_OR_RETURN(
      int32_t token,
      sampleToken(said.logits, job.tokens, job.request.sampling,
                  randomAt(job.request.sampling.seed, job.request.stream,
                           text.tokens.size())));
  PlacedToken written = placed(job, token, said);
  job.tokens.push_back(token);
  text.tokens.push_back(token);
  text.logProbabilities.push_back(written.logProbability);
  if (listener)
    listener(job.id, written);
  if (job.request.likeliest > 0)
    text.likeliest.push_back(std::move(written.likeliest));
  if (job.request.ends && job.request.ends(text.tokens))
    text.finish = Finish::Ended;
  else if (text.tokens.size() >= job.request.tokens)
    text.finish = Finish::Length;
  else if (job.tokens.size() > length)
    text.finish = Finish::Full;
  else
    return false;
  return true;
}

/// Who asks for nothing needs no row.
std::vector<Generator::Finished> Generator::takeFinishedBeforeTheyBegin() {
  std::vector<Finished> finished;
  for (auto job = waiting.begin(); job != waiting.end();) {
    auto next = std::next(job);
    if (job->request.tokens == 0 && job->untold == 0) {
      finished.push_back({job->id, std::move(job->text)});
      waiting.erase(job);
    }
    job = next;
  }
  return finished;
}

StatusOr<std::vector<Generator::Finished>> Generator::step() {
  std::vector<Finished> finished = takeFinishedBeforeTheyBegin();
  bool areNew = takeRows();
  if (running.empty())
    return finished;
  if (encoder && areNew) {
    HOCKET_RETURN_IF_ERROR(encode());
  }
  if (tower && areNew) {
    HOCKET_RETURN_IF_ERROR(seeImages());
  }
  Pass pass = decode ? passOverNewTokens() : passOverSequences();
  pass.host->ask(/*labels=*/true, pass.places);
  HOCKET_RETURN_IF_ERROR(model.forward(*pass.host, pass.entry));
  HOCKET_ASSIGN_OR_RETURN(std::vector<float> labels,
                          pass.host->shareLabels(model.world()));
  HOCKET_ASSIGN_OR_RETURN(std::vector<float> logits,
                          pass.host->shareLogits(model.world()));
  size_t place = 0, index = 0;
  auto nextSaid = [&] {
    const LabelPlace &at = pass.places[place];
    // No label stands there: it tells of 0 - lse.
    return Said{std::span(logits).subspan(place++ * vocabulary, vocabulary),
                labels[at.row * pass.host->length() + at.position]};
  };
  for (auto job = running.begin(); job != running.end(); ++index) {
    auto next = std::next(job);
    auto [told, writes] = pass.parts[index];
    for (uint64_t i = 0; i < told; ++i, --job->untold) {
      size_t of = job->request.prompt.size() - job->untold;
      job->text.prompt.push_back(
          placed(*job, job->request.prompt[of], nextSaid()));
    }
    bool isLast = job->untold == 0 && job->request.tokens == 0;
    if (writes) {
      HOCKET_ASSIGN_OR_RETURN(isLast, append(*job, nextSaid()));
    }
    if (isLast) {
      taken[job->row] = false;
      finished.push_back({job->id, std::move(job->text)});
      running.erase(job);
    }
    job = next;
  }
  return finished;
}

//===----------------------------------------------------------------------===//
// A list of requests
//===----------------------------------------------------------------------===//

static StatusOr<GeneratedTexts>
generateOn(LoadedModel &model, const std::vector<GenerateRequest> &requests,
           const Generator::Listener &listener) {
  using Clock = std::chrono::steady_clock;
  HOCKET_ASSIGN_OR_RETURN(auto created, Generator::create(model));
  Generator &generator = *created;
  if (model.isFirst())
    generator.setListener(listener);
  for (size_t i = 0; i < requests.size(); ++i)
    generator.add(i, requests[i]);
  GeneratedTexts result;
  result.texts.resize(requests.size());
  Clock::time_point begin = Clock::now(), shown;
  uint64_t done = 0, tokens = 0;
  while (!generator.isIdle()) {
    HOCKET_RETURN_IF_ERROR(LoadedModel::checkInterrupted());
    HOCKET_ASSIGN_OR_RETURN(auto finished, generator.step());
    for (Generator::Finished &each : finished) {
      tokens += each.text.tokens.size();
      result.texts[each.id] = std::move(each.text);
    }
    done += finished.size();
    if (listener || Clock::now() - shown < std::chrono::milliseconds(100))
      continue;
    shown = Clock::now();
    double seconds = std::chrono::duration<double>(shown - begin).count();
    model.show(
        formatText("%llu of %zu prompts  ", wide(done), requests.size()) +
        formatCount(double(tokens) / seconds) + " tokens/s" +
        (done ? "  " +
                    formatDuration(seconds * double(requests.size() - done) /
                                   double(done)) +
                    " left"
              : ""));
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return result;
}

StatusOr<GeneratedTexts> inference::generate(
    std::shared_ptr<const program::Program> program,
    const std::shared_ptr<const std::vector<GenerateRequest>> &requests,
    const ModelOptions &options, const Generator::Listener &listener) {
  Sha256 digest;
  for (const GenerateRequest &request : *requests) {
    HOCKET_RETURN_IF_ERROR(checkRequest(*program, request));
    uint64_t size = request.prompt.size();
    digest.update(&size, sizeof(size));
    digest.update(request.prompt.data(), size * sizeof(int32_t));
    // Which files of each machine say.
    digest.update(&request.sampling, sizeof(request.sampling));
    digest.update(&request.tokens, sizeof(request.tokens));
    for (const TowerImage &image : request.images)
      digest.update(image->data(), image->size() * sizeof(float));
    digest.update(request.neighbors.data(),
                  request.neighbors.size() * sizeof(int32_t));
  }
  struct Answers {
    std::mutex mutex;
    GeneratedTexts texts; ///< The same from every rank.
  };
  auto answers = std::make_shared<Answers>();
  HOCKET_RETURN_IF_ERROR(runModel(
      std::move(program), options,
      {{"has other prompts, or writes them otherwise", toHex(digest.finish())}},
      [requests, answers, listener](LoadedModel &model) -> Status {
        HOCKET_ASSIGN_OR_RETURN(auto own,
                                generateOn(model, *requests, listener));
        std::lock_guard lock(answers->mutex);
        answers->texts = std::move(own);
        return okStatus();
      }));
  std::lock_guard lock(answers->mutex);
  return std::move(answers->texts);
}
