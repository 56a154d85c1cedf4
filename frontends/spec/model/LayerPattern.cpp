//===- LayerPattern.cpp - Which layer is of which kind --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/LayerPattern.h"

#include "frontends/spec/text/FieldNames.h"
#include "frontends/spec/text/SpecText.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

using namespace hocket;
using namespace hocket::spec;

//===----------------------------------------------------------------------===//
// The text
//===----------------------------------------------------------------------===//

namespace {

/// Reads
///
///   pattern := item (" " item)*
///   item    := (name | "(" pattern ")") ["*" count]
class PatternReader {
public:
  explicit PatternReader(const Model &model)
      : text(model.pattern()), layers(static_cast<size_t>(model.layers())) {
    for (const LayerKind &kind : model.layer_kinds())
      names.push_back(kind.name());
  }

  StatusOr<std::vector<size_t>> read();

private:
  using Kinds = std::vector<size_t>;

  StatusOr<Kinds> readItems(int depth);
  StatusOr<Kinds> readItem(int depth);
  StatusOr<Kinds> readName();
  StatusOr<size_t> readCount();

  void skipBlanks() {
    at = std::min(text.find_first_not_of(" \t\n", at), text.size());
  }
  bool accept(char c) {
    skipBlanks();
    if (at == text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  /// Everything that could be a word.
  std::string_view word() {
    skipBlanks();
    size_t end = std::min(text.find_first_of(" \t\n*()", at), text.size());
    std::string_view result = text.substr(at, end - at);
    at = end;
    return result;
  }
  Status tooLong() const {
    return invalidArgument("has more layers than model.layers (" +
                           std::to_string(layers) +
                           "); write a shorter pattern, or more layers");
  }

  static constexpr int mostDepth = 16;

  std::string_view text;
  size_t layers;
  std::vector<std::string> names;
  size_t at = 0;
};

} // namespace

StatusOr<std::vector<size_t>> PatternReader::readName() {
  std::string_view name = word();
  for (size_t i = 0; i < names.size(); ++i)
    if (name == names[i])
      return Kinds{i};
  if (name.empty())
    return invalidArgument(
        at == text.size() ? "ends where a kind of layer is expected; write " +
                                joinAlternatives(names)
                          : "has \"" + std::string(1, text[at]) +
                                "\" where a kind of layer is expected; write " +
                                joinAlternatives(names));
  return invalidArgument("names the kind \"" + elide(name) +
                         "\"; model.layer_kinds has " +
                         joinAlternatives(suggestValues(name, names)));
}

StatusOr<size_t> PatternReader::readCount() {
  std::string_view digits = word();
  size_t count = 0;
  const char *begin = digits.data(), *end = begin + digits.size();
  auto [stop, error] = std::from_chars(begin, end, count);
  if (error == std::errc::result_out_of_range)
    return tooLong();
  if (error != std::errc() || stop != end || count == 0)
    return invalidArgument("has \"*" + elide(digits) +
                           "\"; write how often, as in " + names.front() +
                           "*3");
  return count;
}

StatusOr<std::vector<size_t>> PatternReader::readItem(int depth) {
  Kinds once;
  if (accept('(')) {
    if (depth == mostDepth)
      return invalidArgument("has parentheses more than " +
                             std::to_string(mostDepth) + " deep");
    HOCKET_ASSIGN_OR_RETURN(once, readItems(depth + 1));
    if (!accept(')'))
      return invalidArgument("has a parenthesis that is not closed");
  } else {
    HOCKET_ASSIGN_OR_RETURN(once, readName());
  }
  if (!accept('*'))
    return once;
  HOCKET_ASSIGN_OR_RETURN(size_t count, readCount());
  if (count > layers / once.size())
    return tooLong();
  Kinds all;
  for (size_t i = 0; i < count; ++i)
    all.insert(all.end(), once.begin(), once.end());
  return all;
}

StatusOr<std::vector<size_t>> PatternReader::readItems(int depth) {
  Kinds all;
  do {
    HOCKET_ASSIGN_OR_RETURN(Kinds item, readItem(depth));
    all.insert(all.end(), item.begin(), item.end());
    if (all.size() > layers)
      return tooLong();
    skipBlanks();
  } while (at < text.size() && text[at] != ')');
  return all;
}

StatusOr<std::vector<size_t>> PatternReader::read() {
  HOCKET_ASSIGN_OR_RETURN(Kinds once, readItems(0));
  if (at < text.size())
    return invalidArgument("has a \")\" that nothing opens");
  Kinds all;
  for (size_t layer = 0; layer < layers; ++layer)
    all.push_back(once[layer % once.size()]);
  return all;
}

StatusOr<std::vector<size_t>> spec::readPattern(const Model &model) {
  return PatternReader(model).read();
}

//===----------------------------------------------------------------------===//
// The layers
//===----------------------------------------------------------------------===//

bool spec::attends(const Model &model) {
  const auto &kinds = model.layer_kinds();
  return kinds.empty() ||
         std::any_of(kinds.begin(), kinds.end(), [](const LayerKind &kind) {
           return kind.mixer() == LayerKind::ATTENTION;
         });
}

bool spec::hasStateSpace(const Model &model) {
  const auto &kinds = model.layer_kinds();
  return std::any_of(kinds.begin(), kinds.end(), [](const LayerKind &kind) {
    return kind.mixer() == LayerKind::MAMBA2;
  });
}

Model spec::modelOfKind(const Model &model, const LayerKind &kind) {
  Model own = model;
  own.clear_layer_kinds();
  own.clear_pattern();
  if (kind.has_ffn())
    own.set_ffn(kind.ffn());
  if (kind.has_sliding_window())
    own.set_sliding_window(kind.sliding_window());
  if (kind.has_position())
    own.set_position(kind.position());
  if (own.sliding_window() == 0)
    own.clear_sliding_window();
  if (own.position() != Model::ROTARY && !kind.has_rope())
    own.clear_rope();
  else if (kind.has_rope())
    *own.mutable_rope() = kind.rope();
  else
    own.mutable_rope();
  return own;
}

/// Of a model without `layer_kinds`, whether layer `layer` has experts.
static bool isExpertLayer(const Model &model, int64_t layer) {
  const Moe &moe = model.moe();
  if (!model.has_moe() || layer < moe.first_dense_layers())
    return false;
  return (layer - moe.first_dense_layers()) % moe.interval() ==
         moe.interval() - 1;
}

LayerPattern::LayerPattern(const Model &model) {
  for (const LayerKind &kind : model.layer_kinds())
    list.push_back({kind.name() + "_layer", modelOfKind(model, kind),
                    kind.mixer() == LayerKind::ATTENTION,
                    kind.mixer() == LayerKind::MAMBA2, kind.feed_forward(), 0,
                    0});
  if (!list.empty()) {
    StatusOr<std::vector<size_t>> read = readPattern(model);
    kindOf = read.ok()
                 ? *std::move(read)
                 : std::vector<size_t>(static_cast<size_t>(model.layers()));
  } else if (model.has_retrieval()) {
    for (const char *name :
         {"layer", "retrieval_layer", "first_retrieval_layer"})
      list.push_back({name, model, true, false, LayerKind::DENSE, 0, 0});
    list[1].retrieves = list[2].retrieves = list[2].encodes = true;
    kindOf.resize(static_cast<size_t>(model.layers()));
    size_t next = 2; // The first one has the encoder.
    for (int64_t layer : model.retrieval().layers())
      if (layer >= 0 && layer < model.layers())
        kindOf[static_cast<size_t>(layer)] = std::exchange(next, 1);
  } else {
    list.push_back({"layer", model, true, false, LayerKind::DENSE, 0, 0});
    list.push_back(
        {"expert_layer", model, true, false, LayerKind::EXPERTS, 0, 0});
    for (int64_t layer = 0; layer < model.layers(); ++layer)
      kindOf.push_back(isExpertLayer(model, layer) ? 1 : 0);
  }
  int64_t branches = 0;
  for (size_t index : kindOf) {
    ResolvedKind &kind = list[index];
    ++kind.layers;
    branches += kind.mixes();
    branches += kind.model.has_encoder(); // A decoder's attention to it.
    branches += kind.retrieves;
    branches += kind.feedForward != LayerKind::NO_FEED_FORWARD;
  }
  for (ResolvedKind &kind : list)
    kind.branches = branches;
}
