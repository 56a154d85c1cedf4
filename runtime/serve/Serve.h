//===- Serve.h - A model that answers over HTTP --------------- -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the server answers:
///
///   POST /v1/chat/completions   OpenAI's (Chat.h), whole or as a stream
///   POST /v1/completions        the same of texts (Completion.h)
///   GET  /v1/models             what is served
///   PUT  /api                   Megatron-LM's
///   POST /tokenize, /detokenize
///   GET  /health                needs no key
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_SERVE_SERVE_H
#define HOCKET_RUNTIME_SERVE_SERVE_H

#include "runtime/serve/Chat.h"
#include "runtime/serve/Completion.h"
#include "runtime/serve/HttpServer.h"

namespace hocket::serve {

struct ServeOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8000; ///< 0: one that is free.
  std::string key;      ///< That clients must know; empty: none.
  HttpLimits limits;
  uint64_t textBytes = 4 << 20; ///< Of a request, but for its images.
  uint64_t mostOpen = 256;      ///< Texts that are written or wait.
  double answerSeconds = 600;   ///< After which a request is given up.
  /// Hears where the server listens, "http://127.0.0.1:8000".
  std::function<void(const std::string &url)> begun;
  /// A line for each request, once it is answered; may be empty.
  std::function<void(const std::string &line)> log;
};

/// Loads the model, and answers until a signal asks the process to end. Rank 0
/// listens.
Status serve(const ServedModel &model, const inference::ModelOptions &options,
             const ServeOptions &serving);

} // namespace hocket::serve

#endif // HOCKET_RUNTIME_SERVE_SERVE_H
