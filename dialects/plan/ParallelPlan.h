//===- ParallelPlan.h - How a training is spread over ranks -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The one form of a plan that everything reads: what a specification, `--mesh`
/// and `--plan` say, what plan search chooses, what prices are of, and what a
/// module carries from level to level (IR/Plan.h). It knows no MLIR.
///
/// The mesh's axes are, slowest first, pp, dp, cp, tp:
/// rank = ((p * dp + d) * cp + c) * tp + t. Experts are spread over `ep` ranks
/// of the dp * cp * tp that hold one stage.
///
/// The short text form is a list of key=value, each key at most once; what it
/// leaves out has its default. `--mesh` takes the axes alone.
///
///   tp=8,pp=16,dp=8,cp=1,ep=4,etp=2,v=2,mbs=1,sp=1,zero=1,
///   recompute=selective,modules=layernorm/mlp,schedule=interleaved,
///   layers=6/6/5/5,offload=optimizer
///
/// A value with a comma stands between single quotes, and a quote in it twice.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_PLAN_PARALLELPLAN_H
#define HOCKET_DIALECTS_PLAN_PARALLELPLAN_H

#include "base/AxisKind.h"
#include "base/Status.h"
#include "dialects/plan/RecomputeModules.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::plan {

/// What the backward pass computes again: nothing; modules of each layer;
/// layers from their inputs; or, of each layer and rank, the least with which
/// the memory of a device is enough.
enum class Recompute : uint8_t { None, Selective, Full, Auto };

/// What is kept in the host's memory. The optimizer's state is brought to the
/// device for the update and taken back, a layer's at a time; what a layer
/// keeps for its backward is taken away while the next one's forward runs, and
/// brought back while the next one's backward does.
enum class Offload : uint8_t { None, Optimizer, Activations, All };

/// How attention sees the whole sequence over `cp`.
enum class ContextStrategy : uint8_t { AllGather, Ring, AllToAll };

struct ParallelPlan {
  int64_t pp = 1;
  int64_t dp = 1;
  int64_t cp = 1;
  int64_t tp = 1;
  int64_t ep = 1;
  /// Ranks that share one expert's matrices, a divisor of tp; 0: all of tp.
  /// That is the only way in which tp itself is written.
  int64_t expertTp = 0;
  int64_t chunks = 1;     ///< Virtual stages of a pipeline rank.
  int64_t microBatch = 1; ///< Sequences that a data rank computes at a time.
  bool sequenceParallel = false;
  int64_t zero = 0;
  ContextStrategy context = ContextStrategy::AllGather;

  Recompute recompute = Recompute::None;
  /// With Recompute::Selective; empty: the default of whose program it is.
  RecomputeModules modules;
  /// With Recompute::Full: the first `recomputeLayers` of each stage; else all,
  /// with kept inputs so many layers apart.
  bool recomputeBlock = false;
  int64_t recomputeLayers = 1;
  Offload offload = Offload::None;

  /// A generator of passes/planning/ScheduleGenerators.h, or a file; empty:
  /// 1f1b, or interleaved-1f1b where there are several chunks.
  std::string schedule;
  int64_t group = 0; ///< Microbatches of a group, interleaved; 0: pp.
  /// Layers of each stage, pp * chunks of them; empty: as even as can be, what
  /// is left over to the stages in the middle.
  std::vector<int64_t> layers;
  bool balanceCost = false; ///< Without `layers`: as much work in each stage.
  /// Without either: the embedding, or the head, counts as a layer.
  bool countEmbedding = false, countHead = false;

  /// The head and the loss of a microbatch are computed in so many chunks of
  /// its tokens, of whose logits one chunk's exist at a time.
  int64_t lossChunks = 1;

  /// Bytes of a full bucket of gradients or of sharded parameters; 0: each
  /// tensor by itself.
  int64_t bucketBytes = int64_t(40) << 20;
  std::string shardings; ///< A file of chosen shardings; empty: none.

  bool operator==(const ParallelPlan &) const = default;

  int64_t ranks() const { return pp * dp * cp * tp; }
  int64_t stages() const { return pp * chunks; }
  /// Ranks that share one expert's matrices.
  int64_t expertTensor() const { return expertTp == 0 ? tp : expertTp; }
  bool offloadsOptimizer() const {
    return offload == Offload::Optimizer || offload == Offload::All;
  }
  bool offloadsActivations() const {
    return offload == Offload::Activations || offload == Offload::All;
  }
  /// The schedule's name in full.
  std::string scheduleName() const;
  /// What a layer computes again, in part: Hocket's programs (`compiled`) have
  /// kDefaultModules where the plan names none, published systems Megatron's.
  /// Empty unless recompute is selective.
  RecomputeModules modulesAgain(bool compiled) const;
};

/// The full name for what people write: interleaved is short for
/// interleaved-1f1b.
std::string_view fullScheduleName(std::string_view name);

//===----------------------------------------------------------------------===//
// The mesh
//===----------------------------------------------------------------------===//

/// Most ranks of a plan (D10).
inline constexpr int64_t maxRanks = int64_t(1) << 20;

/// Groups of tensor ranks that each have experts for themselves: tp / etp.
int64_t tensorGroups(const ParallelPlan &plan);

/// Ranks, or groups of them, that share each sequence and have all experts.
int64_t positionRuns(const ParallelPlan &plan);

/// How many parts a layer's experts are in along each kind of ranks; they
/// multiply to `ep`. The ranks of one kind may be more: then several of them
/// hold the same experts.
struct ExpertGrid {
  int64_t tensor = 1;  ///< A divisor of the tensor groups.
  int64_t context = 1; ///< Of cp.
  int64_t data = 1;    ///< Of dp: the mesh's axis `ep`.
};

/// Of a mixture that drops no token.
struct DroplessExperts {
  int64_t experts = 1, topK = 1;
  /// Room for rows as a multiple of the even share; 0: the default, 1 + 12 /
  /// sqrt(experts of a rank).
  double bound = 0;
};

/// The largest bound, which is room for all that tokens can choose.
inline constexpr double mostRowsBound = 1e6;

/// How many rows of experts a rank has room for where `ep` ranks, each with
/// `tokens` tokens, share the experts out: the bound times the even share,
/// rounded up, but no more than the tokens of all can choose.
int64_t expertRowsBound(const DroplessExperts &experts, int64_t ep,
                        int64_t tokens);

/// The grid of a plan: the nearest ranks come first, since tensor and context
/// ranks add up what their tokens send to experts in any case, and data ranks
/// exchange it beside that. Nothing if `ep` does not divide the ranks that
/// there are (S21).
std::optional<ExpertGrid> expertGrid(const ParallelPlan &plan);

/// An axis of the mesh and its size.
using MeshAxis = std::pair<AxisKind, int64_t>;

/// The axes of the mesh that are larger than 1, slowest first. Ranks along its
/// `ep` are data-parallel ones that hold different experts.
std::vector<MeshAxis> meshAxes(const ParallelPlan &plan);

/// The same as `--mesh` has them: "pp=2,dp=4"; "dp=1" where there are none.
std::string printAxes(const ParallelPlan &plan);

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string_view spelled(Recompute recompute);
std::string_view spelled(Offload offload);
std::string_view spelled(ContextStrategy strategy);

/// The short text form, without what has its default.
std::string printPlan(const ParallelPlan &plan);

/// The value of one key, as the short form writes it, default or not.
std::string printValue(const ParallelPlan &plan, std::string_view key);

/// The keys of a text in the short form, with their values as written.
StatusOr<std::vector<std::pair<std::string, std::string>>>
splitPlan(std::string_view text);

/// Reads the short form onto `base`. Errors are InvalidArgument and name the
/// key.
StatusOr<ParallelPlan> parsePlan(std::string_view text,
                                 const ParallelPlan &base = {});

/// Whether `text`, an option's value, is a plan in the short form and not the
/// path of a file: "modules=core_attn/mlp" is one, "plans/dp=2.txt" is none.
bool isShortPlan(std::string_view text);

} // namespace hocket::plan

#endif // HOCKET_DIALECTS_PLAN_PARALLELPLAN_H
