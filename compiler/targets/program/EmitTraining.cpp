//===- EmitTraining.cpp - What the training loop needs --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/program/ProgramEmitter.h"

#include "dialects/plan/IR/Plan.h"
#include "dialects/xf/IR/Xf.h"

using namespace mlir;
using namespace hocket;

namespace {

/// Reads fields of a dictionary; a field that is absent is 0 or empty.
class Fields {
public:
  explicit Fields(DictionaryAttr dictionary) : dictionary(dictionary) {}

  uint64_t integer(StringRef name) const {
    auto value = find<IntegerAttr>(name);
    return value ? static_cast<uint64_t>(value.getInt()) : 0;
  }
  double real(StringRef name) const {
    auto value = find<FloatAttr>(name);
    return value ? value.getValueAsDouble() : 0;
  }
  std::string text(StringRef name) const {
    auto value = find<StringAttr>(name);
    return value ? value.getValue().str() : std::string();
  }
  void addTexts(StringRef name,
                google::protobuf::RepeatedPtrField<std::string> &to) const {
    if (auto list = find<ArrayAttr>(name))
      for (auto value : list.getAsRange<StringAttr>())
        to.Add(value.str());
  }
  template <typename Attr> Attr find(StringRef name) const {
    return dictionary ? dictionary.getAs<Attr>(name) : Attr();
  }

private:
  DictionaryAttr dictionary;
};

void emitLearningRate(Fields from, program::LearningRate &to) {
  std::string schedule = from.text("schedule");
  to.set_schedule(schedule.empty() ? "constant" : schedule);
  to.set_peak(from.real("peak"));
  to.set_minimum(from.real("minimum"));
  to.set_warmup_steps(from.integer("warmup_steps"));
  to.set_decay_steps(from.integer("decay_steps"));
  to.set_wsd_decay_steps(from.integer("wsd_decay_steps"));
  to.set_warmup_samples(from.integer("warmup_samples"));
  to.set_decay_samples(from.integer("decay_samples"));
  to.set_wsd_decay_samples(from.integer("wsd_decay_samples"));
  to.set_warmup_fraction(from.real("warmup_fraction"));
}

void emitLossScale(xf::LossScaleAttr from, program::LossScale &to) {
  to.set_initial(from.getInitial().getValueAsDouble());
  to.set_growth_factor(from.getGrowthFactor().getValueAsDouble());
  to.set_backoff_factor(from.getBackoffFactor().getValueAsDouble());
  to.set_growth_interval(from.getGrowthInterval());
  to.set_minimum(from.getMinimum().getValueAsDouble());
}

void emitMaskedLm(Fields from, program::TrainingInfo::MaskedLm &to) {
  to.set_cls_token(uint32_t(from.integer("cls_token")));
  to.set_sep_token(uint32_t(from.integer("sep_token")));
  to.set_mask_token(uint32_t(from.integer("mask_token")));
  to.set_pad_token(uint32_t(from.integer("pad_token")));
  to.set_probability(from.real("probability"));
  to.set_mask_share(from.real("mask_share"));
  to.set_random_share(from.real("random_share"));
  to.set_short_sequence_probability(from.real("short_sequence_probability"));
  to.set_sentence_order(from.integer("sentence_order") != 0);
  to.set_whole_words(from.integer("whole_words") != 0);
}

void emitClassification(Fields from,
                        program::TrainingInfo::Classification &to) {
  to.set_cls_token(uint32_t(from.integer("cls_token")));
  to.set_sep_token(uint32_t(from.integer("sep_token")));
  to.set_pad_token(uint32_t(from.integer("pad_token")));
  to.set_classes(from.integer("classes"));
  to.set_sequences(from.integer("sequences"));
}

void emitSpanCorruption(Fields from,
                        program::TrainingInfo::SpanCorruption &to) {
  to.set_encoder_sequence_length(from.integer("encoder_sequence_length"));
  to.set_end_token(uint32_t(from.integer("end_token")));
  to.set_pad_token(uint32_t(from.integer("pad_token")));
  to.set_first_sentinel(uint32_t(from.integer("first_sentinel")));
  to.set_sentinels(uint32_t(from.integer("sentinels")));
  to.set_noise_density(from.real("noise_density"));
  to.set_mean_span_length(from.real("mean_span_length"));
}

void emitImages(Fields from, program::TrainingInfo::Images &to) {
  to.set_image_token(uint32_t(from.integer("image_token")));
  to.set_images(from.integer("images"));
  to.set_image_size(from.integer("image_size"));
  to.set_patch_size(from.integer("patch_size"));
  to.set_class_row(from.integer("class_row") != 0);
}

void emitRetrieval(Fields from, program::TrainingInfo::Retrieval &to) {
  to.set_chunk_length(from.integer("chunk_length"));
  to.set_neighbors(from.integer("neighbors"));
  to.set_retrieved_length(from.integer("retrieved_length"));
  to.set_pad_token(uint32_t(from.integer("pad_token")));
  from.addTexts("corpus", *to.mutable_corpus());
}

/// As program.proto has it: nothing, or ", fp8 hybrid" and the recipe, unless
/// that is the first one.
std::string fp8Text(xf::Fp8RecipeAttr recipe) {
  if (!recipe)
    return "";
  std::string text = ", fp8 hybrid";
  if (recipe.getValue() != xf::Fp8Recipe::Tensorwise)
    text += " " + xf::stringifyFp8Recipe(recipe.getValue()).str();
  return text;
}

} // namespace

LogicalResult hocket::emitTraining(ModuleOp module, program::Program &program) {
  auto trainings = module.getOps<step::TrainingOp>();
  if (trainings.empty())
    return module.emitError("no `step.training`: the module has had no "
                            "`xf.training`");
  step::TrainingOp from = *trainings.begin();
  Fields runtime(from.getRuntime());

  auto *model = program.mutable_model();
  model->set_name(from.getModelName().str());
  model->set_vocab_size(runtime.integer("vocab_size"));
  model->set_sequence_length(from.getSequenceLength());
  if (auto flops = module->getAttrOfType<FloatAttr>("hocket.flops_per_token"))
    model->set_flops_per_token(flops.getValueAsDouble());

  auto *training = program.mutable_training();
  uint64_t micro = from.getMicroBatchSize();
  uint64_t global = from.getGlobalBatchSize();
  // At this level a microbatch is what all data-parallel ranks compute.
  auto data = static_cast<uint64_t>(plan::planOf(module).dp);
  if (micro % data != 0)
    return module.emitError("a microbatch of ")
           << micro << " sequences cannot be spread over " << data << " ranks";
  training->set_micro_batch_size(micro / data);
  training->set_global_batch_size(global);
  training->set_microbatches(global / micro);
  if (ArrayAttr sizes = from.getBatchSizesAttr())
    for (auto row : sizes.getAsRange<xf::BatchSizeAttr>()) {
      auto *size = training->add_batch_sizes();
      size->set_from(static_cast<uint64_t>(row.getFrom()));
      size->set_size(static_cast<uint64_t>(row.getSize()));
    }
  training->set_steps(runtime.integer("steps"));
  training->set_epochs(runtime.integer("epochs"));
  training->set_seed(runtime.integer("seed"));
  if (auto precision =
          dyn_cast_if_present<xf::PrecisionAttr>(from.getPrecisionAttr()))
    training->set_precision(
        xf::stringifyPrecision(precision.getValue()).str() +
        fp8Text(dyn_cast_if_present<xf::Fp8RecipeAttr>(from.getFp8Attr())));
  emitLearningRate(Fields(runtime.find<DictionaryAttr>("learning_rate")),
                   *training->mutable_learning_rate());
  training->set_clip_norm(from.getClipNorm().convertToDouble());
  if (auto scale =
          dyn_cast_if_present<xf::LossScaleAttr>(from.getLossScaleAttr()))
    emitLossScale(scale, *training->mutable_loss_scale());
  training->set_valid_interval(runtime.integer("valid_interval"));
  training->set_valid_batches(runtime.integer("valid_batches"));
  training->set_data_split(runtime.text("data_split"));
  runtime.addTexts("train_data", *training->mutable_train_data());
  runtime.addTexts("valid_data", *training->mutable_valid_data());
  runtime.addTexts("test_data", *training->mutable_test_data());
  if (runtime.find<IntegerAttr>("eod_token")) {
    auto *documents = training->mutable_documents();
    documents->set_eod_token(uint32_t(runtime.integer("eod_token")));
    documents->set_mask_loss(bool(runtime.find<UnitAttr>("eod_mask_loss")));
  }
  if (auto masked = runtime.find<DictionaryAttr>("masked_lm"))
    emitMaskedLm(Fields(masked), *training->mutable_masked_lm());
  if (auto classes = runtime.find<DictionaryAttr>("classification"))
    emitClassification(Fields(classes), *training->mutable_classification());
  if (auto prefix = runtime.find<DictionaryAttr>("prefix_lm")) {
    auto *to = training->mutable_prefix_lm();
    to->set_least_share(Fields(prefix).real("least_share"));
    to->set_most_share(Fields(prefix).real("most_share"));
  }
  if (auto spans = runtime.find<DictionaryAttr>("span_corruption"))
    emitSpanCorruption(Fields(spans), *training->mutable_span_corruption());
  if (auto images = runtime.find<DictionaryAttr>("images"))
    emitImages(Fields(images), *training->mutable_images());
  if (auto retrieval = runtime.find<DictionaryAttr>("retrieval"))
    emitRetrieval(Fields(retrieval), *training->mutable_retrieval());
  training->set_log_interval(runtime.integer("log_interval"));
  training->set_save_interval(runtime.integer("save_interval"));
  program.mutable_provenance()->set_spec_text(runtime.text("spec"));
  return success();
}
