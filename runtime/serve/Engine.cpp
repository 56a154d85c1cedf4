//===- Engine.cpp - Many who ask one model --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/Engine.h"

#include "base/Format.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::serve;
using inference::GenerateRequest;
using inference::TowerImage;
using nlohmann::json;

//===----------------------------------------------------------------------===//
// Orders, which rank 0 gives
//===----------------------------------------------------------------------===//

namespace {
/// Images of questions, each once: those of one prompt are shared by all of its
/// choices.
class OrderedImages {
public:
  size_t numberOf(const TowerImage &image) {
    auto [found, isNew] = numbers.emplace(image.get(), numbers.size());
    if (isNew) {
      const auto *bytes = reinterpret_cast<const uint8_t *>(image->data());
      all.push_back(json::binary(
          std::vector<uint8_t>(bytes, bytes + image->size() * sizeof(float))));
    }
    return found->second;
  }

  json take() { return std::move(all); }

private:
  std::unordered_map<const std::vector<float> *, size_t> numbers;
  json all = json::array();
};
} // namespace

static TowerImage imageOf(const json &from) {
  const std::vector<uint8_t> &bytes = from.get_binary();
  auto numbers =
      std::make_shared<std::vector<float>>(bytes.size() / sizeof(float));
  std::memcpy(numbers->data(), bytes.data(), numbers->size() * sizeof(float));
  return numbers;
}

static json orderOf(uint64_t id, const Question &question,
                    OrderedImages &images) {
  const GenerateRequest &request = question.request;
  json numbers = json::array();
  for (const TowerImage &image : request.images)
    numbers.push_back(images.numberOf(image));
  const inference::SamplingOptions &sampling = request.sampling;
  return {id,
          request.prompt,
          request.tokens,
          request.stream,
          request.likeliest,
          request.tellsOfPrompt,
          sampling.temperature,
          sampling.topK,
          sampling.topP,
          sampling.minP,
          sampling.repetitionPenalty,
          sampling.seed,
          question.stops.texts,
          question.stops.tokens,
          request.neighbors,
          std::move(numbers)};
}

static std::pair<uint64_t, Question>
readQuestion(const json &from, const std::vector<TowerImage> &images) {
  Question question;
  uint64_t id = 0;
  GenerateRequest &request = question.request;
  inference::SamplingOptions &sampling = request.sampling;
  size_t at = 0;
  auto take = [&](auto &value) { from.at(at++).get_to(value); };
  take(id);
  take(request.prompt);
  take(request.tokens);
  take(request.stream);
  take(request.likeliest);
  take(request.tellsOfPrompt);
  take(sampling.temperature);
  take(sampling.topK);
  take(sampling.topP);
  take(sampling.minP);
  take(sampling.repetitionPenalty);
  take(sampling.seed);
  take(question.stops.texts);
  take(question.stops.tokens);
  take(request.neighbors);
  for (const json &number : from.at(at))
    request.images.push_back(images.at(number.get<size_t>()));
  return {id, std::move(question)};
}

/// Bytes of one broadcast: images may be hundreds of megabytes.
static constexpr size_t mostTogether = size_t(16) << 20;

/// bytes of every rank = bytes of rank 0.
static Status broadcastBytes(comm::Communicator &world,
                             std::vector<uint8_t> &bytes) {
  if (world.size() == 1)
    return okStatus();
  // As words: elements of a byte have no type of their own.
  std::array<uint32_t, 2> size = {uint32_t(bytes.size()),
                                  uint32_t(uint64_t(bytes.size()) >> 32)};
  HOCKET_RETURN_IF_ERROR(
      world.broadcast(size.data(), size.size(), comm::DType::I32, 0));
  bytes.resize(size_t(uint64_t(size[1]) << 32 | size[0]));
  std::vector<int32_t> words;
  for (size_t at = 0; at < bytes.size(); at += mostTogether) {
    size_t count = std::min(bytes.size() - at, mostTogether);
    words.resize((count + 3) / 4);
    std::memcpy(words.data(), bytes.data() + at, count);
    HOCKET_RETURN_IF_ERROR(
        world.broadcast(words.data(), words.size(), comm::DType::I32, 0));
    std::memcpy(bytes.data() + at, words.data(), count);
  }
  return okStatus();
}

/// How long rank 0 is silent where nobody asks: less than any rank may hang.
static constexpr std::chrono::milliseconds silence(250);

/// Nothing of theirs, or `mayWait` and there is nothing else to do: in CBOR
/// [stops, [ids that nobody waits for], [questions], [images]].
std::vector<uint8_t> Engine::takeOrders(bool mayWait) {
  std::unique_lock lock(mutex);
  auto isAsked = [&] { return stopping || !added.empty() || !removed.empty(); };
  if (mayWait)
    asks.wait_for(lock, silence, isAsked);
  if (!inference::LoadedModel::checkInterrupted().ok())
    stopping = true;
  if (!isAsked())
    return {};
  OrderedImages images;
  json questions = json::array();
  for (const auto &[id, question] : added)
    questions.push_back(orderOf(id, question, images));
  json orders = {stopping, removed, std::move(questions), images.take()};
  added.clear();
  removed.clear();
  return json::to_cbor(orders);
}

Status Engine::follow(inference::Generator &generator,
                      const std::vector<uint8_t> &bytes, bool &stops) const {
  if (bytes.empty())
    return okStatus();
  json orders = json::from_cbor(bytes);
  stops = orders.at(0).get<bool>();
  std::vector<TowerImage> images;
  for (const json &each : orders.at(3))
    images.push_back(imageOf(each));
  for (const json &each : orders.at(2)) {
    auto [id, question] = readQuestion(each, images);
    question.request.ends = inference::endsAt(
        tokenizer, question.request.prompt.back(), question.stops);
    generator.add(id, std::move(question.request));
  }
  // Who has left at once has come before.
  for (const json &id : orders.at(1))
    generator.remove(id.get<uint64_t>());
  return okStatus();
}

//===----------------------------------------------------------------------===//
// The ranks' side
//===----------------------------------------------------------------------===//

Status Engine::answer(inference::LoadedModel &model) {
  HOCKET_ASSIGN_OR_RETURN(auto created, inference::Generator::create(model));
  inference::Generator &generator = *created;
  bool isFirst = model.isFirst(), stops = false;
  if (isFirst)
    generator.setListener(
        [this](uint64_t id, const inference::PlacedToken &token) {
          hear(id, token);
        });
  while (true) {
    std::vector<uint8_t> orders;
    if (isFirst)
      orders = takeOrders(/*mayWait=*/generator.isIdle());
    HOCKET_RETURN_IF_ERROR(broadcastBytes(model.world(), orders));
    HOCKET_RETURN_IF_ERROR(follow(generator, orders, stops));
    if (stops)
      return okStatus();
    if (generator.isIdle())
      continue;
    HOCKET_ASSIGN_OR_RETURN(auto finished, generator.step());
    if (isFirst)
      for (inference::Generator::Finished &each : finished)
        finish(each.id, std::move(each.text));
  }
}

Status Engine::run(inference::LoadedModel &model) {
  Status status = answer(model);
  if (model.isFirst())
    end(status);
  return status;
}

void Engine::hear(uint64_t id, const inference::PlacedToken &token) {
  std::lock_guard lock(mutex);
  ++written;
  auto found = open.find(id);
  if (found == open.end())
    return;
  found->second.asked->events.push_back({found->second.index, token, {}});
  answers.notify_all();
}

void Engine::finish(uint64_t id, inference::GeneratedText text) {
  std::lock_guard lock(mutex);
  auto found = open.find(id);
  if (found == open.end())
    return;
  Asked &asked = *found->second.asked;
  asked.events.push_back({found->second.index, {}, std::move(text)});
  --asked.open;
  open.erase(found);
  answers.notify_all();
}

void Engine::end(const Status &status) {
  std::lock_guard lock(mutex);
  ended = status.ok() ? unavailable("the server ends") : status;
  answers.notify_all();
}

//===----------------------------------------------------------------------===//
// The side of those who ask
//===----------------------------------------------------------------------===//

StatusOr<std::unique_ptr<Engine::Ticket>>
Engine::ask(std::vector<Question> questions) {
  std::lock_guard lock(mutex);
  if (ended)
    return *ended;
  if (open.size() + questions.size() > mostOpen)
    return resourceExhausted(
        formatText("%zu texts are asked for and %zu are being written or wait; "
                   "the server takes %llu: try again later",
                   questions.size(), open.size(), wide(mostOpen)));
  auto asked = std::make_shared<Asked>();
  asked->open = questions.size();
  for (size_t i = 0; i < questions.size(); ++i) {
    uint64_t id = nextId++;
    asked->ids.push_back(id);
    open.emplace(id, Open{asked, i});
    added.emplace_back(id, std::move(questions[i]));
  }
  asks.notify_all();
  return std::unique_ptr<Ticket>(new Ticket(*this, std::move(asked)));
}

void Engine::withdraw(Asked &asked) {
  std::lock_guard lock(mutex);
  for (uint64_t id : asked.ids)
    if (open.erase(id) > 0)
      removed.push_back(id);
  asks.notify_all();
}

Engine::Ticket::~Ticket() { engine.withdraw(*asked); }

StatusOr<std::optional<Event>>
Engine::Ticket::next(std::chrono::milliseconds patience) {
  std::unique_lock lock(engine.mutex);
  engine.answers.wait_for(
      lock, patience, [&] { return !asked->events.empty() || engine.ended; });
  if (!asked->events.empty()) {
    Event event = std::move(asked->events.front());
    asked->events.pop_front();
    return std::optional<Event>(std::move(event));
  }
  if (engine.ended)
    return *engine.ended;
  return std::optional<Event>();
}

void Engine::stop() {
  std::lock_guard lock(mutex);
  stopping = true;
  asks.notify_all();
}

Engine::Load Engine::load() const {
  std::lock_guard lock(mutex);
  return {open.size(), written};
}
