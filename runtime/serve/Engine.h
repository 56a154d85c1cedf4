//===- Engine.h - Many who ask one model ---------------------- -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Between those who ask, each on a thread of its own, and the ranks of a
/// model, which go through their forward passes in step: rank 0 gathers what is
/// asked and what nobody waits for any more, tells every rank, and hands out
/// what comes. Texts are written together, a row of the microbatch each; who
/// comes while others are written joins at the next token.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_SERVE_ENGINE_H
#define HOCKET_RUNTIME_SERVE_ENGINE_H

#include "runtime/inference/Generate.h"
#include "runtime/inference/Stops.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace hocket::serve {

/// A GenerateRequest that can travel: it ends where its words say.
struct Question {
  inference::GenerateRequest request; ///< Without `ends`.
  inference::Stops stops;
};

/// Something that has come of question `index` of a ticket.
struct Event {
  size_t index = 0;
  inference::PlacedToken token;
  /// That was all; then there is no token.
  std::optional<inference::GeneratedText> text;
};

class Engine {
  struct Asked;

public:
  /// What becomes of questions that were asked together. Its destructor
  /// withdraws those that are not done.
  class Ticket {
  public:
    ~Ticket();
    Ticket(const Ticket &) = delete;
    Ticket &operator=(const Ticket &) = delete;

    /// The next event, or nothing within `patience`; what the engine has ended
    /// with, once it has.
    StatusOr<std::optional<Event>> next(std::chrono::milliseconds patience);

  private:
    friend class Engine;
    Ticket(Engine &engine, std::shared_ptr<Asked> asked)
        : engine(engine), asked(std::move(asked)) {}
    Engine &engine;
    const std::shared_ptr<Asked> asked;
  };

  /// At most `mostOpen` questions are open at a time.
  Engine(std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
         uint64_t mostOpen)
      : tokenizer(std::move(tokenizer)), mostOpen(mostOpen) {}

  /// Any thread. Checked requests. ResourceExhausted if too many are open.
  StatusOr<std::unique_ptr<Ticket>> ask(std::vector<Question> questions);

  /// Of every rank, of one process or of many: answers until stop(), or until a
  /// signal asks rank 0 to end.
  Status run(inference::LoadedModel &model);

  /// Any thread.
  void stop();

  struct Load {
    uint64_t open = 0;    ///< Questions.
    uint64_t written = 0; ///< Tokens, since the beginning.
  };
  Load load() const;

private:
  struct Asked {
    std::deque<Event> events;
    std::vector<uint64_t> ids; ///< Of its questions.
    size_t open = 0;
  };
  struct Open {
    std::shared_ptr<Asked> asked;
    size_t index;
  };

  std::vector<uint8_t> takeOrders(bool mayWait);
  Status follow(inference::Generator &generator,
                const std::vector<uint8_t> &orders, bool &stops) const;
  Status answer(inference::LoadedModel &model);
  void hear(uint64_t id, const inference::PlacedToken &token);
  void finish(uint64_t id, inference::GeneratedText text);
  void withdraw(Asked &asked);
  void end(const Status &status);

  const std::shared_ptr<const tokenizer::Tokenizer> tokenizer;
  const uint64_t mostOpen;

  mutable std::mutex mutex; ///< Of all that follows.
  std::condition_variable asks, answers;
  std::unordered_map<uint64_t, Open> open;          ///< By id.
  std::vector<std::pair<uint64_t, Question>> added; ///< Since the last orders.
  std::vector<uint64_t> removed;                    ///< Likewise.
  uint64_t nextId = 0, written = 0;
  bool stopping = false;
  std::optional<Status> ended;
};

} // namespace hocket::serve

#endif // HOCKET_RUNTIME_SERVE_ENGINE_H
