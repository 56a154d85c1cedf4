//===- ImportWeights.cpp - A Hugging Face folder's weights ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/ImportWeights.h"

#include "compiler/tools/ModelWeights.h"
#include "frontends/huggingface/ReadConfig.h"
#include "frontends/huggingface/WriteConfig.h"
#include "frontends/spec/LoadSpec.h"
#include "runtime/checkpoint/hugging_face/HuggingFace.h"

using namespace hocket;

StatusOr<std::shared_ptr<const ImportedWeights>>
hocket::importWeights(const std::string &dir, const program::Program &program) {
  const std::string &text = program.provenance().spec_text();
  if (text.empty())
    return invalidArgument(
        dir + ": the executable does not say which model it trains, so that "
              "the names of its weights here are not known");
  spec::LoadOptions options;
  options.anyDevices = true;
  HOCKET_ASSIGN_OR_RETURN(
      spec::LoadedSpec loaded,
      spec::parseSpec(text, "the executable's specification", options));
  const spec::Model &model = loaded.spec.model();
  HOCKET_ASSIGN_OR_RETURN(
      std::string family,
      huggingface::familyOf(model, huggingface::familyIn(dir)));
  HOCKET_ASSIGN_OR_RETURN(auto folder,
                          checkpoint::HuggingFaceFolder::open(dir));
  auto source =
      std::make_shared<checkpoint::HuggingFaceFolder>(std::move(folder));
  auto weights = std::make_shared<ImportedWeights>();
  HOCKET_ASSIGN_OR_RETURN(weights->tensors,
                          checkpoint::importHuggingFace(*source, family,
                                                        weightsOf(loaded.spec),
                                                        &weights->fresh));
  weights->source = std::move(source);
  return std::shared_ptr<const ImportedWeights>(std::move(weights));
}
