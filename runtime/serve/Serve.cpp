//===- Serve.cpp - A model that answers over HTTP -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/Serve.h"

#include "base/Format.h"
#include "base/Sha256.h"
#include "base/json/JsonLines.h"
#include "runtime/serve/Messages.h"
#include "runtime/train/Interrupt.h"

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::serve;
using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

static constexpr const char *jsonType = "application/json";

static unsigned httpStatusOf(const Status &status) {
  switch (status.code()) {
  case StatusCode::InvalidArgument:
  case StatusCode::DataLoss:
    return 400;
  case StatusCode::NotFound:
    return 404;
  case StatusCode::ResourceExhausted:
    return 429;
  case StatusCode::Unavailable:
    return 503;
  default:
    return 500;
  }
}

/// As OpenAI says what is wrong.
static std::string errorBody(unsigned status, const std::string &message) {
  const char *type = status == 401   ? "authentication_error"
                     : status == 429 ? "rate_limit_error"
                     : status >= 500 ? "server_error"
                                     : "invalid_request_error";
  ordered_json error = {{"message", message},
                        {"type", type},
                        {"param", nullptr},
                        {"code", status}};
  return toJsonText({{"error", std::move(error)}}) + "\n";
}

/// In a time that does not say how much of the key was right.
static bool isSame(std::string_view given, std::string_view key) {
  return Sha256::of(given) == Sha256::of(key);
}

namespace {

class Api {
public:
  Api(Engine &engine, const ServedModel &model, const ServeOptions &options)
      : engine(engine), model(model), options(options) {}

  /// Replies to what no body can mend. Whoever has no key is not read from.
  void admit(const HttpRequest &request, HttpReply &reply) {
    Clock::time_point begin = Clock::now();
    if (unsigned status = refuseHead(request, reply))
      log(request, status, begin);
  }

  void handle(HttpRequest &request, HttpReply &reply) {
    Clock::time_point begin = Clock::now();
    log(request, answer(request, reply), begin);
  }

private:
  struct Route {
    const char *method, *path;
    unsigned (Api::*answer)(HttpRequest &, HttpReply &);
    bool isOpen; ///< Without a key.
  };
  static std::span<const Route> routes();

  unsigned refuse(HttpReply &reply, unsigned status,
                  const std::string &message) const {
    reply.reply(status, jsonType, errorBody(status, message));
    return status;
  }

  unsigned refuse(HttpReply &reply, const Status &status) const {
    return refuse(reply, httpStatusOf(status), status.message());
  }

  unsigned say(HttpReply &reply, const ordered_json &value) const {
    reply.reply(200, jsonType, toJsonText(value) + "\n");
    return 200;
  }

  void log(const HttpRequest &request, unsigned status,
           Clock::time_point begin) const {
    if (options.log)
      options.log(
          request.method + " " + request.path + formatText(" %u ", status) +
          formatDuration(
              std::chrono::duration<double>(Clock::now() - begin).count()));
  }

  static const Route *routeOf(const HttpRequest &request) {
    for (const Route &route : routes())
      if (request.path == route.path)
        return &route;
    return nullptr;
  }

  /// The status of a reply; 0 if the request is taken.
  unsigned refuseHead(const HttpRequest &request, HttpReply &reply) const {
    const Route *route = routeOf(request);
    if (!route) {
      std::string paths;
      for (const Route &each : routes())
        paths += std::string(paths.empty() ? "" : ", ") + each.method + " " +
                 each.path;
      return refuse(reply, 404,
                    "there is no " + request.path + "; there is " + paths);
    }
    std::string_view method = route->method;
    bool isGet = method == "GET";
    if (request.method != method && !(isGet && request.method == "HEAD")) {
      reply.setAllowed(isGet ? "GET, HEAD" : route->method);
      return refuse(reply, 405,
                    request.path + " takes " + route->method + ", not " +
                        request.method);
    }
    if (!route->isOpen && !options.key.empty() &&
        !isSame(request.authorization, "Bearer " + options.key))
      return refuse(reply, 401,
                    "the key is missing or wrong: send the header "
                    "'Authorization: Bearer KEY'");
    if (isGet && request.hasBody)
      return refuse(reply, 413, request.path + " takes no body");
    return 0;
  }

  unsigned answer(HttpRequest &request, HttpReply &reply) {
    if (bytesBesideImages(request.body) > options.textBytes)
      return refuse(reply, 413,
                    formatText("the body has more than %llu bytes beside its "
                               "images",
                               wide(options.textBytes)));
    return (this->*routeOf(request)->answer)(request, reply);
  }

  unsigned health(HttpRequest &, HttpReply &reply) {
    Engine::Load load = engine.load();
    return say(reply, {{"status", "ok"},
                       {"open", load.open},
                       {"written_tokens", load.written}});
  }

  unsigned models(HttpRequest &, HttpReply &reply) {
    ordered_json own = {{"id", model.name},
                        {"object", "model"},
                        {"created", model.created},
                        {"owned_by", "hocket"},
                        {"max_model_len", inference::lengthOf(*model.program)}};
    return say(reply, {{"object", "list"}, {"data", {std::move(own)}}});
  }

  /// What `parse` makes of the body, which is dropped then. JSON and tokenizers
  /// take many times the bytes of a text, so large requests have their turns.
  template <typename Result>
  Result read(HttpRequest &request, HttpReply &reply,
              Result (*parse)(std::string_view, const ServedModel &)) {
    constexpr size_t mostAtOnce = 64 << 10;
    std::unique_lock<std::mutex> turn(reading, std::defer_lock);
    if (request.body.size() > mostAtOnce)
      turn.lock();
    if (turn.owns_lock() && reply.isGone())
      return unavailable("the client has left");
    Result result = parse(request.body, model);
    request.dropBody();
    return result;
  }

  unsigned tokenize(HttpRequest &request, HttpReply &reply) {
    auto result = read(request, reply, tokenizeJson);
    return result.ok() ? say(reply, *result) : refuse(reply, result.status());
  }

  unsigned detokenize(HttpRequest &request, HttpReply &reply) {
    auto result = read(request, reply, detokenizeJson);
    return result.ok() ? say(reply, *result) : refuse(reply, result.status());
  }

  unsigned complete(HttpRequest &request, HttpReply &reply) {
    return answer<CompletionStream>(read(request, reply, parseCompletion),
                                    completionJson, reply);
  }

  unsigned chat(HttpRequest &request, HttpReply &reply) {
    return answer<ChatStream>(read(request, reply, parseChat), chatJson, reply);
  }

  using WholeJson = ordered_json (&)(
      const Completion &, const std::vector<inference::GeneratedText> &,
      const ServedModel &, uint64_t number);

  /// As OpenAI's: whole, or as a stream.
  template <typename Stream>
  unsigned answer(const StatusOr<Completion> &completion, WholeJson whole,
                  HttpReply &reply) {
    if (!completion.ok())
      return refuse(reply, completion.status());
    uint64_t number = ++requests;
    if (completion->streams) {
      Stream parts(*completion, model, number);
      return stream(*completion, parts, reply);
    }
    auto texts = textsOf(*completion, reply);
    return texts.ok() ? say(reply, whole(*completion, *texts, model, number))
                      : refuse(reply, texts.status());
  }

  unsigned megatron(HttpRequest &request, HttpReply &reply) {
    auto completion = read(request, reply, parseMegatron);
    if (!completion.ok())
      return refuse(reply, completion.status());
    auto texts = textsOf(*completion, reply);
    return texts.ok() ? say(reply, megatronJson(*completion, *texts, model))
                      : refuse(reply, texts.status());
  }

  /// Visits each event until all questions are done.
  template <typename Visit>
  Status forEachEvent(const Completion &completion, HttpReply &reply,
                      Visit &&visit) {
    auto until =
        Clock::now() + std::chrono::duration<double>(options.answerSeconds);
    HOCKET_ASSIGN_OR_RETURN(auto ticket, engine.ask(completion.questions));
    constexpr std::chrono::milliseconds patience(100);
    Clock::time_point looked = Clock::now();
    for (size_t open = completion.questions.size(); open > 0;) {
      HOCKET_ASSIGN_OR_RETURN(auto event, ticket->next(patience));
      if (event) {
        open -= event->text.has_value();
        if (!visit(*event))
          return unavailable("the client has left");
      }
      if (Clock::now() - looked > patience) {
        looked = Clock::now();
        if (reply.isGone())
          return unavailable("the client has left");
      }
      if (open > 0 && Clock::now() > until)
        return unavailable(
            formatText("the answer was not written within %g seconds",
                       options.answerSeconds));
    }
    return okStatus();
  }

  StatusOr<std::vector<inference::GeneratedText>>
  textsOf(const Completion &completion, HttpReply &reply) {
    std::vector<inference::GeneratedText> texts(completion.questions.size());
    HOCKET_RETURN_IF_ERROR(forEachEvent(completion, reply, [&](Event &event) {
      if (event.text)
        texts[event.index] = *std::move(event.text);
      return true;
    }));
    return texts;
  }

  unsigned stream(const Completion &completion, AnswerStream &parts,
                  HttpReply &reply) {
    constexpr const char *type = "text/event-stream";
    bool begun = false;
    Status status = forEachEvent(completion, reply, [&](const Event &event) {
      std::string part = parts.add(event);
      begun |= !part.empty();
      return part.empty() || reply.send(type, part);
    });
    if (!status.ok() && !begun)
      return refuse(reply, status);
    // What has begun well can end badly, and says so.
    reply.send(type, status.ok() ? parts.end()
                                 : "data: " +
                                       errorBody(httpStatusOf(status),
                                                 status.message()) +
                                       "\n");
    return 200;
  }

  Engine &engine;
  const ServedModel &model;
  const ServeOptions &options;
  std::atomic<uint64_t> requests{0};
  std::mutex reading;
};

} // namespace

std::span<const Api::Route> Api::routes() {
  static const Route all[] = {
      {"POST", "/v1/chat/completions", &Api::chat, false},
      {"POST", "/v1/completions", &Api::complete, false},
      {"GET", "/v1/models", &Api::models, false},
      {"PUT", "/api", &Api::megatron, false},
      {"POST", "/tokenize", &Api::tokenize, false},
      {"POST", "/detokenize", &Api::detokenize, false},
      {"GET", "/health", &Api::health, true},
  };
  return all;
}

Status serve::serve(const ServedModel &model,
                    const inference::ModelOptions &options,
                    const ServeOptions &serving) {
  // From the beginning: who stops a server that loads has it stop.
  InterruptGuard guard;
  struct Shared {
    Shared(const ServedModel &model, const ServeOptions &serving)
        : model(model), serving(serving),
          engine(model.tokenizer, serving.mostOpen) {}
    const ServedModel model;
    const ServeOptions serving;
    Engine engine;
  };
  auto shared = std::make_shared<Shared>(model, serving);
  auto body = [shared](inference::LoadedModel &loaded) -> Status {
    Engine &engine = shared->engine;
    if (!loaded.isFirst())
      return engine.run(loaded);
    const ServeOptions &serving = shared->serving;
    Api api(engine, shared->model, serving);
    HttpHandlers handlers;
    handlers.admit = [&](const HttpRequest &head, HttpReply &reply) {
      api.admit(head, reply);
    };
    handlers.handle = [&](HttpRequest &request, HttpReply &reply) {
      api.handle(request, reply);
    };
    handlers.refusal = errorBody;
    HOCKET_ASSIGN_OR_RETURN(
        auto server, HttpServer::listen(serving.host, serving.port,
                                        serving.limits, std::move(handlers)));
    if (serving.begun)
      serving.begun(formatText(serving.host.find(':') == std::string::npos
                                   ? "http://%s:%u"
                                   : "http://[%s]:%u",
                               serving.host.c_str(), unsigned(server->port())));
    return engine.run(loaded);
  };
  return inference::runModel(model.program, options, {}, body);
}
