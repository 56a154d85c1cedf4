//===- ModelBuilder.h - Builds the functions of a model ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The class behind BuildModel.h, in several sources: BuildModel.cpp,
/// BuildVariables.cpp for what is kept from step to step,
/// BuildBranches.cpp for what a layer adds up, BuildLatentAttention.cpp,
/// BuildPositions.cpp, BuildEncoder.cpp for models of two stacks,
/// BuildVision.cpp for those that see images, BuildRetrieval.cpp for those that
/// retrieve, BuildExperts.cpp for layers with experts, BuildStateSpace.cpp for
/// those of Mamba-2, and BuildServing.cpp for the functions that write.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_BUILD_MODELBUILDER_H
#define HOCKET_FRONTENDS_SPEC_BUILD_MODELBUILDER_H

#include "dialects/xf/IR/Xf.h"
#include "frontends/spec/build/BuildModel.h"
#include "frontends/spec/model/Parameters.h"
#include "frontends/spec/model/Retrieval.h"
#include "frontends/spec/model/Sizes.h"
#include "frontends/spec/model/Vision.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace hocket::spec {

/// Random streams of dropout and jitter, part of what a trained model is.
enum DropoutStream : int32_t {
  EmbeddingStream = 1,
  AttentionStream = 2,
  AttentionBranchStream = 3,
  MlpBranchStream = 4,
  RouterStream = 5,
  EncoderEmbeddingStream = 6,
  CrossAttentionStream = 7,
  CrossAttentionBranchStream = 8,
  SequenceHeadStream = 9,
  MlpStream = 10,
  FinalNormStream = 11,
  EncoderFinalNormStream = 12,
};

xf::ActivationKind activationOf(Model::Activation activation);

class ModelBuilder {
public:
  ModelBuilder(const LoadedSpec &loaded, mlir::MLIRContext &context,
               const Entries &entries)
      : spec(loaded.spec), model(loaded.spec.model()), layers(model),
        encoder(encoderOf(model)), encoderLayers(encoder),
        tower(towerOf(model)), visionLayers(tower), stackModel(&model),
        locations(loaded.locations), entries(entries), builder(&context),
        f32(builder.getF32Type()), batch(sequencesOfQuestion(model)),
        sequence(loaded.spec.training().sequence_length()),
        encoderSequence(loaded.spec.training().encoder_sequence_length()),
        imagesOfSequence(loaded.spec.training().images_per_sequence()) {}

  mlir::OwningOpRef<mlir::ModuleOp> build();

private:
  //===--- Variables ------------------------------------------------------===//
  void declareVariables();
  void declare(const Parameter &parameter, const std::string &name);

  //===--- The layer function ---------------------------------------------===//
  /// One for each kind of layer. A layer with experts returns x, then what its
  /// router adds to the loss and how many tokens chose each expert, where the
  /// spec asks for them.
  void buildLayers();
  mlir::func::FuncOp buildLayer();
  mlir::Value buildBranches(mlir::Value input);
  /// Adds a branch to `input`, between the norms that `norm_position` asks for.
  using BranchFn = llvm::function_ref<mlir::Value(mlir::Value input)>;
  mlir::Value addBranch(mlir::Value input, llvm::StringRef name,
                        DropoutStream stream, BranchFn branch);
  /// Both branches on `input`, as `branches` asks for.
  mlir::Value buildParallelBranches(mlir::Value input);
  /// What a branch made as it is added: scaled, and through dropout.
  mlir::Value scaledBranch(mlir::Value result, llvm::StringRef name,
                           DropoutStream stream);
  mlir::Value buildAttentionBranch(mlir::Value input);
  /// The linear layer `name` of `input`, of `positions` tokens, as heads.
  mlir::Value projectHeads(mlir::Value input, const std::string &name,
                           int64_t positions, int64_t heads);
  /// Attention to latents (BuildLatentAttention.cpp).
  mlir::Value buildLatentAttentionBranch(mlir::Value input);
  mlir::Value buildLatent(mlir::Value input, llvm::StringRef name,
                          int64_t rank);
  mlir::Value latentHeads(mlir::Value input, const std::string &name,
                          int64_t heads, int64_t width);
  mlir::Value mergeHeads(mlir::Value heads, const std::string &name);
  mlir::Value buildAttention(mlir::Value query, mlir::Value key,
                             mlir::Value value);
  /// How one attention differs from others of a layer.
  struct AttentionForm {
    const char *name = "attention";
    bool causal = true;
    int64_t window = 0;
    mlir::Value positions, bias;
    DropoutStream stream = AttentionStream;
    std::optional<double> dropout = std::nullopt; ///< Not the layer's.
  };
  mlir::Value createAttention(mlir::Value query, mlir::Value key,
                              mlir::Value value, const AttentionForm &form);
  double scoreScale() const; ///< Of attention.
  mlir::UnitAttr alibi();    ///< Whether scores fall with the distance.
  /// What scores get by distance, [distances, heads]; null where nothing.
  mlir::Value buildRelativeBias(bool bothDirections);
  mlir::RankedTensorType relativeBiasType() const;
  bool isRelative() const { return model.position() == Model::RELATIVE; }
  /// `linear` is the linear layer `gate`, `up` or `down` on its operand.
  using LinearFn =
      llvm::function_ref<mlir::Value(mlir::Value input, llvm::StringRef name)>;
  mlir::Value buildMlp(mlir::Value input, LinearFn linear);
  mlir::Value buildDenseMlp(mlir::Value input);
  mlir::Value qkNorm(mlir::Value input, llvm::StringRef name,
                     Model::QkNormScope scope);
  mlir::Value rotate(mlir::Value heads, llvm::StringRef name);

  //===--- Two stacks (BuildEncoder.cpp) ----------------------------------===//
  bool hasEncoder() const { return model.has_encoder(); }
  void declareEncoder();
  void buildEncoderLayers();
  /// What the decoder attends to.
  mlir::Value buildEncoder(mlir::Value tokens);
  mlir::Value buildCrossAttentionBranch(mlir::Value input);

  //===--- Images (BuildVision.cpp) ---------------------------------------===//
  bool hasVision() const { return model.has_vision(); }
  void declareVision();
  void buildVisionLayers();
  /// Images of all sequences, and numbers of the images of one.
  int64_t images() const { return batch * imagesOfSequence; }
  int64_t pixelsOfSequence() const;
  /// Rows of images that a data rank keeps where it writes: of each text as
  /// many as its images have.
  int64_t keptImageRows() const;
  /// `embedded`, with rows of images in the place of some tokens.
  mlir::Value placeImages(mlir::Value embedded);
  /// The rows of images as they stand among embeddings, [images, rows, hidden].
  mlir::Value buildVision(mlir::Value pixels);
  mlir::Value embedPatches(mlir::Value pixels);
  /// Whether the layer function being built is of the tower.
  bool isOfTower() const {
    return kind >= visionLayers.kinds().data() &&
           kind < visionLayers.kinds().data() + visionLayers.kinds().size();
  }

  //===--- Retrieval (BuildRetrieval.cpp) ---------------------------------===//
  bool hasRetrieval() const { return model.has_retrieval(); }
  int64_t neighborLength() const { return neighborTokens(spec); }
  /// Whether layers behind `of` attend to what it encodes.
  bool sharesEncoded(const ResolvedKind &of) const {
    return of.encodes && model.retrieval().layers_size() > 1;
  }
  /// What the encoder takes in, [batch, neighborLength(), hidden].
  mlir::Value embedNeighbors(mlir::Value tokens);
  mlir::Value neighborPositions();
  /// What `input`, which a norm has made, gets of the neighbours.
  mlir::Value buildRetrievalBranch(mlir::Value input);
  /// What the encoder makes of neighbours of the chunks of `input`.
  mlir::Value encodeNeighbors(mlir::Value input);
  mlir::Value buildRetrieverLayer(mlir::Value x, mlir::Value chunks);
  /// Attention of each of so many parts of `from` to the same part of `to`; of
  /// `from` they begin `shift` rows behind its beginning.
  struct ChunkedForm {
    int64_t parts = 1, shift = 0;
    AttentionForm attention = {};
  };
  mlir::Value chunkedAttention(mlir::Value from, mlir::Value to,
                               const ChunkedForm &form);

  //===--- State-space layers (BuildStateSpace.cpp) -----------------------===//
  mlir::Value buildStateSpaceBranch(mlir::Value input);
  mlir::Value buildScan(mlir::Value x, mlir::Value step, mlir::Value inMap,
                        mlir::Value outMap);
  /// The part `name` of `input`, convolved: `parts` of `width` a token.
  mlir::Value buildStateInput(mlir::Value input, llvm::StringRef name,
                              int64_t parts, int64_t width);
  mlir::Value buildGatedNorm(mlir::Value gate, mlir::Value input);

  //===--- Experts (BuildExperts.cpp) -------------------------------------===//
  bool addsLoss() const {
    return !serving.isOn &&
           (model.moe().aux_loss() > 0 || model.moe().z_loss() > 0);
  }
  bool balances() const { return model.moe().bias_rate() > 0; }
  bool countsChoices() const { return !serving.isOn && balances(); }
  /// The name of a router's state, `bias` or `counts`.
  static std::string routerState(int64_t layer, const std::string &name) {
    return "state." + layerName(layer, "mlp.router." + name);
  }
  void declareBalance(int64_t layer);
  mlir::RankedTensorType loadType() const;
  mlir::Value buildExperts(mlir::Value input);
  mlir::Value buildSharedExperts(mlir::Value input);
  mlir::Value jittered(mlir::Value input);
  /// The form that rows of experts have (XfExpertOps.td).
  struct ExpertRows {
    int64_t capacity = 0;
    llvm::SmallVector<int64_t> shape;
    mlir::Type ranges, segments; ///< Null with a capacity.
  };
  ExpertRows rowsOfExperts();
  mlir::Value runExperts(mlir::Value tokens, mlir::Value weights,
                         mlir::Value choice);
  /// What the router of a layer adds to the loss, of f32.
  mlir::Value buildRouterLoss(mlir::Value logits, mlir::Value counts);

  //===--- The forward function -------------------------------------------===//
  void buildForward();
  mlir::Value embed(mlir::Value tokens, DropoutStream stream = EmbeddingStream);
  /// A stack of layers: what their names begin with, and the number of the
  /// first one's random numbers.
  struct Stack {
    const LayerPattern &layers;
    std::string prefix;
    int64_t firstInstance = 0;
  };
  Stack decoder() const { return {layers, "", 0}; }
  mlir::Value callLayer(const Stack &stack, int64_t index, mlir::Value input);
  /// Keeps what a call of a layer with experts returns besides x.
  void collectExpertResults(mlir::func::CallOp call, int64_t index);
  void readVariables(const std::vector<Parameter> &list);
  mlir::Value learnedPositions(mlir::RankedTensorType type);
  /// The angles that layers of each kind rotate by; kinds that rotate alike
  /// share a table. Null for one that does not.
  void buildRopeTables();
  std::vector<double> frequenciesOf(const Model &rotary) const;
  mlir::Value buildRopeTable(const Model &rotary);
  mlir::Value buildLoss(mlir::Value input, mlir::Value labels);
  mlir::Value finalNorm(mlir::Value input); ///< Where there is one.
  /// Of what has gone through it.
  mlir::Value buildLogits(mlir::Value input);
  mlir::Value buildModelLoss(mlir::Value input, mlir::Value labels);
  mlir::Value buildSequenceLoss(mlir::Value input, const SequenceHead &head,
                                mlir::Value labels, mlir::Value count,
                                mlir::Location location);
  /// The mean over `count` labels, or over those that there are.
  mlir::Value crossEntropy(mlir::Value logits, mlir::Value labels,
                           mlir::Value count, int64_t classes,
                           mlir::Location location);

  //===--- Writing (BuildServing.cpp) ------------------------------------===//
  /// "cache.layers.3.keys".
  static std::string cacheName(int64_t layer, llvm::StringRef name) {
    return "cache." + layerName(layer, name.str());
  }
  /// What a layer keeps of texts from token to token.
  struct LayerCache {
    llvm::StringRef name;
    mlir::RankedTensorType type;
    xf::ParameterRole role; ///< Of what it is split like.
    const char *field;
  };
  /// None of a function that does not write.
  llvm::SmallVector<LayerCache> cachesOf(const ResolvedKind &of) const;
  void declareCaches();
  /// Likewise of attention to an encoder; `prefill` fills them.
  llvm::SmallVector<LayerCache> crossCachesOf(const ResolvedKind &of) const;
  void takeCache(
      llvm::function_ref<void(mlir::Type, llvm::StringRef, std::string_view)>
          take,
      llvm::ArrayRef<LayerCache> caches);
  mlir::Value buildCachedAttention(mlir::Value query, mlir::Value key,
                                   mlir::Value value);
  /// Of the input `part` of a state-space layer: `x`, `b` or `c`.
  mlir::Value buildCachedConv(mlir::Value input, llvm::StringRef part);
  void outputLabels(mlir::Value input, mlir::Value labels);
  void buildServingFunction(llvm::StringRef name, int64_t tokens);
  /// Of two stacks: reads texts, and keeps what the decoder attends to.
  void buildEncodingFunction(llvm::StringRef name);
  std::vector<Parameter> crossKeyParameters(const ResolvedKind &of) const;
  mlir::func::FuncOp buildCrossKeys();
  void callCrossKeys(int64_t index, mlir::Value encoded);
  /// Of a model that sees images: makes rows of an image, and keeps them.
  void buildImageFunction(llvm::StringRef name);
  void buildServing();

  //===--- Documents that share a sequence --------------------------------===//
  bool masksLabels() const {
    return data().eod_mask_loss() || seesBehind() || hasEncoder() ||
           hasVision();
  }
  bool resetsAttention() const {
    return !serving.isOn && data().reset_attention_mask();
  }
  /// Whether positions are an input of the function, for embedding or rope.
  bool takesPositions() const {
    return serving.isOn || data().reset_position_ids();
  }
  const Data &data() const { return spec.training().data(); }

  //===--- Encoders and prefixes ------------------------------------------===//
  /// Whether tokens may see those behind them: as many as their key count says.
  bool seesBehind() const { return model.attention_mask() != Model::CAUSAL; }
  /// Whether layers are told of how many keys of a sequence there are. An
  /// encoder's sequences are full where it is trained.
  bool takesKeyCounts() const { return seesBehind() || serving.encodes; }

  //===--- Parts of both -------------------------------------------------===//
  mlir::Value linear(mlir::Value input, const std::string &name, int64_t out);
  mlir::Value activate(mlir::Value input, llvm::StringRef name,
                       xf::ActivationKind kind, std::string_view field);
  mlir::Value norm(mlir::Value input, const std::string &name);
  mlir::Value norm(mlir::Value input, const std::string &name,
                   xf::NormKind kind, std::string_view field);
  /// `input` times `factor`; `input` itself where that is 1. A share of the
  /// tokens of a microbatch is one `perSequences` of them (xf.constant).
  mlir::Value scaled(mlir::Value input, double factor, llvm::StringRef name,
                     std::string_view field, int64_t perSequences = 0);
  mlir::Value residual(mlir::Value input, mlir::Value branch,
                       llvm::StringRef name);
  mlir::Value dropout(mlir::Value input, double probability,
                      DropoutStream stream, llvm::StringRef name);

  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape) const {
    return mlir::RankedTensorType::get(shape, f32);
  }
  mlir::FloatAttr real(double value) { return builder.getF64FloatAttr(value); }
  /// Whether layers of `of` draw random numbers.
  bool usesInstance(const Model &of) const {
    return !serving.isOn &&
           (of.dropout().attention() > 0 || of.dropout().residual() > 0 ||
            of.dropout().mlp() > 0 || of.moe().input_jitter() > 0);
  }

  /// The part `name` of the model, asked for by `field`.
  mlir::Location at(llvm::StringRef name, std::string_view field) {
    const SourcePlace &place = locations.find(field);
    mlir::StringAttr file = builder.getStringAttr(place.file);
    mlir::Location source = mlir::NameLoc::get(file); // An option has no lines.
    if (place.line > 0)
      source = mlir::FileLineColLoc::get(file, unsigned(place.line),
                                         unsigned(place.column));
    return mlir::NameLoc::get(builder.getStringAttr(partPrefix + name), source);
  }

  const Spec &spec;
  const Model &model;
  const LayerPattern layers;
  const Model encoder; ///< Of a model with one, else without layers.
  const LayerPattern encoderLayers;
  const Model tower; ///< Of a model that sees images, else without layers.
  const LayerPattern visionLayers;
  const Model *stackModel; ///< Of the stack being built.
  const FieldLocations &locations;
  const Entries entries;
  mlir::OpBuilder builder;
  mlir::Type f32;
  /// Sequences: those of one question at a time, as many as a plan has
  /// (xf-size-microbatch). Of functions that write, tokens.
  int64_t batch;
  int64_t sequence; ///< Of the stack being built.
  int64_t encoderSequence;
  int64_t imagesOfSequence; ///< Of the function being built.
  int32_t nextRandomKey = 1;

  /// The kind of the layer function being built, and the model as it sees it.
  const ResolvedKind *kind = nullptr;
  const Model &own() const { return kind->model; }
  /// The same where no layer is being built.
  const Model &part() const { return kind ? kind->model : *stackModel; }
  /// Of the function with layers being built, by kind.
  llvm::DenseMap<const ResolvedKind *, mlir::func::FuncOp> layerFunctions;
  llvm::DenseMap<const ResolvedKind *, mlir::Value> ropeTables;

  // Of the function being built: parameters by name within their scope, and
  // what layers get besides.
  llvm::StringMap<mlir::Value> parameters;
  mlir::Value ropeTable, instance, routerBias, relativeBias, encoded, neighbors;
  /// What the host gives: of each token its position in its document or, of
  /// functions that write, in its text; and of how many labels the loss is a
  /// mean. Null where they are not asked for.
  mlir::Value positions, labelCount;
  /// The same of encoders: what kind each token is of, how many keys of its
  /// sequence it sees, and of each first token whether the texts are swapped.
  mlir::Value tokenTypes, keyCounts, sentenceLabels;
  /// Of functions that write: what `xf.cached_attention` takes, and the caches
  /// of the layer, by name, as the last op has left them.
  struct Serving {
    bool isOn = false;
    bool encodes = false; ///< An encoder's stack, or a tower: no caches.
    int64_t rows = 0, length = 0, tablePages = 0;
    mlir::Value places, table;
    /// Of the layer, what the encoder's tokens have been made into, [rows,
    /// encoder's tokens, key heads, dim of a head].
    mlir::Value crossKeys, crossValues;
    llvm::StringMap<mlir::Value> caches;
  } serving;
  bool keepsCaches() const { return serving.isOn && !serving.encodes; }
  /// What the tower has made of images, and where it stands.
  mlir::Value imageFeatures, imageRows;
  std::string layerPrefix; ///< Of the names of layer functions.
  std::string partPrefix;  ///< Of the names of a layer's parts.
  /// What the routers add to the loss (of a layer, then of all so far), and how
  /// many tokens chose each expert of the layer.
  mlir::Value routerLoss, expertCounts;
};

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_BUILD_MODELBUILDER_H
