//===- SpecialTokens.cpp - What masked samples are made with --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/SpecialTokens.h"

#include "frontends/spec/text/FieldPath.h"
#include "frontends/spec/text/SpecText.h"

#include <filesystem>
#include <sstream>
#include <utility>

using namespace hocket;

Status huggingface::readSpecialTokens(const std::string &folder,
                                      spec::LoadedSpec &loaded) {
  const std::string file = folder + "/vocab.txt";
  std::error_code failure;
  if (!std::filesystem::exists(file, failure))
    return okStatus();
  HOCKET_ASSIGN_OR_RETURN(std::string text, spec::readInput(file));
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line); ++number)
    for (auto [token, name] : {std::pair{"[CLS]", "cls_token"},
                               {"[SEP]", "sep_token"},
                               {"[MASK]", "mask_token"},
                               {"[PAD]", "pad_token"}}) {
      if (line != token && line != std::string(token) + "\r")
        continue;
      bool isClassifier = loaded.spec.training().has_classification();
      if (isClassifier && token == std::string("[MASK]"))
        continue;
      const std::string path =
          std::string("training.") +
          (isClassifier ? "classification." : "masked_lm.") + name;
      HOCKET_ASSIGN_OR_RETURN(spec::FieldReference at,
                              findForWriting(loaded.spec, path));
      at.message->GetReflection()->SetInt64(at.message, at.field, number);
      loaded.locations.set(path, {file, number + 1, 1});
    }
  return okStatus();
}
