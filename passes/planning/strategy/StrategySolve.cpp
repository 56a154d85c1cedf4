//===- StrategySolve.cpp - Choosing strategies ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/strategy/StrategySolve.h"

#include "passes/planning/strategy/StrategyExact.h"
#include "passes/planning/strategy/StrategyState.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

std::optional<StrategyAlgorithm>
planning::strategyAlgorithm(std::string_view name) {
  if (name == "greedy")
    return StrategyAlgorithm::Greedy;
  if (name == "search")
    return StrategyAlgorithm::Search;
  if (name == "exact")
    return StrategyAlgorithm::Exact;
  return std::nullopt;
}

double StrategyPlan::gap() const {
  return !fits || cost <= bound ? 0 : double(cost - bound) / double(cost);
}

namespace {

/// Rounds of the dual before anything is chosen.
constexpr int firstRounds = 60;
/// Shares of nodes that are chosen anew, and of their memory's price.
constexpr double shares[] = {0.02, 0.1, 0.3, 0.6, 1};
constexpr double priceShares[] = {0, 0.5, 1, 1.5, 3};
/// Rounds without anything better after which the dual's choice is taken up.
constexpr int64_t patience = 60;

class Solver {
public:
  Solver(const StrategyProblem &problem, const StrategyOptions &options)
      : problem(problem), options(options), graph(problem), dual(graph),
        best(graph, StrategyChoice(graph.size())), random(options.seed) {}

  StrategyPlan run();

private:
  /// The dual's choice, made to fit.
  StrategyState decoded() const;
  void take(StrategyState state) {
    if (state.isBetterThan(best))
      best = std::move(state);
  }
  double known() const { return best.excess() == 0 ? double(best.cost()) : -1; }
  bool isProved() const {
    return best.excess() == 0 && best.cost() <= dual.bound();
  }
  bool isOver() const {
    return isProved() || (options.expired && options.expired());
  }
  void start();
  void advanceDual();
  /// For so many rounds, or until it is over.
  void search(int64_t rounds);
  void searchToTheEnd(StrategyPlan &plan);

  const StrategyProblem &problem;
  const StrategyOptions &options;
  StrategyGraph graph;
  StrategyDual dual;
  StrategyState best;
  std::mt19937_64 random;
};

} // namespace

StrategyState Solver::decoded() const {
  StrategyChoice choice;
  for (size_t i = 0; i < graph.size(); ++i) {
    int64_t cheapest = 0;
    for (size_t s = 1; s < graph.strategies(i); ++s)
      if (dual.reduced(i, s) < dual.reduced(i, size_t(cheapest)))
        cheapest = int64_t(s);
    choice.push_back(cheapest);
  }
  StrategyState state(graph, std::move(choice));
  state.repair();
  state.descend();
  return state;
}

void Solver::advanceDual() {
  dual.sweep();
  dual.movePrices(known());
}

void Solver::search(int64_t rounds) {
  StrategyState current = best;
  int64_t idle = 0;
  for (int64_t round = 0; round < rounds && !isOver(); ++round) {
    if (round % 4 == 0)
      advanceDual();
    std::vector<double> prices;
    double share = priceShares[random() % std::size(priceShares)];
    for (size_t i = 0; i < graph.size(); ++i)
      prices.push_back(share * dual.priceOf(i));
    StrategyState next = current;
    next.regrow(prices, shares[random() % std::size(shares)], random);
    next.repair();
    next.descend();
    bool isWorse = current.isBetterThan(next);
    idle = next.isBetterThan(best) ? 0 : idle + 1;
    take(next);
    if (!isWorse)
      current = std::move(next);
    if (idle < patience)
      continue;
    idle = 0;
    current = random() % 2 ? decoded() : best;
    take(current);
  }
}

void Solver::searchToTheEnd(StrategyPlan &plan) {
  ExactLimits limits{INT64_MAX, options.exactSteps, options.expired};
  if (best.excess() == 0)
    limits.known = strategyCost(problem, best.choice());
  ExactResult result = searchExactly(graph, dual, limits);
  if (result.choice)
    best = StrategyState(graph, *result.choice);
  if (!result.isComplete)
    return;
  plan.isFinal = true;
  if (best.excess() == 0)
    plan.bound = strategyCost(problem, best.choice());
}

/// A first choice, which says what costs may count as in the dual.
void Solver::start() {
  take(decoded());
  if (best.excess() == 0)
    dual = StrategyDual(graph, double(best.cost()) + 1);
  for (int round = 0; round < firstRounds && !isOver(); ++round)
    advanceDual();
  take(decoded());
}

StrategyPlan Solver::run() {
  StrategyPlan plan;
  start();
  if (options.algorithm != StrategyAlgorithm::Greedy)
    search(options.rounds);
  if (options.algorithm == StrategyAlgorithm::Exact && !isOver())
    searchToTheEnd(plan);
  if (options.algorithm != StrategyAlgorithm::Greedy && options.expired &&
      !plan.isFinal)
    search(INT64_MAX);
  plan.choice = best.choice();
  plan.fits = best.excess() == 0;
  plan.cost = strategyCost(problem, plan.choice);
  plan.bound = std::max(plan.bound, dual.bound());
  plan.isFinal |= plan.fits && plan.cost <= plan.bound;
  return plan;
}

StrategyPlan planning::solveStrategies(const StrategyProblem &problem,
                                       const StrategyOptions &options) {
  return Solver(problem, options).run();
}
