//===- SpecialTokens.h - What samples are made with -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_HUGGINGFACE_SPECIALTOKENS_H
#define HOCKET_FRONTENDS_HUGGINGFACE_SPECIALTOKENS_H

#include "frontends/spec/LoadSpec.h"

namespace hocket::huggingface {

/// Sets the tokens of `training.masked_lm`, or of `training.classification`
/// where that is there, to those that the WordPiece
/// vocabulary of `folder`, vocab.txt with a token a line, has for [CLS], [SEP],
/// [MASK] and [PAD]. What it does not have, and all without such a file, stays
/// as it is.
Status readSpecialTokens(const std::string &folder, spec::LoadedSpec &loaded);

/// Sets training.span_corruption.first_sentinel to the token <extra_id_0> of
/// the tokenizer.json or tokenizer_config.json of `folder`. Without one of
/// them, or without that token, it stays as it is.
Status readFirstSentinel(const std::string &folder, spec::LoadedSpec &loaded);

} // namespace hocket::huggingface

#endif // HOCKET_FRONTENDS_HUGGINGFACE_SPECIALTOKENS_H
