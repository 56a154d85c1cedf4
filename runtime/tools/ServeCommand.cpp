//===- ServeCommand.cpp - hocket serve ------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/ServeCommand.h"

#include "base/Format.h"
#include "runtime/inference/EndTokens.h"
#include "runtime/serve/ChatFormat.h"
#include "runtime/serve/Serve.h"
#include "runtime/tools/ModelInput.h"
#include "runtime/tools/WritingOptions.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/KeyFile.h"
#include "runtime/tools/command_line/OptionValues.h"

#include <ctime>
#include <filesystem>

using namespace hocket;
using namespace hocket::serve;

namespace {

struct ServeArguments : ModelInput {
  using ModelInput::ModelInput;
  std::string tokenizer, chatTemplate, keyFile, name;
  uint64_t mostPixels = ChatFormat::defaultPixels;
  bool quiet = false, ignoresConfig = false;
  ServeOptions serving;
};

} // namespace

/// "run" of "checkpoints/run/".
static std::string nameOf(const std::string &run) {
  std::error_code error; // As where the folder that this runs in is gone.
  std::filesystem::path path =
      std::filesystem::absolute(run, error).lexically_normal();
  return path.has_filename() ? path.filename().string()
                             : path.parent_path().filename().string();
}

/// A model without a chat template is served none the less; one that was named
/// must be there.
static Status openChat(const ServeArguments &arguments, ServedModel &served,
                       const RunOutput &output) {
  StatusOr<ChatFormat> format = ChatFormat::open(
      arguments.tokenizer, arguments.chatTemplate, *served.tokenizer);
  if (format.ok()) {
    format->mostPixels = arguments.mostPixels;
    served.chat = std::make_shared<const ChatFormat>(*std::move(format));
    return okStatus();
  }
  if (!arguments.chatTemplate.empty())
    return format.status();
  served.whyNoChat =
      "the server takes no conversations: " + format.status().message();
  if (format.status().code() != StatusCode::NotFound)
    output.print(served.whyNoChat);
  return okStatus();
}

static Status run(ServeArguments &arguments) {
  const HttpLimits &limits = arguments.serving.limits;
  if (limits.bodyBytes > limits.bodiesBytes)
    return invalidArgument(
        formatText("--max-body-bytes is %llu and --max-bodies-bytes %llu: give "
                   "the second at least as much",
                   wide(limits.bodyBytes), wide(limits.bodiesBytes)));
  ServedModel served;
  served.name =
      arguments.name.empty() ? nameOf(arguments.loadDir) : arguments.name;
  served.created = std::time(nullptr);
  served.mostTexts = arguments.serving.mostOpen;
  if (!arguments.keyFile.empty()) {
    HOCKET_ASSIGN_OR_RETURN(arguments.serving.key, readKey(arguments.keyFile));
  }
  HOCKET_ASSIGN_OR_RETURN(auto opened,
                          tokenizer::openTokenizer(arguments.tokenizer));
  served.tokenizer = std::move(opened);
  HOCKET_ASSIGN_OR_RETURN(
      inference::GenerationConfig config,
      openGenerationConfig(arguments.tokenizer, arguments.ignoresConfig));
  HOCKET_ASSIGN_OR_RETURN(auto model, OpenedModel::open(arguments));
  served.program = model->shared();
  HOCKET_ASSIGN_OR_RETURN(
      served.ends, inference::endTokensOf(*served.program, *served.tokenizer,
                                          arguments.tokenizer));
  served.defaults = config.choices;
  if (model->isFirst())
    for (const std::string &note : config.notes({}))
      model->print(note);
  RunOutput output = model->options().output;
  HOCKET_RETURN_IF_ERROR(openChat(arguments, served, output));
  arguments.serving.begun = [&, output](const std::string &url) {
    output.print("serving '" + served.name + "' on " + url +
                 "; Ctrl-C ends it");
  };
  if (!arguments.quiet)
    arguments.serving.log = output.print;
  Status status = serve::serve(served, model->options(), arguments.serving);
  model->clearLine();
  return status;
}

static void addLimits(CLI::App &command, ServeArguments &arguments) {
  ServeOptions &serving = arguments.serving;
  constexpr uint64_t mostBytes = uint64_t(1) << 30, mostCount = 1 << 16;
  constexpr double mostSeconds = 1e6;
  HttpLimits &limits = serving.limits;
  wantWhole(command.add_option("--max-body-bytes", limits.bodyBytes,
                               "The longest request, with its images"),
            1, mostBytes)
      ->type_name("N")
      ->capture_default_str();
  wantWhole(command.add_option("--max-text-bytes", serving.textBytes,
                               "The longest request but for its images"),
            1, mostBytes)
      ->type_name("N")
      ->capture_default_str();
  wantWhole(command.add_option("--max-bodies-bytes", limits.bodiesBytes,
                               "The most bytes of requests that are being "
                               "read; beyond it a request gets status 503"),
            1, mostBytes << 10)
      ->type_name("N")
      ->capture_default_str();
  wantWhole(command.add_option("--max-image-pixels", arguments.mostPixels,
                               "The largest image of a request, before it is "
                               "resized"),
            1, mostBytes)
      ->type_name("N")
      ->capture_default_str();
  wantWhole(command.add_option("--max-connections", limits.connections,
                               "The most clients at a time"),
            1, mostCount)
      ->type_name("N")
      ->capture_default_str();
  wantWhole(command.add_option("--max-texts", serving.mostOpen,
                               "The most texts that are generated or wait; a "
                               "request for more gets status 429"),
            1, mostCount)
      ->type_name("N")
      ->capture_default_str();
  wantPositive(command.add_option("--receive-timeout", limits.receiveSeconds,
                                  "The longest time to receive a request"),
               mostSeconds)
      ->type_name("SECONDS")
      ->capture_default_str();
  wantPositive(command.add_option("--answer-timeout", serving.answerSeconds,
                                  "The longest time to answer a request"),
               mostSeconds)
      ->type_name("SECONDS")
      ->capture_default_str();
}

void hocket::registerServe(CLI::App &app, Status &result,
                           ProgramResolver resolver) {
  auto arguments = std::make_shared<ServeArguments>(std::move(resolver));
  CLI::App *command =
      addCommand(app, "serve", "Serve a trained model over HTTP");
  addModelInput(*command, *arguments);
  addModelTokenizer(*command, arguments->tokenizer);
  wantPath(command->add_option("--chat-template", arguments->chatTemplate,
                               "A file with the chat template (default: that "
                               "of the tokenizer's folder)"))
      ->type_name("FILE");
  ServeOptions &serving = arguments->serving;
  wantSomeText(command->add_option("--host", serving.host,
                                   "The address, or its name, to listen on; "
                                   "0.0.0.0: all addresses of this machine"))
      ->type_name("HOST")
      ->capture_default_str();
  wantWhole(command->add_option("--port", serving.port,
                                "0: a free port, which is printed"),
            0, 65535)
      ->type_name("PORT")
      ->capture_default_str();
  wantPath(
      command->add_option("--key-file", arguments->keyFile,
                          "Answer only requests with the first line of this "
                          "file as KEY: 'Authorization: Bearer KEY'"))
      ->type_name("FILE");
  wantSomeText(command->add_option(
                   "--model-name", arguments->name,
                   "The name of the model in requests (default: the name of "
                   "RUN)"))
      ->type_name("NAME");
  addGenerationConfigUse(*command, arguments->ignoresConfig);
  addLimits(*command, *arguments);
  command->add_flag("--quiet", arguments->quiet,
                    "Do not print a line for each request");
  addGraphUse(*command, *arguments);
  addModelOptions(*command, *arguments);
  command->footer(
      "POST /v1/chat/completions, POST /v1/completions and GET /v1/models are "
      "OpenAI's (messages or prompt,\n"
      "max_tokens, temperature, top_p, top_k, min_p, repetition_penalty, n, "
      "stop, seed, echo, logprobs, stream),\n"
      "with images in messages; PUT /api is Megatron-LM's; there are POST "
      "/tokenize and /detokenize, and\n"
      "GET /health. Texts are generated together, as many as the microbatch "
      "has "
      "rows.\n"
      "\n"
      "Example:\n"
      "  hocket serve --load run --tokenizer gpt2 --port 8000\n"
      "  curl localhost:8000/v1/completions -d '{\"prompt\": \"Once upon\", "
      "\"max_tokens\": 40}'");
  command->callback([arguments, &result] { result = run(*arguments); });
}
