//===- Recompute.cpp - What backward computes again -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Plans recomputation rank by rank (planning/RecomputePlan.h), and rewrites the
// fragments by it.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/IR/Plan.h"
#include "dialects/xf/IR/Xf.h"
#include "passes/pipe/Passes.h"
#include "passes/pipe/RecomputeRewrite.h"

#include <cmath>
#include <numeric>

namespace hocket::pipe {
#define GEN_PASS_DEF_PIPERECOMPUTE
#include "passes/pipe/Passes.h.inc"
} // namespace hocket::pipe

using namespace mlir;
using namespace hocket;
using namespace hocket::pipe;
using planning::RecomputeMode;
using planning::RecomputeRank;

namespace {

/// What the program asks for that this pass does.
struct Wish {
  RecomputeMode mode = RecomputeMode::None;
  int64_t layers = 1;
  int64_t budget = INT64_MAX;
};

} // namespace

static Wish readWish(ModuleOp module) {
  Wish wish;
  for (auto training : module.getOps<xf::TrainingOp>())
    if (auto bytes = training.getRuntime().getAs<IntegerAttr>("memory_bytes"))
      wish.budget = bytes.getInt();
  plan::ParallelPlan plan = plan::planOf(module);
  wish.layers = plan.recomputeLayers;
  if (plan.recompute == plan::Recompute::Auto)
    wish.mode = RecomputeMode::Auto;
  else if (plan.recompute == plan::Recompute::Full)
    wish.mode = plan.recomputeBlock ? RecomputeMode::FullBlock
                : wish.layers > 1   ? RecomputeMode::FullUniform
                                    : RecomputeMode::None; // xf-autodiff's
  return wish;
}

/// The least seconds with which anything could free `need` bytes: the cheapest
/// residuals, the last in part, and nothing taken back while they exist again.
static double leastSeconds(const RecomputeRank &rank, int64_t need) {
  std::vector<std::pair<double, double>> items; // Seconds a byte, bytes.
  for (const planning::Residual &residual : rank.residuals)
    if (residual.group != planning::ResidualGroup::Input &&
        residual.bytes > 0) {
      double gain = static_cast<double>(residual.bytes) *
                    static_cast<double>(residual.live);
      items.emplace_back(residual.seconds / gain, gain);
    }
  llvm::sort(items);
  double rest = static_cast<double>(need), seconds = 0;
  for (auto [price, gain] : items) {
    double part = std::clamp(rest, 0.0, gain);
    seconds += price * part;
    rest -= part;
  }
  return seconds;
}

static int64_t savedBytes(const RecomputeRank &rank) {
  int64_t bytes = 0;
  for (const planning::Residual &residual : rank.residuals)
    bytes += residual.bytes * residual.live;
  return bytes;
}

namespace {

struct RecomputePass
    : public hocket::pipe::impl::PipeRecomputeBase<RecomputePass> {
  using PipeRecomputeBase::PipeRecomputeBase;

  void runOnOperation() override {
    if (failed(planAndRewrite()))
      return signalPassFailure();
    // Nobody asks from here on which halves are of one function.
    for (auto function : getOperation().getOps<func::FuncOp>())
      function->removeAttr("xf.backward");
  }

private:
  LogicalResult planAndRewrite() {
    // 1. What is asked for.
    Wish wish = readWish(getOperation());
    if (wish.mode == RecomputeMode::None)
      return success();
    FailureOr<PipelinePlan> plan = readPipelinePlan(getOperation());
    if (failed(plan))
      return failure();
    FailureOr<RecomputeModel> model = deriveRecompute(getOperation(), *plan);
    if (failed(model))
      return failure();
    // 2. The plan of each rank.
    planning::RecomputePlan chosen;
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    for (size_t rank = 0; rank < model->problem.ranks.size(); ++rank) {
      FailureOr<planning::RankRecompute> own = planRank(*model, rank, wish);
      if (failed(own))
        return failure();
      note(builder, *model, rank, *own, wish);
      chosen.ranks.push_back(std::move(*own));
    }
    // 3. The rewriting.
    bool any = llvm::any_of(chosen.ranks, [](auto &rank) {
      return llvm::is_contained(rank.recomputed, true);
    });
    if (any)
      numRecomputed += rewriteRecompute(getOperation(), *model, chosen);
    return success();
  }

  FailureOr<planning::RankRecompute> planRank(const RecomputeModel &model,
                                              size_t rank, const Wish &wish) {
    planning::RecomputeProblem problem;
    problem.microbatches = model.problem.microbatches;
    problem.ranks = {model.problem.ranks[rank]};
    bool isAuto = wish.mode == RecomputeMode::Auto;
    RecomputeMode mode = wish.mode;
    if (isAuto && rank < fixed.size()) {
      problem.ranks[0].fixed = std::max<int64_t>(0, fixed[rank]);
      problem.ranks[0].budget = wish.budget;
    } else if (isAuto) {
      mode = RecomputeMode::None;
    }
    auto plan = planning::planRecompute(problem, mode, wish.layers);
    if (plan.ok())
      return plan->ranks.front();
    // Whether it fits is for those to say who see the arena.
    problem.ranks[0].budget = INT64_MAX;
    plan = planning::planRecompute(problem, RecomputeMode::FullBlock,
                                   int64_t(1) << 40);
    if (!plan.ok())
      return getOperation().emitError(plan.status().message());
    return plan->ranks.front();
  }

  void note(OpBuilder &builder, const RecomputeModel &model, size_t rank,
            const planning::RankRecompute &own, const Wish &wish) {
    const RecomputeRank &residuals = model.problem.ranks[rank];
    int64_t fixedBytes =
        rank < fixed.size() ? std::max<int64_t>(0, fixed[rank]) : 0;
    int64_t recomputed = 0, all = 0;
    for (size_t i = 0; i < own.recomputed.size(); ++i) {
      all += residuals.residuals[i].group != planning::ResidualGroup::Input;
      recomputed += own.recomputed[i] && model.places[rank][i].results.any();
    }
    auto microbatches = static_cast<double>(model.problem.microbatches);
    auto report = builder.create<step::RecomputeOp>(
        getOperation().getLoc(), builder.getI64IntegerAttr(int64_t(rank)),
        builder.getI64IntegerAttr(all), builder.getI64IntegerAttr(recomputed),
        builder.getI64IntegerAttr(savedBytes(residuals)),
        builder.getI64IntegerAttr(rank < fixed.size() ? own.peak
                                                      : own.peak - fixedBytes),
        builder.getF64FloatAttr(model.work[rank] * microbatches),
        builder.getF64FloatAttr(own.seconds), FloatAttr());
    if (rank < least.size() && wish.budget != INT64_MAX)
      report.setLeastSecondsAttr(builder.getF64FloatAttr(
          microbatches *
          leastSeconds(residuals,
                       least[rank] + savedBytes(residuals) - wish.budget)));
  }
};

} // namespace
