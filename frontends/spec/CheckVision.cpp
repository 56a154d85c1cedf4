//===- CheckVision.cpp - Images in the place of tokens --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"
#include "frontends/spec/model/Sizes.h"
#include "frontends/spec/model/Vision.h"

#include <utility>

using namespace hocket::spec;

/// S105: what a tower needs is written, and only with one.
static void checkParts(const Spec &spec, ConstraintErrors &errors) {
  const Model &model = spec.model();
  const Vision &vision = model.vision();
  const std::pair<const char *, bool> outside[] = {
      {"model.image_token", model.has_image_token()},
      {"training.images_per_sequence",
       spec.training().has_images_per_sequence()}};
  for (auto [field, isThere] : outside)
    if (isThere != model.has_vision())
      errors.add(105, isThere ? field : "model.vision",
                 isThere ? "the model sees no images; write model.vision, or "
                           "leave " +
                               std::string(field) + " out"
                         : std::string(field) +
                               " is required with model.vision; write it");
  if (!model.has_vision())
    return;
  const std::pair<const char *, bool> fields[] = {
      {"layers", vision.has_layers()},
      {"hidden", vision.has_hidden()},
      {"heads", vision.has_heads()},
      {"image_size", vision.has_image_size()},
      {"patch_size", vision.has_patch_size()}};
  for (auto [name, isThere] : fields)
    if (!isThere)
      errors.add(105, "model.vision",
                 "model.vision." + std::string(name) +
                     " is required; write it");
}

/// S106: sizes of the tower against each other.
static void checkSizes(const Model &model, ConstraintErrors &errors) {
  const Vision &vision = model.vision();
  auto number = [](int64_t value) { return std::to_string(value); };
  if (vision.hidden() % vision.heads() != 0)
    errors.add(106, "model.vision.heads",
               "model.vision.heads is " + number(vision.heads()) +
                   "; write a divisor of model.vision.hidden (" +
                   number(vision.hidden()) + ")");
  if (vision.image_size() % vision.patch_size() != 0)
    errors.add(106, "model.vision.patch_size",
               "patches of " + number(vision.patch_size()) +
                   " pixels do not fill images of " +
                   number(vision.image_size()) +
                   "; write a divisor of image_size");
  int64_t computed = computedLayers(vision);
  if (computed < 1 || computed > vision.layers())
    errors.add(106, "model.vision.feature_layer",
               "the tower has no layer " + number(vision.feature_layer()) +
                   "; write one from 1 to " + number(vision.layers()) +
                   ", or from the end from -1 to -" + number(vision.layers()));
  for (auto [name, activation] :
       {std::pair{"activation", vision.activation()},
        {"projector_activation", vision.projector_activation()}})
    if (isGated(activation))
      errors.add(106, std::string("model.vision.") + name,
                 std::string(name) + " acts on one linear layer, and " +
                     Model::Activation_Name(activation) +
                     " multiplies two; write another, such as GELU");
  if (model.image_token() >= model.vocab_size())
    errors.add(106, "model.image_token",
               "model.image_token is " + number(model.image_token()) +
                   "; write a token of the vocabulary, below " +
                   number(model.vocab_size()));
}

/// S107: what a model that sees images does without.
static void checkUnfit(const Spec &spec, ConstraintErrors &errors) {
  const Model &model = spec.model();
  errors.addUnfit(
      107,
      {{model.has_encoder(), "model.encoder",
        "images stand among the tokens of a decoder alone; leave encoder "
        "out"},
       {model.attention_mask() == Model::BIDIRECTIONAL, "model.attention_mask",
        "images stand in texts that are told token by token; leave "
        "attention_mask out"},
       {!spec.plan().shardings().empty(), "plan.shardings",
        "shardings of a file are of models without images; leave shardings "
        "out"}});
}

/// S108.
static void checkRoom(const Spec &spec, ConstraintErrors &errors) {
  const Training &training = spec.training();
  int64_t rows =
      training.images_per_sequence() * placedRows(spec.model().vision());
  if (training.has_sequence_length() && training.sequence_length() <= rows)
    errors.add(108, "training.sequence_length",
               "the images of a sample stand for " + std::to_string(rows) +
                   " tokens, and training.sequence_length is " +
                   std::to_string(training.sequence_length()) +
                   "; write more, or fewer images_per_sequence");
}

void hocket::spec::checkVision(const Spec &spec, ConstraintErrors &errors) {
  checkParts(spec, errors);
  if (!errors.empty() || !spec.model().has_vision())
    return;
  checkSizes(spec.model(), errors);
  if (!errors.empty())
    return;
  checkUnfit(spec, errors);
  checkRoom(spec, errors);
}
