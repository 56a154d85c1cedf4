//===- BuildTraining.cpp - The training part as an op ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/build/BuildTraining.h"

#include "dialects/xf/IR/Xf.h"
#include "frontends/spec/LoadSpec.h"
#include "frontends/spec/model/BatchGrowth.h"
#include "frontends/spec/model/DataSources.h"
#include "frontends/spec/model/Sizes.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::spec;

/// (name, value) -> an entry of a dictionary.
static auto wholeEntries(Builder &builder) {
  return [&builder](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
}

/// Likewise of real numbers.
static auto realEntries(Builder &builder) {
  return [&builder](StringRef name, double value) {
    return builder.getNamedAttr(name, builder.getF64FloatAttr(value));
  };
}

static Attribute optimizerAttr(const Optimizer &optimizer, Builder &builder) {
  auto real = [&](double value) { return builder.getF64FloatAttr(value); };
  if (optimizer.has_sgd())
    return xf::SgdAttr::get(builder.getContext(),
                            real(optimizer.sgd().momentum()),
                            real(optimizer.sgd().weight_decay()));
  const Optimizer::AdamW &adamw = optimizer.adamw();
  return xf::AdamWAttr::get(builder.getContext(), real(adamw.beta1()),
                            real(adamw.beta2()), real(adamw.eps()),
                            real(adamw.weight_decay()));
}

static xf::LossScaleAttr lossScaleAttr(const Training &training,
                                       Builder &builder) {
  if (!training.has_loss_scale())
    return nullptr;
  const LossScale &scale = training.loss_scale();
  auto real = [&](double value) { return builder.getF64FloatAttr(value); };
  return xf::LossScaleAttr::get(builder.getContext(), real(scale.initial()),
                                real(scale.growth_factor()),
                                real(scale.backoff_factor()),
                                scale.growth_interval(), real(scale.minimum()));
}

static xf::Precision precisionOf(Training::Precision precision) {
  switch (precision) {
  case Training::FP32:
    return xf::Precision::Fp32;
  case Training::BF16:
    return xf::Precision::Bf16;
  case Training::FP16:
    return xf::Precision::Fp16;
  }
  llvm_unreachable("a parsed enum has one of its values");
}

static xf::Fp8Recipe recipeOf(Training::Fp8Recipe recipe) {
  switch (recipe) {
  case Training::TENSORWISE:
    return xf::Fp8Recipe::Tensorwise;
  case Training::BLOCKWISE:
    return xf::Fp8Recipe::Blockwise;
  case Training::MXFP8:
    return xf::Fp8Recipe::Mxfp8;
  }
  llvm_unreachable("a parsed enum has one of its values");
}

/// Nothing where layers do not multiply in 8 bits.
static xf::Fp8RecipeAttr fp8Attr(const Training &training, Builder &builder) {
  if (training.fp8_format() == Training::NONE)
    return {};
  return xf::Fp8RecipeAttr::get(builder.getContext(),
                                recipeOf(training.fp8_recipe()));
}

static StringRef scheduleName(LearningRate::Schedule schedule) {
  switch (schedule) {
  case LearningRate::CONSTANT:
    return "constant";
  case LearningRate::LINEAR:
    return "linear";
  case LearningRate::COSINE:
    return "cosine";
  case LearningRate::INVERSE_SQRT:
    return "inverse_sqrt";
  case LearningRate::WSD:
    return "wsd";
  }
  llvm_unreachable("a parsed enum has one of its values");
}

static DictionaryAttr learningRateAttr(const LearningRate &rate,
                                       Builder &builder) {
  bool isInSamples = rate.has_decay_samples();
  auto length = [&](const std::string &name, int64_t steps, int64_t samples) {
    return builder.getNamedAttr(
        name + (isInSamples ? "_samples" : "_steps"),
        builder.getI64IntegerAttr(isInSamples ? samples : steps));
  };
  SmallVector<NamedAttribute> entries = {
      builder.getNamedAttr(
          "schedule", builder.getStringAttr(scheduleName(rate.schedule()))),
      builder.getNamedAttr("peak", builder.getF64FloatAttr(rate.peak())),
      builder.getNamedAttr("minimum", builder.getF64FloatAttr(rate.minimum())),
      length("warmup", rate.warmup_steps(), rate.warmup_samples()),
      length("decay", rate.decay_steps(), rate.decay_samples()),
      length("wsd_decay", rate.wsd_decay_steps(), rate.wsd_decay_samples()),
  };
  if (rate.has_warmup_fraction()) // Of a run in epochs.
    entries.push_back(builder.getNamedAttr(
        "warmup_fraction", builder.getF64FloatAttr(rate.warmup_fraction())));
  return builder.getDictionaryAttr(entries);
}

/// Nothing where the batch has one size.
static ArrayAttr batchSizesAttr(const Training &training, Builder &builder) {
  if (!batchGrows(training))
    return {};
  SmallVector<Attribute> rows;
  BatchSizes sizes = batchSizesOf(training);
  for (const BatchSize &row : sizes.sizes())
    rows.push_back(xf::BatchSizeAttr::get(builder.getContext(),
                                          static_cast<int64_t>(row.size),
                                          static_cast<int64_t>(row.from)));
  return builder.getArrayAttr(rows);
}

static DictionaryAttr maskedLmAttr(const Spec &spec, Builder &builder) {
  const MaskedLm &masked = spec.training().masked_lm();
  auto whole = wholeEntries(builder);
  auto real = realEntries(builder);
  return builder.getDictionaryAttr({
      whole("cls_token", masked.cls_token()),
      whole("sep_token", masked.sep_token()),
      whole("mask_token", masked.mask_token()),
      whole("pad_token", masked.pad_token()),
      real("probability", masked.probability()),
      real("mask_share", masked.mask_share()),
      real("random_share", masked.random_share()),
      real("short_sequence_probability", masked.short_sequence_probability()),
      whole("sentence_order", spec.model().sentence_head()),
      whole("whole_words", masked.whole_words()),
  });
}

static DictionaryAttr classificationAttr(const Spec &spec, Builder &builder) {
  const Classification &frame = spec.training().classification();
  auto whole = wholeEntries(builder);
  return builder.getDictionaryAttr({
      whole("cls_token", frame.cls_token()),
      whole("sep_token", frame.sep_token()),
      whole("pad_token", frame.pad_token()),
      whole("classes", classValues(spec.model())),
      whole("sequences", sequencesOfQuestion(spec.model())),
  });
}

static DictionaryAttr prefixLmAttr(const PrefixLm &prefix, Builder &builder) {
  auto share = [&](StringRef name, double value) {
    return builder.getNamedAttr(name, builder.getF64FloatAttr(value));
  };
  return builder.getDictionaryAttr({share("least_share", prefix.least_share()),
                                    share("most_share", prefix.most_share())});
}

static DictionaryAttr spanCorruptionAttr(const Training &training,
                                         Builder &builder) {
  const SpanCorruption &spans = training.span_corruption();
  auto whole = wholeEntries(builder);
  auto real = realEntries(builder);
  return builder.getDictionaryAttr({
      whole("encoder_sequence_length", training.encoder_sequence_length()),
      whole("end_token", spans.end_token()),
      whole("pad_token", spans.pad_token()),
      whole("first_sentinel", spans.first_sentinel()),
      whole("sentinels", spans.sentinels()),
      real("noise_density", spans.noise_density()),
      real("mean_span_length", spans.mean_span_length()),
  });
}

static DictionaryAttr imagesAttr(const Spec &spec, Builder &builder) {
  const Vision &vision = spec.model().vision();
  auto whole = wholeEntries(builder);
  return builder.getDictionaryAttr({
      whole("image_token", spec.model().image_token()),
      whole("images", spec.training().images_per_sequence()),
      whole("image_size", vision.image_size()),
      whole("patch_size", vision.patch_size()),
      whole("class_row", vision.select() == Vision::ALL),
  });
}

static DictionaryAttr retrievalAttr(const Spec &spec, Builder &builder) {
  const Retrieval &retrieval = spec.model().retrieval();
  const auto &retrieved = spec.training().data().retrieved();
  SmallVector<StringRef> corpus(retrieved.corpus().begin(),
                                retrieved.corpus().end());
  auto whole = wholeEntries(builder);
  return builder.getDictionaryAttr({
      whole("chunk_length", retrieval.chunk_length()),
      whole("neighbors", retrieval.neighbors()),
      whole("retrieved_length", retrieval.retrieved_length()),
      whole("pad_token", retrieved.pad_token()),
      builder.getNamedAttr("corpus", builder.getStrArrayAttr(corpus)),
  });
}

static DictionaryAttr runtimeAttr(const Spec &spec, Builder &builder) {
  const Training &training = spec.training();
  SmallVector<NamedAttribute> entries;
  auto add = [&](StringRef name, Attribute value) {
    entries.push_back(builder.getNamedAttr(name, value));
  };
  auto whole = [&](StringRef name, int64_t value) {
    add(name, builder.getI64IntegerAttr(value));
  };
  add("data_split", builder.getStringAttr(training.data().split()));
  auto blend = [&](StringRef name, const DataSources &sources) {
    std::vector<std::string> words = blendWords(sources);
    SmallVector<StringRef> texts(words.begin(), words.end());
    if (!words.empty())
      add(name, builder.getStrArrayAttr(texts));
  };
  blend("train_data", training.data().train());
  blend("valid_data", training.data().valid());
  blend("test_data", training.data().test());
  if (training.data().has_eod_token())
    whole("eod_token", training.data().eod_token());
  if (training.data().eod_mask_loss())
    add("eod_mask_loss", builder.getUnitAttr());
  if (training.has_masked_lm())
    add("masked_lm", maskedLmAttr(spec, builder));
  if (training.has_prefix_lm())
    add("prefix_lm", prefixLmAttr(training.prefix_lm(), builder));
  if (training.has_classification())
    add("classification", classificationAttr(spec, builder));
  if (training.has_span_corruption())
    add("span_corruption", spanCorruptionAttr(training, builder));
  if (spec.model().has_vision())
    add("images", imagesAttr(spec, builder));
  if (spec.model().has_retrieval())
    add("retrieval", retrievalAttr(spec, builder));
  add("learning_rate", learningRateAttr(training.learning_rate(), builder));
  whole("log_interval", training.log_interval());
  whole("save_interval", training.save_interval());
  whole("seed", static_cast<int64_t>(training.seed()));
  add("spec", builder.getStringAttr(printSpec(spec)));
  if (training.has_epochs())
    whole("epochs", training.epochs());
  whole("steps", training.has_epochs() ? 0 : training.steps());
  whole("valid_batches", training.validation().batches());
  whole("valid_interval", training.validation().interval());
  whole("vocab_size", spec.model().vocab_size());
  if (spec.cluster().has_memory_bytes())
    whole("memory_bytes", spec.cluster().memory_bytes());
  return builder.getDictionaryAttr(entries);
}

static xf::ParameterRole targetOf(ParameterSelection::Role role) {
  switch (role) {
  case ParameterSelection::QUERY:
    return xf::ParameterRole::Query;
  case ParameterSelection::KEY:
    return xf::ParameterRole::Key;
  case ParameterSelection::VALUE:
    return xf::ParameterRole::Value;
  case ParameterSelection::ATTENTION_OUTPUT:
    return xf::ParameterRole::AttentionOutput;
  case ParameterSelection::GATE:
    return xf::ParameterRole::Gate;
  case ParameterSelection::UP:
    return xf::ParameterRole::Up;
  case ParameterSelection::DOWN:
    return xf::ParameterRole::Down;
  case ParameterSelection::EXPERT_GATE:
    return xf::ParameterRole::ExpertGate;
  case ParameterSelection::EXPERT_UP:
    return xf::ParameterRole::ExpertUp;
  case ParameterSelection::EXPERT_DOWN:
    return xf::ParameterRole::ExpertDown;
  default:
    llvm_unreachable("S73 has seen to it");
  }
}

static void buildLowRank(const Lora &lora, OpBuilder &builder,
                         Location location) {
  SmallVector<Attribute> targets;
  for (int role : lora.targets())
    targets.push_back(xf::ParameterRoleAttr::get(
        builder.getContext(),
        targetOf(static_cast<ParameterSelection::Role>(role))));
  builder.create<xf::LowRankOp>(
      location, builder.getI64IntegerAttr(lora.rank()),
      builder.getF64FloatAttr(lora.alpha()),
      builder.getF64FloatAttr(lora.dropout()), builder.getArrayAttr(targets));
}

void spec::buildTraining(const Spec &spec, OpBuilder &builder,
                         Location location) {
  const Training &training = spec.training();
  MLIRContext *context = builder.getContext();
  builder.create<xf::TrainingOp>(
      location, builder.getStringAttr(spec.name()),
      // One question at a time, as the functions have it.
      builder.getI64IntegerAttr(sequencesOfQuestion(spec.model())),
      builder.getI64IntegerAttr(training.global_batch_size()),
      builder.getI64IntegerAttr(training.sequence_length()),
      optimizerAttr(training.optimizer(), builder),
      builder.getF64FloatAttr(training.clip_norm()),
      xf::PrecisionAttr::get(context, precisionOf(training.precision())),
      lossScaleAttr(training, builder), fp8Attr(training, builder),
      batchSizesAttr(training, builder), runtimeAttr(spec, builder));
  if (training.has_lora())
    buildLowRank(training.lora(), builder, location);
}
