//===- PromptNeighbors.h - What was retrieved for prompts -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a program that attends to retrieved texts (Retro) takes of those of a
/// prompt: each chunk of what is written has the same, as contexts that were
/// found for a question are given to InstructRetro (arXiv 2310.07713).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_INFERENCE_PROMPTNEIGHBORS_H
#define HOCKET_RUNTIME_INFERENCE_PROMPTNEIGHBORS_H

#include "base/Status.h"
#include "runtime/program/program.pb.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::inference {

/// Tokens of a chunk's neighbours, [neighbors, retrieved_length], which end as
/// those of training do; texts that are not there are empty. InvalidArgument
/// where the program attends to none, or there are more of them than a chunk
/// has, or one is longer.
StatusOr<std::vector<int32_t>>
neighborsOf(const program::Program &program,
            const tokenizer::Tokenizer &tokenizer,
            const std::vector<std::string> &texts);

/// InvalidArgument unless `neighbors` are a chunk's, or empty where the program
/// takes in none.
Status checkNeighbors(const program::Program &program,
                      const std::vector<int32_t> &neighbors);

} // namespace hocket::inference

#endif // HOCKET_RUNTIME_INFERENCE_PROMPTNEIGHBORS_H
