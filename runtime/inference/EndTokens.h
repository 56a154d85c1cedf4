//===- EndTokens.h - The tokens at which a model's texts end ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_INFERENCE_ENDTOKENS_H
#define HOCKET_RUNTIME_INFERENCE_ENDTOKENS_H

#include "runtime/program/program.pb.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <string>
#include <vector>

namespace hocket::inference {

/// The tokens at which texts of a model end unless it is told to write on,
/// ascending, each once; empty where nothing names one:
///
///   the token that ends a document, to the tokenizer (EndOfDocument.h) and to
///   the data that the model learned from;
///   the one that ends what a decoder tells;
///   those that the model's files name beside the tokenizer, which is at
///   `tokenizerPath` (chat::ModelEnds).
///
/// InvalidArgument or DataLoss, with the file, for files that cannot be read.
StatusOr<std::vector<int32_t>>
endTokensOf(const program::Program &program,
            const tokenizer::Tokenizer &tokenizer,
            const std::string &tokenizerPath);

} // namespace hocket::inference

#endif // HOCKET_RUNTIME_INFERENCE_ENDTOKENS_H
