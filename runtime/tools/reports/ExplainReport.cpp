//===- ExplainReport.cpp - Why a tensor lies where it lies ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/reports/ExplainReport.h"

#include "base/Format.h"
#include "base/NearestNames.h"
#include "base/Quantity.h"
#include "runtime/program/DataType.h"
#include "runtime/tools/reports/MessageReport.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

using namespace hocket;
using nlohmann::ordered_json;
using program::Explanation;
using program::Program;

//===----------------------------------------------------------------------===//
// As JSON
//===----------------------------------------------------------------------===//

static ordered_json
axesJson(const Program &program,
         const google::protobuf::RepeatedField<uint32_t> &axes) {
  ordered_json list = ordered_json::array();
  for (uint32_t axis : axes)
    list.push_back(program.mesh().axes(int(axis)).name());
  return list;
}

static ordered_json tensorJson(const Program &program,
                               const Explanation::Tensor &tensor) {
  ordered_json dims = ordered_json::array();
  for (int d = 0; d < tensor.shape_size(); ++d)
    dims.push_back({{"size", tensor.shape(d)},
                    {"local", tensor.local_shape(d)},
                    {"axes", axesJson(program, tensor.dims(d).axes())}});
  return {{"name", explanationText(program, tensor.name())},
          {"kind", explanationText(program, tensor.kind())},
          {"where", explanationText(program, tensor.where())},
          {"source", explanationText(program, tensor.source())},
          {"dtype", dataTypeName(tensor.dtype())},
          {"dims", dims},
          {"partial", axesJson(program, tensor.partial())},
          {"bytes", tensorBytes(tensor.shape(), tensor.dtype()).value_or(0)},
          {"local_bytes",
           tensorBytes(tensor.local_shape(), tensor.dtype()).value_or(0)},
          {"why", explanationText(program, tensor.why())}};
}

ordered_json hocket::shardingsJson(const Program &program) {
  ordered_json list = ordered_json::array();
  for (const auto &tensor : program.explanation().tensors())
    list.push_back(tensorJson(program, tensor));
  return list;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// What a layer's own function calls it: without `layers.*.`.
static std::string nameInLayer(const std::string &name) {
  static const std::string prefix = "layers.*.";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

std::vector<std::string> hocket::explainableNames(const Program &program) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  auto add = [&](const std::string &name) {
    if (!name.empty() && seen.insert(name).second)
      names.push_back(name);
  };
  for (const auto &tensor : program.explanation().tensors())
    add(explanationText(program, tensor.name()));
  for (const auto &parameter : program.parameters())
    add(nameOfAnyLayer(parameter.name()));
  for (const CollectiveUse &use : collectiveUses(program))
    add(use.op);
  for (const MessageUse &use : messageUses(program)) {
    add("send");
    add(use.sent.buffer);
    add(use.received.buffer);
  }
  for (const auto &group : program.groups())
    add(group.name());
  return names;
}

namespace {

/// What somebody asked about, in the forms in which it may stand.
struct Question {
  explicit Question(const std::string &name)
      : exact(name), anyLayer(nameOfAnyLayer(name)),
        inLayer(nameInLayer(anyLayer)) {}

  bool asksFor(const std::string &name) const {
    return name == exact || name == anyLayer || name == inLayer ||
           (!parameter.empty() && name.starts_with(parameter + "."));
  }

  /// Whether a reason names it: ops and tensors stand in quotes.
  bool isNamedIn(const std::string &why) const {
    for (const std::string &name : {exact, anyLayer, inLayer})
      if (why.find("'" + name + "'") != std::string::npos)
        return true;
    return !parameter.empty() &&
           why.find("'" + parameter + ".") != std::string::npos;
  }

  std::string exact, anyLayer, inLayer;
  /// If it is a parameter: its state and its gradient are asked for too.
  std::string parameter;
};

/// The two ends of a collective, out of "A gives S, B wants T".
struct Ends {
  explicit Ends(const std::string &why) {
    size_t gives = why.find(" gives ");
    size_t stop = why.find("], ", why.find("partial = [", gives));
    size_t wants = why.find(" wants ", stop);
    if (gives == std::string::npos || stop == std::string::npos ||
        wants == std::string::npos)
      return;
    maker = why.substr(0, gives);
    given = why.substr(gives + 7, stop + 1 - gives - 7);
    user = why.substr(stop + 3, wants - stop - 3);
    wanted = why.substr(wants + 7);
  }

  std::string maker, given, user, wanted;
};

} // namespace

/// The reason of what `linear 'attention.q' (spec.textproto:12:3)` makes; of a
/// variable that an op reads or writes, the variable's.
static std::string reasonOf(const Program &program, const std::string &op) {
  size_t open = op.find(" '"), close = op.find('\'', open + 2);
  if (open == std::string::npos || close == std::string::npos)
    return "";
  std::string kind = op.substr(0, open),
              name = op.substr(open + 2, close - open - 2), found;
  for (const auto &tensor : program.explanation().tensors()) {
    if (explanationText(program, tensor.name()) != name)
      continue;
    if (explanationText(program, tensor.kind()) == kind)
      return explanationText(program, tensor.why());
    if (tensor.where() == 0 && kind != "the update with")
      found = explanationText(program, tensor.why());
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

static ordered_json answerOf(const Program &program, const CollectiveUse &use,
                             ordered_json answer) {
  Ends ends(explanationText(program, use.why));
  answer["gives"] = {{"op", ends.maker},
                     {"sharding", ends.given},
                     {"why", reasonOf(program, ends.maker)}};
  answer["wants"] = {{"op", ends.user},
                     {"sharding", ends.wanted},
                     {"why", reasonOf(program, ends.user)}};
  answer["places"] = placesJson(program, use.places);
  return answer;
}

/// The slices that ranks hold of a parameter, for a program whose compiler had
/// nothing to explain (a mesh of one device).
static void addParameter(const Program &program, const Question &question,
                         ordered_json &tensors) {
  for (const auto &parameter : program.parameters()) {
    if (parameter.name() != question.exact &&
        nameOfAnyLayer(parameter.name()) != question.exact)
      continue;
    ordered_json dims = ordered_json::array();
    for (uint64_t size : parameter.shape())
      dims.push_back(
          {{"size", size}, {"local", size}, {"axes", ordered_json::array()}});
    uint64_t bytes =
        tensorBytes(parameter.shape(), parameter.dtype()).value_or(0);
    tensors.push_back(
        {{"name", parameter.name()},
         {"kind", "parameter"},
         {"where", ""},
         {"source", ""},
         {"dtype", dataTypeName(parameter.dtype())},
         {"dims", dims},
         {"partial", ordered_json::array()},
         {"bytes", bytes},
         {"local_bytes", bytes},
         {"why", "the plan has one rank, which holds all of it"}});
    return;
  }
}

/// The number behind `layers.` at the start of a name.
static std::optional<uint64_t> layerOf(const std::string &name) {
  static const std::string prefix = "layers.";
  uint64_t number = 0;
  if (!name.starts_with(prefix))
    return std::nullopt;
  const char *begin = name.data() + prefix.size();
  auto [stop, error] =
      std::from_chars(begin, name.data() + name.size(), number);
  bool isWhole = stop == name.data() + name.size() || *stop == '.';
  return error == std::errc() && stop != begin && isWhole
             ? std::optional<uint64_t>(number)
             : std::nullopt;
}

/// NotFound if `name` is of a layer that the model does not have.
static Status checkLayer(const Program &program, const std::string &name) {
  std::optional<uint64_t> layer = layerOf(name), last;
  if (!layer)
    return okStatus();
  for (const auto &parameter : program.parameters())
    if (auto one = layerOf(parameter.name()))
      last = std::max(last.value_or(0), *one);
  if (!last || *layer <= *last)
    return okStatus();
  return notFound("there is no layer " + std::to_string(*layer) +
                  (*last == 0
                       ? "; the only one is 0"
                       : "; the layers are 0 to " + std::to_string(*last)));
}

StatusOr<ordered_json> hocket::explain(const Program &program,
                                       const std::string &name) {
  HOCKET_RETURN_IF_ERROR(checkLayer(program, name));
  Question question(name);
  for (const auto &tensor : program.explanation().tensors())
    if (std::string known = explanationText(program, tensor.name());
        question.asksFor(known) &&
        explanationText(program, tensor.kind()) == "parameter")
      question.parameter = known;
  ordered_json tensors = ordered_json::array();
  for (const auto &tensor : program.explanation().tensors())
    if (question.asksFor(explanationText(program, tensor.name())))
      tensors.push_back(tensorJson(program, tensor));
  if (program.explanation().tensors().empty())
    addParameter(program, question, tensors);
  ordered_json collectives = ordered_json::array(),
               all = collectivesJson(program);
  std::vector<CollectiveUse> uses = collectiveUses(program);
  bool isGroup = false;
  for (const auto &group : program.groups())
    isGroup |= group.name() == name;
  for (size_t i = 0; i < uses.size(); ++i)
    if (uses[i].op == name || uses[i].group == name ||
        isPlaceOf(program, uses[i].places, name) ||
        question.isNamedIn(explanationText(program, uses[i].why)) ||
        std::any_of(uses[i].tensors.begin(), uses[i].tensors.end(),
                    [&](const std::string &tensor) {
                      return question.asksFor(tensor);
                    }))
      collectives.push_back(answerOf(program, uses[i], all[i]));
  ordered_json messages = ordered_json::array();
  for (const MessageUse &use : messageUses(program))
    if (isAskedFor(program, use, name))
      messages.push_back(messageJson(program, use));
  if (tensors.empty() && collectives.empty() && messages.empty() && !isGroup) {
    std::string message = "nothing here is called '" + name + "'";
    std::vector<std::string> nearest =
        nearestNames(question.anyLayer, explainableNames(program));
    for (size_t i = 0; i < nearest.size(); ++i)
      message += (i ? ", " : "; nearest: ") + nearest[i];
    return notFound(message + "; without a name, explain lists all");
  }
  return ordered_json{{"name", name},
                      {"tensors", tensors},
                      {"collectives", collectives},
                      {"messages", messages}};
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

/// "bf16 [4/dp, 16, 32/tp.0/tp.1]".
static std::string splitText(const ordered_json &tensor) {
  std::string text = tensor["dtype"].get<std::string>() + " [";
  for (const ordered_json &dim : tensor["dims"]) {
    text += (text.ends_with("[") ? "" : ", ") +
            std::to_string(dim["size"].get<uint64_t>());
    for (const ordered_json &axis : dim["axes"])
      text += "/" + axis.get<std::string>();
  }
  text += "]";
  for (const ordered_json &axis : tensor["partial"])
    text += " sum over " + axis.get<std::string>();
  return text;
}

/// The parts of a reason, one a line.
static std::string reasonLines(const std::string &why, const char *indent) {
  std::string text;
  for (size_t at = 0; at < why.size();) {
    size_t end = std::min(why.find("; ", at), why.size());
    text += indent + why.substr(at, end - at) + "\n";
    at = end + 2;
  }
  return text;
}

static std::string tensorText(const ordered_json &tensor) {
  std::string text = tensor["kind"].get<std::string>() + " '" +
                     tensor["name"].get<std::string>() + "'";
  if (std::string where = tensor["where"]; !where.empty())
    text += " in " + where;
  if (std::string source = tensor["source"]; !source.empty())
    text += " (" + source + ")";
  text += "\n  " + splitText(tensor) + ": a rank holds ";
  std::vector<uint64_t> local;
  for (const ordered_json &dim : tensor["dims"])
    local.push_back(dim["local"]);
  return text + shapeText(local) + ", " + formatBytes(tensor["local_bytes"]) +
         " of " + formatBytes(tensor["bytes"]) + "\n" +
         reasonLines(tensor["why"], "    ");
}

static std::string endText(const ordered_json &end, const char *verb) {
  std::string op = end["op"], why = end["why"];
  return "  " + op + " " + verb + " " + end["sharding"].get<std::string>() +
         "\n" + reasonLines(why, "      ");
}

/// "  a bucket of 15 parts, the first of them the one below: a, b, ...".
static std::string bucketText(const ordered_json &use) {
  std::string text = formatText("  a bucket of %u parts, of which the first "
                                "is explained here: ",
                                use["pieces"].get<unsigned>());
  const ordered_json &tensors = use["tensors"];
  for (size_t i = 0; i < tensors.size() && i < 8; ++i)
    text += (i ? ", " : "") + tensors[i].get<std::string>();
  return text + (tensors.size() > 8 ? ", ...\n" : "\n");
}

static std::string collectiveText(const ordered_json &use) {
  std::string text = use["op"].get<std::string>() + " over " +
                     use["group"].get<std::string>() + " (" +
                     formatNoun(use["ranks"], "rank") +
                     "): " + formatNoun(use["instructions"], "place") + ", " +
                     formatNoun(use["per_step"], "time") + " a step\n";
  text += "  a rank gives " + formatBytes(use["from_bytes"]) + ", gets " +
          formatBytes(use["to_bytes"]) + ", sends " +
          formatBytes(uint64_t(use["sent_bytes"].get<double>())) + "\n  at " +
          use["first"].get<std::string>();
  if (use["places"].size() > 1)
    text += formatText(" and %zu more", use["places"].size() - 1);
  if (std::string source = use["source"]; !source.empty())
    text += " (" + source + ")";
  text += "\n";
  if (use["pieces"].get<unsigned>() > 1)
    text += bucketText(use);
  if (!use["gives"]["op"].get<std::string>().empty())
    return text + endText(use["gives"], "gives") +
           endText(use["wants"], "wants");
  std::string why = use["why"];
  return text + "  " +
         (why.empty() ? "nothing says which ops made it necessary" : why) +
         "\n";
}

std::string hocket::explanationTextOf(const ordered_json &explanation) {
  std::string text;
  for (const ordered_json &tensor : explanation["tensors"])
    text += tensorText(tensor) + "\n";
  for (const ordered_json &use : explanation["collectives"])
    text += collectiveText(use) + "\n";
  for (const ordered_json &use : explanation["messages"])
    text += messageText(use) + "\n";
  if (text.empty())
    return "nothing is exchanged within group '" +
           explanation["name"].get<std::string>() + "'\n";
  text.pop_back();
  return text;
}
