//===- CheckTraining.cpp - Fields of training -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"
#include "frontends/spec/model/DataSources.h"
#include "frontends/spec/model/Frozen.h"
#include "frontends/spec/model/Sizes.h"
#include "frontends/spec/text/SpecText.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

using namespace hocket::spec;

/// Of experts, for each token: the rows of the experts' buffer, and what
/// widens them.
static CheckedSize expertRowWidth(const Spec &spec) {
  const Moe &moe = spec.model().moe();
  CheckedSize width = CheckedSize(moe.ffn()) * 2 + spec.model().hidden();
  int64_t rows = moe.experts() * expertCapacity(spec);
  if (rows == 0)
    return width * moe.top_k();
  return width * ((rows - 1) / spec.training().sequence_length() + 1);
}

/// S34: numbers of rows are 32-bit. Of a capacity, those of one sequence.
static bool expertRowsFit(const Spec &spec) {
  const Moe &moe = spec.model().moe();
  CheckedSize rows = CheckedSize(spec.training().micro_batch_size()) *
                     spec.plan().data_parallel() *
                     spec.training().sequence_length() * moe.top_k();
  if (rows.get().value_or(INT64_MAX) > INT32_MAX ||
      moe.experts() * expertCapacity(spec) > INT32_MAX)
    return false;
  return expertCapacity(spec) > 0 || spec.plan().expert_parallel() == 1 ||
         expertRowsBound(spec, tokensOfRank(spec)) <= INT32_MAX;
}

/// S12: no tensor of a microbatch outgrows 64-bit sizes.
static void checkActivations(const Spec &spec, ConstraintErrors &errors) {
  const Model &model = spec.model();
  if (!model.has_head_dim())
    return; // S5 was broken.
  CheckedSize tokens = CheckedSize(spec.training().micro_batch_size()) *
                       spec.plan().data_parallel() *
                       spec.training().sequence_length();
  CheckedSize width =
      paddedVocabSize(model) + CheckedSize(model.ffn()) * 2 + model.hidden() +
      CheckedSize(model.heads()) * model.head_dim() * 3 +
      CheckedSize(model.heads()) * spec.training().sequence_length();
  // Without either S30 or S13 was broken.
  bool experts =
      model.moe().has_experts() && spec.training().has_sequence_length();
  if (experts)
    width = width + expertRowWidth(spec);
  if (!(tokens * width * model.layers() * 16).get())
    errors.add(12, "training.micro_batch_size",
               "the activations of a microbatch do not fit 64-bit sizes; "
               "write a smaller micro_batch_size or sequence_length");
  if (experts && !expertRowsFit(spec))
    errors.add(34, "model.moe",
               "the experts' rows of a microbatch do not fit 32-bit numbers; "
               "write a smaller micro_batch_size or sequence_length");
}

/// S13.
static void checkSequence(const Spec &spec, ConstraintErrors &errors) {
  const Model &model = spec.model();
  const Training &training = spec.training();
  if (!training.has_sequence_length()) {
    errors.add(13, "training.sequence_length",
               "neither training.sequence_length nor model.max_positions is "
               "there; write one");
    return;
  }
  if (model.position() == Model::LEARNED &&
      training.sequence_length() > model.max_positions())
    errors.add(13, "training.sequence_length",
               "training.sequence_length is " +
                   std::to_string(training.sequence_length()) +
                   ", but only model.max_positions (" +
                   std::to_string(model.max_positions()) +
                   ") positions are learned; write at most that");
  checkActivations(spec, errors);
}

void hocket::spec::checkScheduleLengths(LearningRate::Schedule schedule,
                                        const ScheduleLengths &lengths,
                                        ConstraintErrors &errors) {
  auto add = [&](const std::string &field, const std::string &text) {
    errors.add(15, "training.learning_rate." + field, field + text);
  };
  const std::string warmup = "warmup_" + lengths.unit,
                    decay = "decay_" + lengths.unit, wsdDecay = "wsd_" + decay;
  if (lengths.warmup > lengths.decay)
    add(warmup, " is " + std::to_string(lengths.warmup) + "; write at most " +
                    decay + " (" + std::to_string(lengths.decay) + ")");
  if (!lengths.wsdDecay)
    return;
  int64_t rest = lengths.decay - lengths.warmup;
  if (schedule != LearningRate::WSD)
    add(wsdDecay,
        " has no use with schedule: " + LearningRate::Schedule_Name(schedule) +
            "; write schedule: WSD, or leave it out");
  else if (rest >= 0 && *lengths.wsdDecay > rest)
    add(wsdDecay, " is " + std::to_string(*lengths.wsdDecay) +
                      "; write at most " + decay + " - " + warmup + " (" +
                      std::to_string(rest) + ")");
}

/// S15.
static void checkLearningRate(const Training &training,
                              ConstraintErrors &errors) {
  const LearningRate &rate = training.learning_rate();
  if (rate.minimum() > rate.peak())
    errors.add(15, "training.learning_rate.minimum",
               "the minimum learning rate is " + formatReal(rate.minimum()) +
                   "; write at most the peak (" + formatReal(rate.peak()) +
                   ")");
  if (training.has_epochs()) // Whose data says how long they are.
    return;
  ScheduleLengths lengths{"steps", rate.warmup_steps(), rate.decay_steps(), {}};
  if (rate.has_wsd_decay_steps())
    lengths.wsdDecay = rate.wsd_decay_steps();
  if (rate.has_decay_samples()) { // The batch grows.
    lengths = {"samples", rate.warmup_samples(), rate.decay_samples(), {}};
    if (rate.has_wsd_decay_samples())
      lengths.wsdDecay = rate.wsd_decay_samples();
  }
  checkScheduleLengths(rate.schedule(), lengths, errors);
}

/// S90: what is run again is what was not done.
static void checkRerun(const Spec &spec, ConstraintErrors &errors) {
  const Moe &moe = spec.model().moe();
  if (moe.beyond_bound() != Moe::RERUN)
    return;
  if (moe.has_capacity_factor())
    errors.add(90, "model.moe.beyond_bound",
               "steps are run again where there is no room for tokens, and "
               "capacity_factor has these dropped; leave one of them out");
  if (spec.training().precision() == Training::FP16)
    errors.add(90, "model.moe.beyond_bound",
               "a step that is to be run again lowers the loss scale first; "
               "write precision: BF16, or leave beyond_bound out");
}

/// S16.
static void checkLossScale(const Training &training, ConstraintErrors &errors) {
  if (!training.has_loss_scale())
    return;
  if (training.precision() != Training::FP16)
    errors.add(16, "training.loss_scale",
               "a loss scale has no use with precision: " +
                   Training::Precision_Name(training.precision()) +
                   "; write precision: FP16, or leave loss_scale out");
  else if (training.loss_scale().minimum() > training.loss_scale().initial())
    errors.add(16, "training.loss_scale.minimum",
               "the minimum loss scale is " +
                   formatReal(training.loss_scale().minimum()) +
                   "; write at most the initial one (" +
                   formatReal(training.loss_scale().initial()) + ")");
}

/// S16.
static void checkFp8(const Training &training, ConstraintErrors &errors) {
  if (training.fp8_format() != Training::NONE &&
      training.precision() != Training::BF16)
    errors.add(
        16, "training.fp8_format",
        "fp8_format: " + Training::Fp8Format_Name(training.fp8_format()) +
            " has no use with precision: " +
            Training::Precision_Name(training.precision()) +
            "; write precision: BF16, or leave fp8_format out");
  // S60.
  if (training.fp8_format() == Training::NONE &&
      training.fp8_recipe() != Training::TENSORWISE)
    errors.add(
        60, "training.fp8_recipe",
        "fp8_recipe: " + Training::Fp8Recipe_Name(training.fp8_recipe()) +
            " has no use without an fp8_format; write fp8_format: HYBRID, or "
            "leave fp8_recipe out");
}

/// S89.
static void checkStates(const Spec &spec, ConstraintErrors &errors) {
  if (!spec.model().has_state_space())
    return;
  if (spec.training().data().reset_attention_mask())
    errors.add(89, "training.data.reset_attention_mask",
               "state-space layers carry their states from document to "
               "document; leave reset_attention_mask out");
  if (spec.training().fp8_format() != Training::NONE)
    errors.add(89, "training.fp8_format",
               "models with state-space layers are not trained in 8 bits yet; "
               "leave fp8_format out");
}

/// S127 and S128.
static void checkRetrieved(const Spec &spec, ConstraintErrors &errors) {
  const Data &data = spec.training().data();
  if (!data.has_retrieved())
    return;
  int64_t vocabulary = spec.model().vocab_size();
  if (!spec.model().has_retrieval())
    errors.add(127, "training.data.retrieved",
               "the model takes in nothing that was retrieved; write "
               "model.retrieval { }, or leave retrieved out");
  else if (data.retrieved().pad_token() >= vocabulary && vocabulary > 0)
    errors.add(128, "training.data.retrieved.pad_token",
               "there is no token " +
                   std::to_string(data.retrieved().pad_token()) +
                   " in a vocabulary of " + std::to_string(vocabulary));
}

/// Reads "a", "a,b" or "a,b,c": shares that are not negative, the first above
/// zero.
static bool isSplit(std::string_view text) {
  int count = 0;
  while (count < 3) {
    size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    double share = -1;
    auto [stop, error] =
        std::from_chars(part.data(), part.data() + part.size(), share);
    if (error != std::errc() || stop != part.data() + part.size() ||
        !std::isfinite(share) || share < 0 || share > 1e9 ||
        (count == 0 && share == 0))
      return false;
    ++count;
    if (comma == std::string_view::npos)
      return true;
    text = text.substr(comma + 1);
  }
  return false;
}

void hocket::spec::checkTraining(const Spec &spec, ConstraintErrors &errors) {
  const Training &training = spec.training();
  checkSequence(spec, errors);
  checkLearningRate(training, errors);
  checkLossScale(training, errors);
  checkRerun(spec, errors);
  checkFp8(training, errors);
  checkStates(spec, errors);
  checkDataSources(training.data(), errors);
  checkDocuments(spec, errors);
  checkRetrieved(spec, errors);
  checkFrozen(spec, errors);
  checkLora(spec, errors);
  if (!isSplit(training.data().split()))
    errors.add(17, "training.data.split",
               "training.data.split is \"" + elide(training.data().split()) +
                   "\"; write one to three shares, the first above 0, for "
                   "example \"969,30,1\"");
}
