//===- PrepareImages.h - What images become, of options and models
//-*-C++-*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_TEXT_PREPAREIMAGES_H
#define HOCKET_RUNTIME_DATA_TEXT_PREPAREIMAGES_H

#include "runtime/data/text/ImageConversations.h"
#include "runtime/data/text/Prepare.h"

namespace hocket::data {

/// What `options.images`, which asks for images, makes of one. What it leaves
/// out is that of config.json in the folder of `options.tokenizer`, as LLaVA's
/// models have it. InvalidArgument where neither says it, or an image has no
/// token of its own, or more than a sequence.
StatusOr<ImageEncoding> imageEncodingOf(const PrepareOptions &options,
                                        const tokenizer::Tokenizer &tokenizer);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_TEXT_PREPAREIMAGES_H
