//===- FitConstants.cpp - Constants from measurements ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/accuracy/FitConstants.h"

#include <algorithm>
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
    {"software.memory", 0.2, 0.95},
    {"software.attention", 0.1, 1},
    {"software.attention_ramp", 1, 4000},
    {"software.kernel_seconds", 1e-6, 50e-6},
    {"software.host_op_seconds", 1e-6, 200e-6},
    {"software.host_collective_seconds", 1e-6, 1e-3},
    {"software.expert_host_seconds", 1e-6, 20e-3},
    {"software.tensor_overlap", 0.01, 0.95},
    {"software.data_overlap", 0.01, 0.95},
    {"software.expert_overlap", 0.01, 0.95},
    {"software.update_bytes", 28, 200},
    {"software.step_seconds", 1e-5, 0.1},
    {"node_link.efficiency", 0.1, 0.95},
    {"node_link.latency", 1e-6, 1e-4},
    {"network.efficiency", 0.05, 0.95},
    {"network.latency", 1e-6, 1e-4},
};

/// The field of a constant inside a description.
struct FieldPlace {
  google::protobuf::Message *message;
  const google::protobuf::FieldDescriptor *field;

  FieldPlace(cluster::System &system, std::string_view path) {
    size_t dot = path.find('.');
    const auto *part = system.GetDescriptor()->FindFieldByName(
        std::string(path.substr(0, dot)));
    message = system.GetReflection()->MutableMessage(&system, part);
    field = message->GetDescriptor()->FindFieldByName(
        std::string(path.substr(dot + 1)));
  }
  double value() const {
    return message->GetReflection()->GetDouble(*message, field);
  }
  void set(double value) const {
    message->GetReflection()->SetDouble(message, field, value);
  }
};

/// Rows of one system, and their loss under a description.
class FitRows {
public:
  FitRows(const cluster::System &system,
          const std::vector<ThroughputRow> &rows) {
    std::map<std::string, int64_t> seen;
    for (const ThroughputRow &row : rows) {
      if (!row.skipped.empty() || row.systemName != system.name() ||
          row.quantity != Quantity::Seconds)
        continue;
      Entry entry{row, seen[row.group]++ % 2 == 1};
      entry.row.problem.system = system;
      completePlan(entry.row);
      if (predictRow(entry.row).ok())
        entries.push_back(std::move(entry));
    }
  }

  bool empty() const { return entries.empty(); }

  /// The mean over groups of their rows' mean |log(predicted / measured)|.
  double loss(const cluster::System &system, bool heldOut) {
    std::map<std::string, std::pair<double, int64_t>> groups;
    for (Entry &entry : entries) {
      if (entry.heldOut != heldOut)
        continue;
      entry.row.problem.system = system;
      double seconds = *predictRow(entry.row);
      auto &[sum, count] = groups[entry.row.group];
      sum += std::abs(std::log(seconds / entry.row.measured));
      ++count;
    }
    double sum = 0;
    for (const auto &[name, group] : groups)
      sum += group.first / double(group.second);
    return groups.empty() ? 0 : sum / double(groups.size());
  }

  /// The |error| that two thirds of the rows of one half that `wanted` accepts
  /// do not exceed; 0 without any.
  double spread(const cluster::System &system, bool heldOut,
                const std::function<bool(const CostProblem &)> &wanted) {
    std::vector<double> errors;
    for (Entry &entry : entries) {
      if (entry.heldOut != heldOut || !wanted(entry.row.problem))
        continue;
      entry.row.problem.system = system;
      errors.push_back(
          std::abs(*predictRow(entry.row) / entry.row.measured - 1));
    }
    std::sort(errors.begin(), errors.end());
    return errors.empty() ? 0 : errors[(errors.size() - 1) * 2 / 3];
  }

private:
  struct Entry {
    ThroughputRow row;
    bool heldOut = false;
  };
  std::vector<Entry> entries;
};

/// Coordinate descent from a description.
class Descent {
public:
  Descent(const cluster::System &start, FitRows &rows, bool half)
      : system(start), rows(rows), half(half), best(rows.loss(system, half)) {}

  /// Tries the constant a step up and down; whether that was better.
  bool improve(const Constant &constant, double step) {
    for (double factor : {1 + step, 1 / (1 + step)}) {
      cluster::System changed = system;
      FieldPlace place(changed, constant.path);
      double before = place.value();
      double value = std::clamp(before * factor, constant.least, constant.most);
      if (value == before)
        continue;
      place.set(value);
      double loss = rows.loss(changed, half);
      if (loss >= best - 1e-6)
        continue;
      best = loss;
      system = std::move(changed);
      return true;
    }
    return false;
  }

  cluster::System system;

private:
  FitRows &rows;
  bool half;
  double best;
};

/// Three figures are what a fit can tell.
void roundConstants(cluster::System &system,
                    const std::vector<const Constant *> &chosen) {
  for (const Constant *constant : chosen) {
    FieldPlace place(system, constant->path);
    double unit = std::pow(10, std::floor(std::log10(place.value())) - 2);
    double value = std::round(place.value() / unit) * unit;
    place.set(std::clamp(value, constant->least, constant->most));
  }
}

} // namespace

std::vector<std::string> planning::fittedConstants() {
  std::vector<std::string> names;
  for (const Constant &constant : constants)
    names.emplace_back(constant.path);
  return names;
}

StatusOr<FitResult>
planning::fitConstants(const cluster::System &start,
                       const std::vector<ThroughputRow> &rows,
                       const FitOptions &options) {
  std::vector<const Constant *> chosen;
  for (const std::string &name : options.constants) {
    const auto *found =
        std::find_if(std::begin(constants), std::end(constants),
                     [&](const Constant &c) { return c.path == name; });
    if (found == std::end(constants))
      return invalidArgument(name + " is no constant that can be fitted");
    chosen.push_back(found);
  }
  FitRows fitRows(start, rows);
  if (fitRows.empty())
    return invalidArgument("no row is of the system " + start.name());
  Descent descent(start, fitRows, options.swapHalves);
  double step = 0.3;
  for (int64_t round = 0; round < options.rounds && step > 0.004; ++round) {
    bool better = false;
    for (const Constant *constant : chosen)
      better |= descent.improve(*constant, step);
    if (!better)
      step /= 2;
  }
  FitResult result;
  result.system = descent.system;
  roundConstants(result.system, chosen);
  result.fitted = fitRows.loss(result.system, options.swapHalves);
  result.heldOut = fitRows.loss(result.system, !options.swapHalves);
  int64_t node = start.devices_per_node();
  auto spread = [&](auto wanted) {
    double found = fitRows.spread(result.system, !options.swapHalves, wanted);
    return std::round(found * 1000) / 1000;
  };
  double one = spread([&](const CostProblem &problem) {
    return problem.model.experts == 0 && problem.devices <= node;
  });
  double many = spread([&](const CostProblem &problem) {
    return problem.model.experts == 0 && problem.devices > node;
  });
  double experts = spread(
      [](const CostProblem &problem) { return problem.model.experts > 0; });
  if (one > 0)
    result.system.mutable_spread()->set_one_node(one);
  if (many > 0)
    result.system.mutable_spread()->set_many_nodes(many);
  if (experts > 0)
    result.system.mutable_spread()->set_experts(experts);
  return result;
}
