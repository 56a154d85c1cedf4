//===- Frozen.cpp - What is not trained -----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/Frozen.h"

#include "base/NearestNames.h"
#include "frontends/spec/model/Sizes.h"
#include "frontends/spec/model/Vision.h"

#include <algorithm>
#include <vector>

using namespace hocket;
using namespace hocket::spec;

using Selections = google::protobuf::RepeatedPtrField<ParameterSelection>;

//===----------------------------------------------------------------------===//
// Selecting
//===----------------------------------------------------------------------===//

bool spec::matchesPattern(std::string_view pattern, std::string_view name) {
  // Greedy from the left: where it fails, the last * takes one more.
  size_t p = 0, n = 0, star = std::string_view::npos, from = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++from;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

static ParameterSelection::Role roleInSpec(Parameter::Role role) {
  using From = Parameter::Role;
  switch (role) {
  case From::Embedding:
    return ParameterSelection::EMBEDDING;
  case From::Positions:
    return ParameterSelection::POSITIONS;
  case From::Norm:
    return ParameterSelection::NORM;
  case From::Query:
    return ParameterSelection::QUERY;
  case From::Key:
    return ParameterSelection::KEY;
  case From::Value:
    return ParameterSelection::VALUE;
  case From::AttentionOutput:
    return ParameterSelection::ATTENTION_OUTPUT;
  case From::Gate:
    return ParameterSelection::GATE;
  case From::Up:
    return ParameterSelection::UP;
  case From::Down:
    return ParameterSelection::DOWN;
  case From::Router:
    return ParameterSelection::ROUTER;
  case From::ExpertGate:
    return ParameterSelection::EXPERT_GATE;
  case From::ExpertUp:
    return ParameterSelection::EXPERT_UP;
  case From::ExpertDown:
    return ParameterSelection::EXPERT_DOWN;
  case From::Head:
    return ParameterSelection::HEAD;
  case From::TokenTypes:
    return ParameterSelection::TOKEN_TYPES;
  case From::HeadTransform:
    return ParameterSelection::HEAD_TRANSFORM;
  case From::SentenceHead:
    return ParameterSelection::SENTENCE_HEAD;
  case From::StateInput:
    return ParameterSelection::STATE_INPUT;
  case From::StateGroup:
    return ParameterSelection::STATE_GROUP;
  case From::StateOutput:
    return ParameterSelection::STATE_OUTPUT;
  case From::RelativePositions:
    return ParameterSelection::RELATIVE_POSITIONS;
  case From::Patches:
    return ParameterSelection::PATCHES;
  case From::Latent:
    return ParameterSelection::LATENT;
  }
  return ParameterSelection::HEAD;
}

static bool selects(const ParameterSelection &selection,
                    const std::string &name, Parameter::Role role) {
  return (!selection.has_role() || selection.role() == roleInSpec(role)) &&
         (!selection.has_name() || matchesPattern(selection.name(), name));
}

static bool anySelects(const Selections &selections, const std::string &name,
                       Parameter::Role role) {
  return std::any_of(selections.begin(), selections.end(),
                     [&](const ParameterSelection &selection) {
                       return selects(selection, name, role);
                     });
}

bool spec::isFrozen(const Training &training, const std::string &name,
                    Parameter::Role role) {
  if (!training.train_only().empty())
    return !anySelects(training.train_only(), name, role);
  return anySelects(training.freeze(), name, role);
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

static double elementsOf(const Parameter &parameter) {
  double elements = 1;
  for (int64_t size : parameter.shape)
    elements *= static_cast<double>(size);
  return elements;
}

/// Of both matrices of the adapter of `parameter`, or of each expert's.
static double lowRankElements(const Parameter &parameter, int64_t rank) {
  size_t dims = parameter.shape.size();
  double elements = static_cast<double>(
      rank * (parameter.shape[dims - 2] + parameter.shape[dims - 1]));
  return dims == 3 ? static_cast<double>(parameter.shape[0]) * elements
                   : elements;
}

double spec::trainedShare(const Spec &spec) {
  return trainedShare(spec, [](const Parameter &) { return true; });
}

double spec::trainedShare(const Spec &spec,
                          const std::function<bool(const Parameter &)> &isOne) {
  const Training &training = spec.training();
  if (!training.has_lora() && training.freeze().empty() &&
      training.train_only().empty())
    return 1;
  double trained = 0, all = 0;
  for (const Parameter &parameter : modelParameters(spec)) {
    if (!isOne(parameter))
      continue;
    all += elementsOf(parameter);
    if (!training.has_lora())
      trained += isFrozen(training, parameter.name, parameter.role)
                     ? 0
                     : elementsOf(parameter);
    else if (parameter.shape.size() >= 2 && !isOfVision(parameter.name) &&
             std::count(training.lora().targets().begin(),
                        training.lora().targets().end(),
                        roleInSpec(parameter.role)) > 0)
      trained += lowRankElements(parameter, training.lora().rank());
  }
  return all > 0 ? std::min(trained / all, 1.0) : 1;
}

static std::string textOf(const ParameterSelection &selection) {
  std::string text;
  if (selection.has_role())
    text = "role: " + ParameterSelection::Role_Name(selection.role());
  if (selection.has_name())
    text += (text.empty() ? "" : " ") + ("name: \"" + selection.name() + "\"");
  return text;
}

/// S70: an entry selects something.
static void checkSelections(const std::string &field,
                            const Selections &selections,
                            const std::vector<Parameter> &all,
                            ConstraintErrors &errors) {
  for (int i = 0; i < selections.size(); ++i) {
    const ParameterSelection &selection = selections[i];
    std::string path = field + "[" + std::to_string(i) + "]";
    if (!selection.has_role() && !selection.has_name()) {
      errors.add(70, path,
                 field + " has an entry that says nothing; write a role, as "
                         "in { role: EMBEDDING }, or a name, as in { name: "
                         "\"layers.0.*\" }");
      continue;
    }
    bool found =
        std::any_of(all.begin(), all.end(), [&](const Parameter &parameter) {
          return selects(selection, parameter.name, parameter.role);
        });
    if (found)
      continue;
    std::vector<std::string> names;
    for (const Parameter &parameter : all)
      names.push_back(parameter.name);
    std::string near = selection.has_name() && !selection.has_role()
                           ? didYouMean(selection.name(), names)
                           : "";
    errors.add(70, path,
               "the model has no parameter of " + textOf(selection) +
                   (near.empty() ? "; `hocket inspect` lists them" : near));
  }
}

void spec::checkFrozen(const Spec &spec, ConstraintErrors &errors) {
  const Training &training = spec.training();
  if (training.freeze().empty() && training.train_only().empty())
    return;
  if (!training.freeze().empty() && !training.train_only().empty()) {
    errors.add(71, "training.train_only[0]",
               "training.freeze and training.train_only are both written; "
               "write one: what is not trained, or what alone is");
    return;
  }
  std::vector<Parameter> all = modelParameters(spec);
  checkSelections("training.freeze", training.freeze(), all, errors);
  checkSelections("training.train_only", training.train_only(), all, errors);
  bool trains =
      std::any_of(all.begin(), all.end(), [&](const Parameter &parameter) {
        return !isFrozen(training, parameter.name, parameter.role);
      });
  if (!trains && errors.empty())
    errors.add(72, "training.freeze[0]",
               "training.freeze leaves nothing to train; leave an entry out");
}

static bool isOfExperts(ParameterSelection::Role role) {
  return role == ParameterSelection::EXPERT_GATE ||
         role == ParameterSelection::EXPERT_UP ||
         role == ParameterSelection::EXPERT_DOWN;
}

/// Whether a layer has such a linear layer, be it of a shared expert.
static bool hasLinear(const Spec &spec, ParameterSelection::Role role) {
  std::vector<Parameter> all = modelParameters(spec);
  return std::any_of(all.begin(), all.end(), [&](const Parameter &parameter) {
    return roleInSpec(parameter.role) == role && parameter.shape.size() >= 2 &&
           !isOfVision(parameter.name);
  });
}

/// S73: a target is a role of the model's linear layers.
static void checkTarget(const Spec &spec, ParameterSelection::Role role,
                        const std::string &path, ConstraintErrors &errors) {
  const Model &model = spec.model();
  using Selection = ParameterSelection;
  std::string name = Selection::Role_Name(role);
  bool attends = role == Selection::QUERY || role == Selection::KEY ||
                 role == Selection::VALUE ||
                 role == Selection::ATTENTION_OUTPUT;
  bool feeds = role == Selection::GATE || role == Selection::UP ||
               role == Selection::DOWN;
  bool ofExperts = isOfExperts(role);
  std::string text = "training.lora.targets has " + name + ", ";
  if (!attends && !feeds && !ofExperts)
    errors.add(73, path,
               text + "which is no linear layer of a block; write QUERY, KEY, "
                      "VALUE, ATTENTION_OUTPUT, GATE, UP or DOWN, or of "
                      "experts EXPERT_GATE, EXPERT_UP or EXPERT_DOWN");
  else if (attends && !spec::attends(model))
    errors.add(73, path,
               text + "and no layer of the model attends; leave it out");
  else if ((role == Selection::GATE || role == Selection::EXPERT_GATE) &&
           !isGated(model.activation()))
    errors.add(73, path,
               text + "which a model with activation: " +
                   Model::Activation_Name(model.activation()) +
                   " lacks; leave it out");
  else if (feeds && model.has_moe() && !hasLinear(spec, role))
    errors.add(74, path,
               text + "and all layers have experts alone; write EXPERT_" +
                   name + ", or roles of attention");
  else if (ofExperts && !model.has_moe())
    errors.add(74, path,
               text + "and the model has no experts; write model.moe, or " +
                   name.substr(name.find('_') + 1));
}

/// S116: which row of the experts a token has is a matter of the plan, and what
/// drops or quantizes goes by rows.
static void checkExpertTargets(const Training &training,
                               ConstraintErrors &errors) {
  const Lora &lora = training.lora();
  if (std::none_of(lora.targets().begin(), lora.targets().end(), [](int role) {
        return isOfExperts(static_cast<ParameterSelection::Role>(role));
      }))
    return;
  if (lora.dropout() > 0)
    errors.add(116, "training.lora.dropout",
               "adapters of experts drop nothing: which rows they have is a "
               "matter of the plan; leave dropout out, or the EXPERT_ targets");
  if (training.fp8_format() != Training::NONE)
    errors.add(116, "training.fp8_format",
               "experts that multiply in 8 bits have no adapters; leave "
               "fp8_format out, or the EXPERT_ targets of training.lora");
}

void spec::checkLora(const Spec &spec, ConstraintErrors &errors) {
  const Training &training = spec.training();
  if (!training.has_lora())
    return;
  const Lora &lora = training.lora();
  for (int i = 0; i < lora.targets_size(); ++i) {
    std::string path = "training.lora.targets[" + std::to_string(i) + "]";
    checkTarget(spec, lora.targets(i), path, errors);
    if (std::count(lora.targets().begin(), lora.targets().begin() + i,
                   lora.targets(i)) > 0)
      errors.add(73, path,
                 "training.lora.targets has " +
                     ParameterSelection::Role_Name(lora.targets(i)) +
                     " twice; write it once");
  }
  checkExpertTargets(training, errors);
  for (const char *field : {"freeze", "train_only"})
    if (field == std::string("freeze") ? !training.freeze().empty()
                                       : !training.train_only().empty())
      errors.add(75, std::string("training.") + field + "[0]",
                 std::string("training.") + field +
                     " has no use with training.lora, whose adapters alone "
                     "are trained; leave one of them out");
}
