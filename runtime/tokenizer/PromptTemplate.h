//===- PromptTemplate.h - What stands around a prompt -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a tokenizer's post-processing puts before and behind the tokens of one
/// text, such as the token that begins a text. Documents go without.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_PROMPTTEMPLATE_H
#define HOCKET_RUNTIME_TOKENIZER_PROMPTTEMPLATE_H

#include <cstdint>
#include <vector>

namespace hocket::tokenizer {

struct PromptTemplate {
  std::vector<int32_t> before, behind;
};

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_PROMPTTEMPLATE_H
