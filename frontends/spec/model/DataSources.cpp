//===- DataSources.cpp - The token files that a spec names ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/DataSources.h"

using namespace hocket::spec;

static constexpr double mostWeight = 1e6;

std::vector<std::string> hocket::spec::blendWords(const DataSources &sources) {
  if (sources.size() == 1)
    return {sources[0].path()};
  std::vector<std::string> words;
  for (const Data::Source &source : sources) {
    words.push_back(formatReal(source.weight()));
    words.push_back(source.path());
  }
  return words;
}

static void checkSources(const std::string &field, const DataSources &sources,
                         ConstraintErrors &errors) {
  for (int i = 0; i < sources.size(); ++i) {
    const Data::Source &source = sources[i];
    const std::string entry = field + "[" + std::to_string(i) + "]";
    if (source.path().empty())
      errors.add(45, entry + ".path",
                 entry + " names no token files; write its path");
    else if (source.path().find('\0') != std::string::npos)
      errors.add(45, entry + ".path",
                 "the path of " + entry + " has a zero byte; leave it out");
    else if (source.path().front() == '@' && sources.size() > 1)
      errors.add(45, entry + ".path",
                 source.path() +
                     " is a file with the words of a blend, which "
                     "is all that " +
                     field + " can have; write its words as entries");
    if (!(source.weight() > 0 && source.weight() <= mostWeight))
      errors.add(10, entry + ".weight",
                 entry + ".weight is " + formatReal(source.weight()) +
                     "; write a number above 0 and at most " +
                     formatReal(mostWeight));
  }
}

void hocket::spec::checkDataSources(const Data &data,
                                    ConstraintErrors &errors) {
  checkSources("training.data.train", data.train(), errors);
  checkSources("training.data.valid", data.valid(), errors);
  checkSources("training.data.test", data.test(), errors);
  if (!data.train().empty())
    return;
  for (auto [field, sources] :
       {std::pair{"valid", &data.valid()}, std::pair{"test", &data.test()}})
    if (!sources->empty())
      errors.add(45, std::string("training.data.") + field + "[0]",
                 std::string("training.data.") + field +
                     " stands beside the data to train on; write "
                     "training.data.train too");
}

void hocket::spec::checkDocuments(const Spec &spec, ConstraintErrors &errors) {
  const Data &data = spec.training().data();
  const std::string field = "training.data.eod_token";
  for (auto [option, isOn] :
       {std::pair{"eod_mask_loss", data.eod_mask_loss()},
        std::pair{"reset_attention_mask", data.reset_attention_mask()},
        std::pair{"reset_position_ids", data.reset_position_ids()}})
    if (isOn && !data.has_eod_token())
      return errors.add(48, std::string("training.data.") + option,
                        std::string("training.data.") + option +
                            " wants to know where documents end; write " +
                            field + ", the last token of each");
  if (data.has_eod_token() && data.eod_token() >= spec.model().vocab_size())
    errors.add(48, field,
               field + " is " + std::to_string(data.eod_token()) +
                   "; write a token of the vocabulary, below " +
                   std::to_string(spec.model().vocab_size()));
}
