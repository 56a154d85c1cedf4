//===- Stops.h - Where a text ends ------------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_INFERENCE_STOPS_H
#define HOCKET_RUNTIME_INFERENCE_STOPS_H

#include "runtime/tokenizer/Tokenizer.h"

#include <functional>

namespace hocket::inference {

/// Where the first of the stop strings is in `text`; npos: nowhere.
size_t findStop(const std::string &text, const std::vector<std::string> &stops);

/// For GenerateRequest::ends: at a stop string or, with `atEnd`, at the token
/// that ends a document.
std::function<bool(std::span<const int32_t>)>
endsAt(std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
       std::vector<std::string> stops, bool atEnd);

} // namespace hocket::inference

#endif // HOCKET_RUNTIME_INFERENCE_STOPS_H
