//===- ModelShape.h - The sizes that a price depends on ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the cost model knows of a transformer, a decoder or an encoder before
/// one, and of its training. All sizes are global. Counts of parameters leave
/// out biases and norms of heads, which are far below one in a thousand.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_MODELSHAPE_H
#define HOCKET_PASSES_PLANNING_COST_MODELSHAPE_H

#include "base/Status.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hocket::planning {

/// Attention whose keys and values come from a vector of few numbers a token,
/// and its queries from another (DeepSeek-V2, arXiv 2405.04434, section 2.1):
/// matrices of [hidden, queryRank], [queryRank, heads (plainDim + rotaryDim)],
/// [hidden, keyValueRank + rotaryDim], [keyValueRank, heads (plainDim +
/// valueDim)] and [heads valueDim, hidden].
struct LatentAttention {
  int64_t queryRank = 0, keyValueRank = 0; ///< 0: attention is plain.
  int64_t plainDim = 0, rotaryDim = 0;     ///< Of a head's queries and keys.
  int64_t valueDim = 0;                    ///< Of its values.

  /// What every tensor rank has all of: what makes latents and rotated keys.
  double wholeParameters(int64_t hidden) const {
    return double(hidden) * double(queryRank + keyValueRank + rotaryDim);
  }
};

/// Mamba-2 (Dao and Gu, arXiv 2405.21060, sections 6 and 7): one matrix of
/// [hidden, 2 inner + 2 groups state + heads] makes the gate, x, B, C and a
/// step a head; x, B and C are convolved along the sequence, channel by
/// channel; then the state-space recurrence in chunks; then a gated norm and
/// [inner, hidden].
struct StateSpace {
  int64_t blocks = 0; ///< In the whole model; 0: none.
  int64_t heads = 0, headDim = 0;
  int64_t state = 0;  ///< Of each channel: N.
  int64_t groups = 0; ///< Of heads that share B and C.
  int64_t convolution = 4;
  int64_t chunk = 128;    ///< Tokens; of Megatron-Core's mixer.
  int64_t normGroups = 1; ///< Parts of inner, each with a norm of its own.

  int64_t inner() const { return heads * headDim; }
  /// What is convolved: x, B and C.
  int64_t channels() const { return inner() + 2 * groups * state; }
  /// Whether the norm is of all of inner and `tp` ranks gather it: programs
  /// make its output matrix's gradient whole then.
  bool gathersNorm(int64_t tp) const { return normGroups == 1 && tp > 1; }
  /// Of x, B and C what one of `tp` ranks has: groups are whole.
  double localChannels(int64_t tp) const;
  double parameters(int64_t hidden) const;
  /// What each of `tp` ranks has beside its share of these: groups that it
  /// shares with others.
  double sharedParameters(int64_t hidden, int64_t tp) const;
  /// FLOPs of the recurrence, of one token and forward, as the chunked
  /// algorithm takes: B by C and their square by x in a chunk, its state, and
  /// what the state before it adds. Of the square of a chunk all is computed.
  double scanFlops() const;
  /// The same of the recurrence token by token, as Hocket's kernels take it.
  double recurrenceFlops() const;
  /// The same of its gradient.
  double recurrenceGradientFlops() const;
  /// Numbers of 32 bits that this gradient works in, of one token.
  double gradientWorkspace() const;
};

/// What makes the rows that stand in a text where it has images (LLaVA, arXiv
/// 2304.08485): a tower, CLIP's ViT, of which each image is a sequence, and a
/// projector of [hidden, that of the model] and a square of the latter. It
/// belongs to the first stage of a pipeline, whose layers it is none of.
struct VisionShape {
  int64_t layers = 0; ///< Of the tower, those that are computed; 0: no tower.
  int64_t unread = 0; ///< Behind those, kept as they are.
  int64_t hidden = 0, heads = 0, ffn = 0;
  int64_t rows = 0;   ///< Of an image: its patches, and the class.
  int64_t patch = 0;  ///< Numbers of a patch.
  int64_t images = 0; ///< Of a sequence.
  /// Of a million parameters of the tower's computed layers and of what stands
  /// before them, and of the projector's, those that are trained.
  int64_t towerPerMillion = 0, projectorPerMillion = 1'000'000;

  double towerTrained() const { return double(towerPerMillion) / 1e6; }
  double projectorTrained() const { return double(projectorPerMillion) / 1e6; }
  /// Whether gradients go back through the projector.
  bool hasBackward() const { return towerPerMillion + projectorPerMillion > 0; }
  /// Of a layer, its matrices, biases and norms.
  double layerParameters() const;
  /// What each of `tp` ranks has of all layers, the unread ones included, and
  /// of what stands before and behind them; and of the projector.
  double towerParameters(int64_t tp) const;
  double projectorParameters(int64_t modelHidden, int64_t tp) const;
  /// The same of what is trained, all together.
  double trainedParameters(int64_t modelHidden, int64_t tp) const;
  /// Forward and backward, of the images of one sequence.
  double flops(int64_t modelHidden) const;
};

/// Layers that are alike, as prices see them. Of published models, whose blocks
/// are taken as if spread evenly over layers, the blocks of a layer are means.
struct LayerKind {
  double attention = 1;   ///< Attention blocks.
  double stateSpace = 0;  ///< Mamba-2 blocks.
  int64_t window = 0;     ///< Of sliding attention; 0: none.
  double windowShare = 0; ///< Of attention blocks, those that have it.
  int64_t ffn = 0;        ///< Of its MLP; 0: it has none.
  bool experts = false;
  /// Of an encoder: its tokens are StepShape::encoderSequence, each of which
  /// sees all. The encoder's layers come first.
  bool encoder = false;
  /// A block more attends to what the encoder made, or to what was retrieved.
  bool crosses = false;
  int64_t encodes = 0; ///< Layers of the encoder of that which it has inside.

  bool hasFeedForward() const { return experts || ffn > 0; }
  bool operator==(const LayerKind &) const = default;
};

struct ModelShape {
  std::string name;
  int64_t layers = 1;
  int64_t hidden = 1;
  int64_t heads = 1;
  int64_t kvHeads = 1;
  int64_t headDim = 1;
  int64_t ffn = 1;
  bool gated = false;
  int64_t vocab = 1;     ///< Padding included.
  int64_t positions = 0; ///< Of a learned position embedding; else 0.
  bool tied = true;      ///< The head is the embedding.
  /// In place of the head of tokens, which then is not tied either: classes
  /// that a sequence's first token tells, behind a pooler; 0: none.
  int64_t classes = 0;
  int64_t window = 0; ///< Of sliding attention; 0: none.
  /// Attention blocks that have the window; 0: all.
  int64_t windowBlocks = 0;
  bool bidirectional = false; ///< No causal mask: all of the square.
  LatentAttention latent;
  /// Of a hybrid model, whose `layers` are its MLPs: attention blocks in all,
  /// and Mamba-2 blocks, as if spread evenly over layers. 0: one attention a
  /// layer.
  int64_t attentionBlocks = 0;
  StateSpace stateSpace;
  VisionShape vision;
  /// Layers of several kinds, and the kind of each. Where there are any, they
  /// say what `ffn`, `window`, `windowBlocks`, `attentionBlocks`,
  /// `stateSpace.blocks` and `denseLayers` say of other models.
  std::vector<LayerKind> kinds = {};
  std::vector<uint32_t> kindOf = {};

  /// 0: every layer is dense. Else layers from `denseLayers` on have experts.
  int64_t experts = 0;
  int64_t topK = 0;
  int64_t expertFfn = 0;
  int64_t sharedFfn = 0;
  int64_t denseLayers = 0;
  /// Experts are in so many groups, of which a token goes to `topGroups`; 0: to
  /// any expert (arXiv 2412.19437, section 2.1.2, node-limited routing).
  int64_t expertGroups = 0, topGroups = 0;
  /// What an expert takes at most, times an even share; 0: all that come.
  double capacity = 0;
  /// Without that, where ranks share experts out: the rows that one has room
  /// for, times an even share; 0: the default (plan::expertRowsBound()).
  double rowsBound = 0;
  /// Beyond that steps are run again, of which one of the others has a second
  /// form: with room for all rows, and layers made again.
  bool runsAgain = false;
  bool dropout = true;      ///< Of what blocks add to the stream.
  bool inputJitter = false; ///< Of what routers read.
  /// Experts work on vectors of this width, to which tokens are brought by one
  /// matrix before they are sent and from which by another; 0: of `hidden`.
  int64_t expertLatent = 0;
  /// Experts' matrices have biases, and what their activations read has limits
  /// (GPT-OSS).
  bool expertLimits = false;
  /// Norms of a block's input; of what it makes, before that is added; and of
  /// queries and keys.
  bool inputNorms = true, resultNorms = false, headNorms = false;
  /// Attention and the feed-forward branch stand side by side on a layer's
  /// input; and on the result of one norm of it.
  bool parallelBranches = false, oneNorm = false;
  bool mlpBiases = false;    ///< Of an MLP's last matrix.
  bool cappedLogits = false; ///< They are bent to stay within a bound.
  /// Further tokens that are predicted (DeepSeek-V3, arXiv 2412.19437, section
  /// 2.2): each has the last of `layers` for itself, and on the last stage a
  /// matrix [2 hidden, hidden] and the head again.
  int64_t predicted = 0;

  /// `count` more layers behind those that `kinds` and `kindOf` say.
  void addLayers(const LayerKind &kind, int64_t count = 1);

  /// Matrices of an MLP: 3 with a gate, else 2.
  int64_t matrices() const { return gated ? 3 : 2; }

  /// The width that experts work on.
  int64_t expertWidth() const { return expertLatent ? expertLatent : hidden; }
  /// Width of scores and what they weigh, in the mean, of all heads: a token's
  /// attention to another takes 4 FLOPs of each number.
  double scoreWidth() const;

  /// Of one block.
  double attentionParameters() const;
  /// Of a layer, outside of its routed experts.
  double sharedParameters(const LayerKind &kind) const;
  /// Of the routed experts of one layer, all of them.
  double expertParameters() const;
  double embeddingParameters() const;
  double headParameters() const;
  /// What a token is multiplied with at the end has so many columns.
  double headColumns() const;
  double parameters() const;
};

/// A model's layers by kind. Those of a model that does not say them are one
/// kind without experts and, where it has experts, one with them behind it.
class LayerKinds {
public:
  /// `model` outlives this.
  explicit LayerKinds(const ModelShape &model);

  std::span<const LayerKind> all() const {
    return model.kinds.empty() ? std::span(own).first(count)
                               : std::span(model.kinds);
  }
  size_t size() const { return all().size(); }
  const LayerKind &operator[](size_t kind) const { return all()[kind]; }
  size_t kindOf(int64_t layer) const {
    return model.kinds.empty() ? size_t(layer >= model.denseLayers && count > 1)
                               : model.kindOf[size_t(layer)];
  }
  /// Layers of a kind, of [first, end).
  int64_t layersOf(size_t kind, int64_t first, int64_t end) const;
  int64_t layersOf(size_t kind) const {
    return layersOf(kind, 0, model.layers);
  }
  /// Whether a layer has Mamba-2 blocks.
  bool hasStateSpace() const;
  /// How many layers, the first ones, are an encoder's.
  int64_t encoderLayers() const;

private:
  const ModelShape &model;
  std::array<LayerKind, 2> own;
  size_t count = 1;
};

/// A training step's work. Sequences are of one length.
struct StepShape {
  int64_t sequence = 1;     ///< Tokens.
  int64_t globalBatch = 1;  ///< Sequences of a step.
  int64_t elementBits = 16; ///< Of weights' GEMMs: 32, 16 or 8.
  /// Sequences of earlier steps, where the batch grows: a plan must have them,
  /// but it is priced by `globalBatch`, in which all but a little is trained.
  std::vector<int64_t> smallerBatches = {};
  /// Sequences that all data-parallel ranks compute at a time, where the loss
  /// depends on which these are: a plan must keep it. 0: nothing depends on it.
  int64_t microbatch = 0;
  /// Of a million parameters, those that are trained, as if in every layer
  /// alike: the others have neither gradients nor optimizer state. Those of
  /// VisionShape are not among them.
  int64_t trainedPerMillion = 1'000'000;
  /// What makes the loss depend on them, and what to write so that it does not.
  struct Keep {
    std::string field, instead;
  };
  std::vector<Keep> keeps = {};
  /// Numbers of 8 bits that have a scale, whatever the plan: 32 or 128, which
  /// shards do not cut. 0: there are none, or a tensor has one.
  int64_t block = 0;
  /// Of an encoder before the decoder, whose tokens `sequence` are; 0: none.
  int64_t encoderSequence = 0;
  /// Where layers attend to what was retrieved: tokens of a sequence's chunks
  /// and of their neighbours, all neighbours of a sequence together, and those
  /// that one token attends to. 0: nothing is retrieved.
  int64_t chunk = 0, retrieved = 0;
  int64_t neighborTokens = 0, neighborSpan = 0;

  double trained() const { return double(trainedPerMillion) / 1e6; }
  /// Whether no weight has a gradient, which may go through all the same.
  bool isFrozen() const { return trainedPerMillion == 0; }
  double tokens() const { return double(sequence) * double(globalBatch); }
  /// Tokens of a sequence that layers of `kind` go through.
  int64_t sequenceOf(const LayerKind &kind) const {
    return kind.encoder ? encoderSequence : sequence;
  }
  /// The same as a share of `sequence`.
  double shareOf(const LayerKind &kind) const {
    return double(sequenceOf(kind)) / double(sequence);
  }
  /// Tokens that layers attend to which cross, as a share of `sequence`, and
  /// how many of these a token sees.
  double crossShare() const {
    return double(neighborTokens > 0 ? neighborTokens : encoderSequence) /
           double(sequence);
  }
  int64_t crossSpan() const {
    return neighborTokens > 0 ? neighborSpan : encoderSequence;
  }
};

/// A step of the encoder inside a layer of `step`: neighbours are its sequence,
/// and its first layer attends to chunks.
StepShape stepOfRetriever(const StepShape &step);

/// Layer `layer` of that encoder, which is inside a layer of `kind`.
LayerKind kindOfRetriever(const StepShape &step, const LayerKind &kind,
                          int64_t layer);

/// FLOPs that the mathematics asks for, forward and backward, causal attention
/// counted once (half of the square); of weights that are not trained 4 in
/// place of 6:
///   6 T (L (h ffn f + h (n d + 2 g d) + n d h) + h V) + 6 Q L n d.
/// Of an encoder's layers T is its tokens, which see all of the square, as what
/// attends to them does. Of a tower what VisionShape::flops says.
/// Of a Mamba-2 block, what Megatron-LM counts: its matrices, and 21 inner
/// state a token for the recurrence.
double modelFlops(const ModelShape &model, const StepShape &step);

/// The same with the whole square of attention, as Megatron-Core counted before
/// release 0.12.
double modelFlopsFullSquare(const ModelShape &model, const StepShape &step);

/// Refuses sizes of a model or a step that are not positive or overflow what is
/// computed of them.
Status checkShapes(const ModelShape &model, const StepShape &step);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_MODELSHAPE_H
