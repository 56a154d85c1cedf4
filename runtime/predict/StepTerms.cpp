//===- StepTerms.cpp - What a predicted step goes into --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/StepTerms.h"

#include "base/AxisKind.h"
#include <algorithm>
#include <array>

using namespace hocket;
using program::Instruction;

namespace {

enum Term : uint8_t {
  Gemms,
  Attention,
  Memory,
  Gaps,
  HostTerm,
  Tensor,
  Context,
  Expert,
  Transfers,
  Bubble,
  Data,
  Update,
  Outside,
};
constexpr size_t termCount = 13;
constexpr const char *termNames[termCount] = {
    "GEMMs",   "attention", "memory-bound kernels",
    "gaps",    "host",      "tensor",
    "context", "expert",    "transfers",
    "bubble",  "data",      "update",
    "outside"};

/// Sums of one role.
struct RoleTerms {
  std::array<double, termCount> seconds = {};
  double begin = -1, end = 0, lastOfAll = 0;
};

class TermCounter {
public:
  TermCounter(const program::Program &program, const ClusterCosts &costs)
      : program(program), costs(costs), roles(size_t(program.roles_size())) {}

  void add(const PredictedSpan &span) {
    RoleTerms &terms = roles[span.role];
    terms.lastOfAll = std::max(terms.lastOfAll, span.end);
    if (span.stream > 0)
      return;
    terms.end = span.end;
    const program::Role &role = program.roles(int(span.role));
    const program::Sequence &sequence = role.sequences(int(span.sequence));
    bool updates = sequence.name().starts_with("update");
    terms.seconds[HostTerm] += span.hostStall;
    if (span.stall > 0)
      terms.seconds[stallTerm(role, span, updates)] += span.stall;
    terms.seconds[Bubble] += span.wait;
    const Instruction &instruction =
        sequence.instructions(int(span.instruction));
    InstructionTime time = costs.timeOf(instruction, role, program);
    if (time.message > 0)
      terms.seconds[messageTerm(instruction, updates)] += time.message;
    auto addCompute = [&](Term term, double seconds) {
      terms.seconds[updates ? Update : term] += seconds;
    };
    addCompute(Gemms, time.gemms);
    addCompute(Attention, time.attention);
    addCompute(Memory, time.memory);
    addCompute(Gaps, time.gap);
  }

  PredictedStep finish(double seconds) {
    auto last = std::max_element(roles.begin(), roles.end(),
                                 [](const RoleTerms &a, const RoleTerms &b) {
                                   return a.lastOfAll < b.lastOfAll;
                                 });
    PredictedStep step{seconds, uint32_t(last - roles.begin()), {}};
    // Of what other streams do when stream 0 is done, only the last counts.
    last->seconds[Data] += last->lastOfAll - last->end;
    last->seconds[Outside] = seconds - last->lastOfAll;
    for (size_t term = 0; term < termCount; ++term)
      step.terms.push_back({termNames[term], last->seconds[term]});
    return step;
  }

private:
  /// The axis along which a collective's group lies.
  Term messageTerm(const Instruction &instruction, bool updates) const {
    if (instruction.has_transfer())
      return groupTerm(instruction.transfer().group(), Transfers);
    return updates ? Data : groupTerm(instruction.collective().group(), Tensor);
  }

  Term groupTerm(uint32_t group, Term otherwise) const {
    const std::string &name = program.groups(int(group)).name();
    auto along = [&](AxisKind kind) { return liesAlong(name, kind); };
    return along(AxisKind::Pipeline)                            ? Transfers
           : along(AxisKind::Expert)                            ? Expert
           : along(AxisKind::Context) && !along(AxisKind::Data) ? Context
           : along(AxisKind::Data)                              ? Data
           : along(AxisKind::Tensor)                            ? Tensor
                                                                : otherwise;
  }

  Term stallTerm(const program::Role &role, const PredictedSpan &span,
                 bool updates) const {
    const Instruction &behind = role.sequences(int(span.stallSequence))
                                    .instructions(int(span.stallInstruction));
    if (behind.has_collective())
      return messageTerm(behind, updates);
    return behind.has_transfer() ? messageTerm(behind, updates) == Transfers
                                       ? Bubble
                                       : messageTerm(behind, updates)
                                 : Gaps;
  }

  const program::Program &program;
  const ClusterCosts &costs;
  std::vector<RoleTerms> roles;
};

} // namespace

StatusOr<PredictedStep> hocket::predictStep(const program::Program &program,
                                            const std::string &entry,
                                            const ClusterCosts &costs,
                                            const SpanListener &listener) {
  TermCounter counter(program, costs);
  HOCKET_ASSIGN_OR_RETURN(
      double seconds,
      predictTimeline(program, entry, costs, [&](const PredictedSpan &span) {
        counter.add(span);
        if (listener)
          listener(span);
      }));
  return counter.finish(seconds);
}
