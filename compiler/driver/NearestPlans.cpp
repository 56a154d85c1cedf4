//===- NearestPlans.cpp - Plans that fit, near one that does not ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/NearestPlans.h"

#include "base/Format.h"
#include "dialects/plan/PlanRules.h"
#include "frontends/spec/model/PlanMessage.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <tuple>

using namespace hocket;
using plan::ParallelPlan;
using plan::Recompute;

/// Plans that are named.
static constexpr int mostNamed = 3;
/// Neighbours that are compiled, and for how long new ones are begun.
static constexpr int mostCompiled = 24;
static constexpr std::chrono::seconds longest(15);
/// The estimate may be wrong by this much.
static constexpr double doubt = 1.25;

namespace {

class NeighbourSearch {
public:
  NeighbourSearch(const spec::Spec &spec, const spec::LoadOptions &options,
                  const RoleMemory &worst)
      : spec(spec), options(options), worst(worst), here(spec::planOf(spec)),
        sizes(spec::planSizes(spec)) {}

  std::vector<PlanChange> run(int64_t budget);

private:
  bool isValid(const ParallelPlan &choice) const;
  void setRecompute(ParallelPlan &choice, Recompute mode) const;
  /// The other choices of one mesh.
  void addMesh(ParallelPlan choice, int64_t budget);
  void add(const ParallelPlan &choice, int64_t budget);
  double distanceOf(const ParallelPlan &choice) const;
  double estimate(const ParallelPlan &choice) const;
  double activationsOf(const ParallelPlan &choice) const;
  PlanChange changeTo(const ParallelPlan &choice) const;

  const spec::Spec &spec;
  const spec::LoadOptions &options;
  const RoleMemory &worst;
  ParallelPlan here;
  plan::PlanSizes sizes;
  std::vector<PlanChange> found;
};

} // namespace

static std::vector<int64_t> divisorsOf(int64_t n) {
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i * i <= n; ++i)
    if (n % i == 0) {
      divisors.push_back(i);
      if (i * i != n)
        divisors.push_back(n / i);
    }
  return divisors;
}

bool NeighbourSearch::isValid(const ParallelPlan &choice) const {
  bool samePipeline = choice.pp == here.pp && choice.chunks == here.chunks;
  return (here.layers.empty() || samePipeline) &&
         (choice.zero == 0 || choice.dp > 1) &&
         (!choice.sequenceParallel || choice.tp > 1) &&
         plan::brokenRules(choice, sizes).empty();
}

double NeighbourSearch::distanceOf(const ParallelPlan &choice) const {
  auto steps = [](int64_t a, int64_t b) {
    return std::abs(std::log2(double(a) / double(b)));
  };
  double mesh = steps(choice.pp, here.pp) + steps(choice.dp, here.dp) +
                steps(choice.tp, here.tp);
  double distance = mesh > 0 ? 1 + mesh / 2 : 0;
  distance += choice.zero != here.zero
                  ? 0.9 + 0.1 * std::abs(double(choice.zero - here.zero))
                  : 0;
  // The least recomputation is nearer than all of it.
  if (choice.recompute != here.recompute)
    distance += choice.recompute == Recompute::Auto        ? 1
                : choice.recompute == Recompute::Selective ? 1.05
                                                           : 1.2;
  distance += steps(choice.microBatch, here.microBatch);
  distance += choice.sequenceParallel != here.sequenceParallel ? 0.5 : 0;
  distance += choice.chunks != here.chunks ||
                      choice.scheduleName() != here.scheduleName()
                  ? 1
                  : 0;
  return distance;
}

//===----------------------------------------------------------------------===//
// Estimates
//===----------------------------------------------------------------------===//

/// In units that only ratios of are used: residuals of the fullest rank.
double NeighbourSearch::activationsOf(const ParallelPlan &choice) const {
  double microbatches = double(spec.training().global_batch_size()) /
                        double(choice.microBatch * choice.dp);
  double ranks = double(choice.pp);
  double live = choice.scheduleName() == "gpipe"   ? microbatches
                : choice.scheduleName() == "zb-h2" ? 2 * ranks
                : choice.chunks > 1
                    ? ranks + (ranks - 1) / double(choice.chunks)
                    : ranks;
  double tensor = double(choice.tp);
  double shared = choice.sequenceParallel ? 34 / tensor : 10 + 24 / tensor;
  double kept = choice.recompute == Recompute::None        ? 1
                : choice.recompute == Recompute::Selective ? 0.7
                                                           : 0.1;
  return std::min(live, microbatches) / ranks * shared * kept *
         double(choice.microBatch);
}

double NeighbourSearch::estimate(const ParallelPlan &choice) const {
  auto split = [&](int64_t fromStage) {
    auto parts = [&](const ParallelPlan &of) {
      return double(of.tp * of.pp * (of.zero >= fromStage ? of.dp : 1));
    };
    return parts(here) / parts(choice);
  };
  double activations = activationsOf(choice) / activationsOf(here);
  auto scaleOf = [&](exec::MemoryKind kind) {
    switch (kind) {
    case exec::MemoryKind::Optimizer:
      return split(1);
    case exec::MemoryKind::Gradients:
      return split(2);
    case exec::MemoryKind::Parameters:
    case exec::MemoryKind::WorkingCopies:
      return split(3);
    case exec::MemoryKind::Activations:
      return activations;
    default:
      return double(choice.microBatch) / double(here.microBatch);
    }
  };
  double bytes = 0;
  for (const auto &[kind, own] : worst.atPeak)
    bytes += double(own) * scaleOf(kind);
  return bytes;
}

//===----------------------------------------------------------------------===//
// Neighbours
//===----------------------------------------------------------------------===//

PlanChange NeighbourSearch::changeTo(const ParallelPlan &choice) const {
  PlanChange change{"", options, distanceOf(choice), estimate(choice)};
  // The global batch stays, whatever it was derived from.
  auto &flags = change.options.flags.given;
  llvm::erase_if(flags, [](const spec::PlanFlags::Flag &flag) {
    return flag.option == "--microbatches";
  });
  int64_t batch = spec.training().global_batch_size();
  change.options.overrides.push_back("training.global_batch_size=" +
                                     std::to_string(batch));
  auto flag = [&](const std::string &name, const std::string &value,
                  bool differs) {
    if (!differs)
      return;
    flags.push_back({name, value});
    change.text += (change.text.empty() ? "" : " ") + name +
                   (value == "true" ? "" : " " + value);
  };
  std::string mesh;
  auto axis = [&](const char *name, int64_t size, int64_t before) {
    if (size > 1 || before > 1)
      mesh += (mesh.empty() ? "" : ",") + std::string(name) + "=" +
              std::to_string(size);
  };
  axis("pp", choice.pp, here.pp);
  axis("dp", choice.dp, here.dp);
  axis("cp", here.cp, 1);
  axis("tp", choice.tp, here.tp);
  axis("ep", here.ep, 1);
  if (here.expertTp != 0)
    axis("etp", here.expertTp, 2);
  flag("--mesh", mesh,
       choice.pp != here.pp || choice.dp != here.dp || choice.tp != here.tp);
  flag("--virtual-stages", std::to_string(choice.chunks),
       choice.chunks != here.chunks);
  flag("--schedule", choice.scheduleName(),
       choice.scheduleName() != here.scheduleName());
  flag("--zero", std::to_string(choice.zero), choice.zero != here.zero);
  flag("--recompute", std::string(spelled(choice.recompute)),
       choice.recompute != here.recompute);
  if (choice.recompute != here.recompute) {
    change.options.overrides.emplace_back("plan.recompute_method=UNIFORM");
    change.options.overrides.emplace_back("plan.recompute_layers=1");
    llvm::erase_if(flags, [](const spec::PlanFlags::Flag &flag) {
      return llvm::StringRef(flag.option).starts_with("--recompute-");
    });
  }
  flag("--sequence-parallel", "true",
       choice.sequenceParallel != here.sequenceParallel);
  if (choice.microBatch != here.microBatch) {
    std::string size =
        "training.micro_batch_size=" + std::to_string(choice.microBatch);
    change.options.overrides.push_back(size);
    change.text += (change.text.empty() ? "--set " : " --set ") + size;
  }
  if (choice.microBatch * choice.dp != here.microBatch * here.dp)
    change.text += " --microbatches " +
                   std::to_string(batch / (choice.microBatch * choice.dp));
  return change;
}

void NeighbourSearch::add(const ParallelPlan &choice, int64_t budget) {
  if (isValid(choice) && distanceOf(choice) > 0 &&
      estimate(choice) <= doubt * double(budget))
    found.push_back(changeTo(choice));
}

/// Another way to recompute has none of what belongs to this one.
void NeighbourSearch::setRecompute(ParallelPlan &choice, Recompute mode) const {
  const ParallelPlan &from = mode == here.recompute ? here : ParallelPlan();
  choice.recompute = mode;
  choice.modules = from.modules;
  choice.recomputeBlock = from.recomputeBlock;
  choice.recomputeLayers = from.recomputeLayers;
}

void NeighbourSearch::addMesh(ParallelPlan choice, int64_t budget) {
  std::vector<Recompute> recompute = {here.recompute, Recompute::Auto,
                                      Recompute::Full};
  if (here.recompute == Recompute::None)
    recompute.push_back(Recompute::Selective);
  // A schedule that holds less, where the one at hand is known to hold more.
  std::vector<std::pair<std::string, int64_t>> schedules = {
      {here.scheduleName(), here.chunks}};
  for (const char *name : {"gpipe", "interleaved-1f1b", "zb-h2"})
    if (here.scheduleName() == name)
      schedules.emplace_back("1f1b", 1);
  if (choice.pp == 1)
    schedules = {{here.chunks > 1 ? "1f1b" : here.scheduleName(), 1}};
  for (const auto &[schedule, stages] : schedules)
    for (choice.zero = here.zero; choice.zero <= 3; ++choice.zero)
      for (Recompute mode : recompute)
        for (choice.microBatch = here.microBatch;; choice.microBatch /= 2) {
          setRecompute(choice, mode);
          choice.schedule = schedule;
          choice.chunks = stages;
          for (bool sequence : {here.sequenceParallel, true}) {
            choice.sequenceParallel = sequence && choice.tp > 1;
            if (choice.sequenceParallel || !sequence || !here.sequenceParallel)
              add(choice, budget);
          }
          if (choice.microBatch % 2 != 0)
            break;
        }
}

std::vector<PlanChange> NeighbourSearch::run(int64_t budget) {
  int64_t ranks = here.pp * here.dp * here.tp;
  for (int64_t pp : divisorsOf(ranks))
    for (int64_t tp : divisorsOf(ranks / pp)) {
      ParallelPlan choice = here;
      choice.pp = pp;
      choice.tp = tp;
      choice.dp = ranks / pp / tp;
      if (spec.model().heads() % tp == 0 && pp <= spec.model().layers())
        addMesh(choice, budget);
    }
  llvm::sort(found, [](const PlanChange &a, const PlanChange &b) {
    return std::tuple(a.distance, a.estimate, a.text) <
           std::tuple(b.distance, b.estimate, b.text);
  });
  found.erase(std::unique(found.begin(), found.end(),
                          [](const PlanChange &a, const PlanChange &b) {
                            return a.text == b.text;
                          }),
              found.end());
  return std::move(found);
}

std::vector<PlanChange> hocket::neighbours(const spec::Spec &spec,
                                           const spec::LoadOptions &options,
                                           const RoleMemory &worst,
                                           int64_t budget) {
  return NeighbourSearch(spec, options, worst).run(budget);
}

/// "--zero 1 --recompute full": its options with their values.
static std::set<std::string> partsOf(llvm::StringRef text) {
  std::set<std::string> parts;
  llvm::SmallVector<llvm::StringRef> flags;
  text.split(flags, " --");
  for (llvm::StringRef flag : flags)
    parts.insert(flag.ltrim('-').str());
  return parts;
}

std::string hocket::nearestPlansText(
    const std::vector<PlanChange> &changes, int64_t budget,
    const std::function<StatusOr<int64_t>(const PlanChange &)> &peakOf) {
  std::vector<std::vector<std::string>> rows;
  auto start = std::chrono::steady_clock::now();
  size_t next = 0;
  int compiled = 0;
  // A change that goes further than one that is enough says nothing new.
  std::vector<std::set<std::string>> enough;
  auto isFurther = [&](const PlanChange &change) {
    std::set<std::string> parts = partsOf(change.text);
    return llvm::any_of(enough, [&](const std::set<std::string> &less) {
      return std::includes(parts.begin(), parts.end(), less.begin(),
                           less.end());
    });
  };
  for (; next < changes.size() && compiled < mostCompiled &&
         rows.size() < mostNamed &&
         std::chrono::steady_clock::now() - start < longest;
       ++next) {
    if (isFurther(changes[next]))
      continue;
    ++compiled;
    StatusOr<int64_t> peak = peakOf(changes[next]);
    if (!peak.ok() || *peak > budget)
      continue;
    enough.push_back(partsOf(changes[next].text));
    rows.push_back(
        {"  " + changes[next].text, formatBytes(static_cast<uint64_t>(*peak))});
  }
  for (; next < changes.size() && rows.size() < mostNamed; ++next) {
    auto bytes = static_cast<uint64_t>(changes[next].estimate);
    if (changes[next].estimate > double(budget) || isFurther(changes[next]))
      continue;
    enough.push_back(partsOf(changes[next].text));
    rows.push_back({"  " + changes[next].text,
                    "about " + formatBytes(bytes) + " (not compiled)"});
  }
  if (rows.empty())
    return "no plan near it fits: more ranks are needed, or more memory";
  std::string text = formatTable({"", ""}, rows);
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return "the nearest plans that fit:\n" + text;
}
