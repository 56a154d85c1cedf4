//===- FitConstants.cpp - Constants from measurements ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/accuracy/FitConstants.h"

#include "runtime/cluster/Systems.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// A constant, and what physics allows it to be.
struct Constant {
  std::string_view path;
  double least, most;
};

constexpr Constant constants[] = {
    {"software.gemm", 0.3, 1},
    {"software.gemm_ramp", 1, 2000},
    {"software.gemm_8bit", 0.2, 1},
    {"software.memory", 0.5, 0.95},
    {"software.attention", 0.1, 1},
    {"software.attention_ramp", 1, 4000},
    {"software.kernel_seconds", 1e-6, 50e-6},
    {"software.host_op_seconds", 1e-6, 200e-6},
    {"software.host_collective_seconds", 1e-6, 1e-3},
    {"software.expert_host_seconds", 1e-4, 10e-3},
    {"software.tensor_overlap", 0.01, 0.95},
    {"software.data_overlap", 0.01, 0.95},
    {"software.expert_overlap", 0.01, 0.95},
    {"software.beside_overlap", 0.01, 0.95},
    {"software.beside_host", 1, 2},
    {"software.weight_overlap", 0.01, 1},
    {"software.loss_bytes", 12, 120},
    {"software.update_bytes", 28, 200},
    {"software.quantize_bytes", 0.01, 12},
    {"software.tensor_quantize_bytes", 1, 12},
    {"software.expert_gemm", 0.1, 1},
    {"software.expert_moves", 2, 24},
    {"software.expert_launches", 0.01, 8},
    {"software.step_seconds", 1e-5, 0.1},
    {"node_link.efficiency", 0.1, 0.95},
    {"node_link.latency", 1e-6, 1e-4},
    {"node_link.start", 1e-6, 1e-4},
    {"network.efficiency", 0.05, 0.95},
    {"network.latency", 1e-6, 1e-4},
    {"traced.loss_bytes", 12, 120},
    {"traced.update_bytes", 12, 200},
    {"traced.unaligned_gemm", 0.1, 1},
};

using Systems = std::vector<cluster::System>;

/// A constant that may change, and where: its values are the same in all
/// places.
class ChosenConstant {
public:
  /// Refuses a name that stands for nothing in `systems`, which it makes to
  /// have the fields that the name says.
  static StatusOr<ChosenConstant> find(const std::string &name,
                                       Systems &systems);

  const Constant &constant() const { return *range; }
  double value(Systems &systems) const {
    auto [message, field] = placeIn(systems[*which.begin()]);
    return message->GetReflection()->GetDouble(*message, field);
  }
  void set(Systems &systems, double value) const {
    for (size_t system : which) {
      auto [message, field] = placeIn(systems[system]);
      message->GetReflection()->SetDouble(message, field, value);
    }
  }

private:
  struct Place {
    google::protobuf::Message *message;
    const google::protobuf::FieldDescriptor *field;
  };
  Place placeIn(cluster::System &system) const;

  const Constant *range = nullptr;
  std::vector<size_t> which; ///< Systems.
  std::string before;        ///< The release of an earlier software, or empty.
};

ChosenConstant::Place ChosenConstant::placeIn(cluster::System &system) const {
  size_t dot = range->path.find('.');
  std::string part(range->path.substr(0, dot)),
      name(range->path.substr(dot + 1));
  google::protobuf::Message *message = nullptr;
  for (cluster::EarlierSoftware &earlier : *system.mutable_earlier())
    if (!before.empty() && earlier.before() == before)
      message = earlier.mutable_software();
  bool isThere = part != "traced" || system.has_traced();
  if (before.empty() && isThere)
    message = system.GetReflection()->MutableMessage(
        &system, system.GetDescriptor()->FindFieldByName(part));
  if (!message)
    return {nullptr, nullptr};
  return {message, message->GetDescriptor()->FindFieldByName(name)};
}

StatusOr<ChosenConstant> ChosenConstant::find(const std::string &name,
                                              Systems &systems) {
  ChosenConstant chosen;
  std::string path = name, only;
  if (size_t colon = path.find(':'); colon != std::string::npos) {
    only = path.substr(0, colon);
    path.erase(0, colon + 1);
  }
  if (size_t at = path.find('@'); at != std::string::npos) {
    chosen.before = path.substr(0, at);
    path.erase(0, at + 1);
  }
  chosen.range =
      std::find_if(std::begin(constants), std::end(constants),
                   [&](const Constant &c) { return c.path == path; });
  if (chosen.range == std::end(constants) ||
      (!chosen.before.empty() && !path.starts_with("software.")))
    return invalidArgument(name + " is no constant that can be fitted");
  for (size_t i = 0; i < systems.size(); ++i) {
    std::string listed = "+" + only + "+", own = "+" + systems[i].name() + "+";
    if (!only.empty() && listed.find(own) == std::string::npos)
      continue;
    auto [message, field] = chosen.placeIn(systems[i]);
    if (!message)
      return invalidArgument(
          name + ": " + systems[i].name() +
          (chosen.before.empty() ? " has no software of traces"
                                 : " has no software before " + chosen.before));
    const cluster::Software &newest = systems[i].software();
    if (!chosen.before.empty() &&
        !message->GetReflection()->HasField(*message, field))
      message->GetReflection()->SetDouble(
          message, field, newest.GetReflection()->GetDouble(newest, field));
    chosen.which.push_back(i);
  }
  if (chosen.which.empty())
    return invalidArgument(name + ": there is no system " + only);
  return chosen;
}

/// Rows of some systems, and their loss under descriptions of these.
class FitRows {
public:
  FitRows(const Systems &systems, const std::vector<ThroughputRow> &rows,
          const FitOptions &options) {
    std::vector<int64_t> turns = turnsOf(rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      const ThroughputRow &row = rows[i];
      auto system =
          std::find_if(systems.begin(), systems.end(), [&](const auto &each) {
            return each.name() == row.systemName;
          });
      if (!row.skipped.empty() || system == systems.end() ||
          row.quantity != Quantity::Seconds)
        continue;
      Entry entry(row, i, size_t(system - systems.begin()),
                  turns[i] % options.folds == options.heldOut);
      entry.describe(systems);
      completePlan(entry.row);
      if (predictRow(entry.row).ok())
        entries.push_back(std::move(entry));
    }
  }

  struct Entry {
    ThroughputRow row;
    size_t index; ///< In the table.
    size_t system;
    bool heldOut;

    Entry(const ThroughputRow &row, size_t index, size_t system, bool heldOut)
        : row(row), index(index), system(system), heldOut(heldOut) {}

    void describe(const Systems &systems) {
      row.problem.system = systemOfRow(row, systems[system]);
    }
    /// Most steps change nothing that the row's software has: what was found
    /// lately is kept.
    double seconds(const Systems &systems) {
      describe(systems);
      std::string described = whatCounts();
      for (const Found &one : lately)
        if (one.system == described)
          return one.seconds;
      Found &oldest = lately[next];
      next = (next + 1) % lately.size();
      oldest = {std::move(described), *predictRow(row)};
      return oldest.seconds;
    }

  private:
    /// Of the row's description, what its price may read of constants.
    std::string whatCounts() const {
      const cluster::System &system = row.problem.system;
      cluster::Software software = system.software();
      software.clear_beside_overlap(); // Where it is used, it is in its place.
      software.clear_beside_host();
      software.clear_tensor_quantize_bytes();
      if (row.problem.model.experts == 0) {
        software.clear_expert_overlap();
        software.clear_expert_host_seconds();
        software.clear_expert_gemm();
        software.clear_expert_moves();
        software.clear_expert_launches();
      }
      return software.SerializeAsString() +
             system.node_link().SerializeAsString() +
             system.network().SerializeAsString();
    }

    struct Found {
      std::string system;
      double seconds = 0;
    };
    std::array<Found, 8> lately;
    size_t next = 0;
  };

  bool empty() const { return entries.empty(); }
  std::vector<Entry> &all() { return entries; }

  /// The mean over groups of their rows' mean |log(predicted / measured)|.
  double loss(const Systems &systems, bool heldOut) {
    std::map<std::string, std::pair<double, int64_t>> groups;
    for (Entry &entry : entries) {
      if (entry.heldOut != heldOut)
        continue;
      auto &[sum, count] = groups[entry.row.group];
      sum += std::abs(std::log(entry.seconds(systems) / entry.row.measured));
      ++count;
    }
    double sum = 0;
    for (const auto &[name, group] : groups)
      sum += group.first / double(group.second);
    return groups.empty() ? 0 : sum / double(groups.size());
  }

  /// The |error| that two thirds of the held-out rows of a system that `wanted`
  /// accepts do not exceed; 0 without any.
  double spread(const Systems &systems, size_t system,
                const std::function<bool(const CostProblem &)> &wanted) {
    std::vector<double> errors;
    for (Entry &entry : entries)
      if (entry.heldOut && entry.system == system && wanted(entry.row.problem))
        errors.push_back(
            std::abs(entry.seconds(systems) / entry.row.measured - 1));
    std::sort(errors.begin(), errors.end());
    double found = errors.empty() ? 0 : errors[(errors.size() - 1) * 2 / 3];
    return std::round(found * 1000) / 1000;
  }

private:
  std::vector<Entry> entries;
};

/// Pattern search from descriptions (Hooke and Jeeves): constants one by one a
/// step up or down, what helped once more, and, where none helps alone, two at
/// a time, since many make up for each other.
class Descent {
public:
  Descent(Systems start, const std::vector<ChosenConstant> &chosen,
          FitRows &rows)
      : systems(std::move(start)), chosen(chosen), rows(rows),
        best(rows.loss(systems, false)) {}

  /// Whether anything was better.
  bool improve(double step) {
    std::vector<double> from = values();
    bool better = false;
    for (size_t i = 0; i < chosen.size(); ++i)
      for (double factor : {1 + step, 1 / (1 + step)})
        if (tryFactors({{i, factor}})) {
          better = true;
          break;
        }
    if (!better)
      return improvePairs(step);
    std::vector<Factor> again;
    std::vector<double> to = values();
    for (size_t i = 0; i < chosen.size(); ++i)
      again.push_back({i, to[i] / from[i]});
    tryFactors(again);
    return true;
  }

  Systems systems;

private:
  struct Factor {
    size_t constant;
    double by;
  };

  std::vector<double> values() {
    std::vector<double> values;
    for (const ChosenConstant &one : chosen)
      values.push_back(one.value(systems));
    return values;
  }

  bool improvePairs(double step) {
    for (size_t i = 0; i < chosen.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        for (double first : {1 + step, 1 / (1 + step)})
          for (double second : {1 + step, 1 / (1 + step)})
            if (tryFactors({{i, first}, {j, second}}))
              return true;
    return false;
  }

  /// Keeps the changed constants if they are better.
  bool tryFactors(const std::vector<Factor> &factors) {
    Systems changed = systems;
    bool differs = false;
    for (const Factor &factor : factors) {
      const ChosenConstant &one = chosen[factor.constant];
      double before = one.value(changed);
      double value = std::clamp(before * factor.by, one.constant().least,
                                one.constant().most);
      differs |= value != before;
      one.set(changed, value);
    }
    double loss = differs ? rows.loss(changed, false) : best;
    if (loss >= best - 1e-6)
      return false;
    best = loss;
    systems = std::move(changed);
    return true;
  }

  const std::vector<ChosenConstant> &chosen;
  FitRows &rows;
  double best;
};

/// Three figures are what a fit can tell.
void roundConstants(Systems &systems,
                    const std::vector<ChosenConstant> &chosen) {
  for (const ChosenConstant &one : chosen) {
    double exact = one.value(systems);
    double unit = std::pow(10, std::floor(std::log10(exact)) - 2);
    one.set(systems, std::clamp(std::round(exact / unit) * unit,
                                one.constant().least, one.constant().most));
  }
}

void setSpreads(Systems &systems, FitRows &rows) {
  for (size_t i = 0; i < systems.size(); ++i) {
    int64_t node = systems[i].devices_per_node();
    double one = rows.spread(systems, i, [&](const CostProblem &problem) {
      return problem.model.experts == 0 && problem.devices <= node;
    });
    double many = rows.spread(systems, i, [&](const CostProblem &problem) {
      return problem.model.experts == 0 && problem.devices > node;
    });
    double experts = rows.spread(systems, i, [](const CostProblem &problem) {
      return problem.model.experts > 0;
    });
    if (one > 0)
      systems[i].mutable_spread()->set_one_node(one);
    if (many > 0)
      systems[i].mutable_spread()->set_many_nodes(many);
    if (experts > 0)
      systems[i].mutable_spread()->set_experts(experts);
  }
}

} // namespace

std::vector<std::string> planning::fittedConstants() {
  std::vector<std::string> names;
  for (const Constant &constant : constants)
    if (!constant.path.starts_with("traced."))
      names.emplace_back(constant.path);
  return names;
}

StatusOr<FitResult>
planning::fitConstants(const std::vector<cluster::System> &starts,
                       const std::vector<ThroughputRow> &rows,
                       const FitOptions &options) {
  Systems start = starts;
  std::vector<ChosenConstant> chosen;
  for (const std::string &name : options.constants) {
    HOCKET_ASSIGN_OR_RETURN(ChosenConstant found,
                            ChosenConstant::find(name, start));
    chosen.push_back(std::move(found));
  }
  FitRows fitRows(start, rows, options);
  if (fitRows.empty()) {
    std::string names;
    for (const cluster::System &system : starts)
      names += " " + system.name();
    return invalidArgument("no row is of the system" + names);
  }
  Descent descent(start, chosen, fitRows);
  double step = 0.3;
  for (int64_t round = 0; round < options.rounds && step > 0.004; ++round)
    if (!descent.improve(step))
      step /= 2;
  FitResult result;
  result.systems = descent.systems;
  roundConstants(result.systems, chosen);
  result.fitted = fitRows.loss(result.systems, false);
  result.heldOut = fitRows.loss(result.systems, true);
  setSpreads(result.systems, fitRows);
  return result;
}

/// Points that fill the ranges of constants evenly (the additive recurrence
/// whose steps are powers of the root of x^(n + 1) = x + 1, of n constants),
/// those with the least loss first.
static StatusOr<std::vector<Systems>>
startingPoints(const Systems &systems, const std::vector<ThroughputRow> &rows,
               const FitOptions &options) {
  constexpr size_t tried = 250, kept = 4;
  Systems point = systems;
  std::vector<ChosenConstant> chosen;
  for (const std::string &name : options.constants) {
    HOCKET_ASSIGN_OR_RETURN(ChosenConstant found,
                            ChosenConstant::find(name, point));
    chosen.push_back(std::move(found));
  }
  double root = 2;
  for (int step = 0; step < 30; ++step)
    root = std::pow(1 + root, 1 / (1 + double(chosen.size())));
  FitRows fitRows(point, rows, options);
  std::multimap<double, Systems> best;
  for (size_t i = 0; i < tried; ++i) {
    for (size_t c = 0; c < chosen.size(); ++c) {
      double at = 0.5 + double(i) * std::pow(root, -double(c + 1));
      const Constant &range = chosen[c].constant();
      chosen[c].set(point, range.least * std::pow(range.most / range.least,
                                                  at - std::floor(at)));
    }
    best.emplace(fitRows.loss(point, false), point);
    if (best.size() > kept)
      best.erase(std::prev(best.end()));
  }
  std::vector<Systems> points;
  for (auto &[loss, one] : best)
    points.push_back(std::move(one));
  return std::move(points);
}

StatusOr<FitResult>
planning::fitFromPoints(const std::vector<cluster::System> &starts,
                        const std::vector<ThroughputRow> &rows,
                        const FitOptions &options) {
  HOCKET_ASSIGN_OR_RETURN(std::vector<Systems> points,
                          startingPoints(starts, rows, options));
  FitResult best;
  best.fitted = INFINITY;
  for (const Systems &start : points) {
    HOCKET_ASSIGN_OR_RETURN(FitResult fit, fitConstants(start, rows, options));
    if (fit.fitted < best.fitted)
      best = std::move(fit);
  }
  return std::move(best);
}

StatusOr<std::vector<RowPrediction>>
planning::crossValidate(const std::vector<cluster::System> &starts,
                        const std::vector<ThroughputRow> &rows,
                        const FitOptions &options) {
  std::map<size_t, RowPrediction> found; // By their places in the table.
  FitOptions fold = options;
  for (fold.heldOut = 0; fold.heldOut < options.folds; ++fold.heldOut) {
    HOCKET_ASSIGN_OR_RETURN(FitResult best, fitFromPoints(starts, rows, fold));
    FitRows fitRows(best.systems, rows, fold);
    for (FitRows::Entry &entry : fitRows.all()) {
      if (!entry.heldOut)
        continue;
      RowPrediction &prediction = found[entry.index];
      prediction.predicted = entry.seconds(best.systems);
      prediction.row = entry.row;
      prediction.heldOut = true;
      prediction.spread = spreadOf(entry.row.problem);
      prediction.items = priceStep(entry.row.problem, entry.row.plan)->items;
    }
  }
  std::vector<RowPrediction> predictions;
  for (auto &[index, prediction] : found)
    predictions.push_back(std::move(prediction));
  return std::move(predictions);
}
