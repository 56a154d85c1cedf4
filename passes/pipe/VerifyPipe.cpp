//===- VerifyPipe.cpp - Whether a module is complete at this level --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Checks what no single op can: P10 to P13 of docs/spec.md.
///
//===----------------------------------------------------------------------===//

#include "base/BatchSizes.h"
#include "dialects/pipe/IR/Pipe.h"
#include "dialects/xf/IR/Xf.h"
#include "passes/pipe/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <set>
#include <tuple>

namespace hocket::pipe {
#define GEN_PASS_DEF_VERIFYPIPE
#include "passes/pipe/Passes.h.inc"
} // namespace hocket::pipe

using namespace mlir;
using namespace hocket;
using namespace hocket::pipe;

namespace {

class PipelineCheck {
public:
  explicit PipelineCheck(ModuleOp module) : module(module), symbols(module) {}

  LogicalResult run() {
    if (failed(noteFragments()) || failed(checkLinks()) || failed(checkSaved()))
      return failure();
    return checkSchedules();
  }

private:
  /// Rank, kind, chunk.
  using Place = std::tuple<int64_t, FragmentKind, int64_t>;
  /// From, to, tag.
  using Message = std::tuple<int64_t, int64_t, int64_t>;

  func::FuncOp functionOf(FragmentOp fragment) {
    return symbols.lookup<func::FuncOp>(fragment.getFunction());
  }

  /// P10: the step has been cut, and a rank has one fragment of a kind and
  /// chunk.
  LogicalResult noteFragments() {
    for (auto step : module.getOps<xf::StepOp>())
      return step.emitOpError("P10: is left from an earlier level");
    for (auto serve : module.getOps<xf::ServeOp>())
      return serve.emitOpError("P10: is left from an earlier level");
    for (auto fragment : module.getOps<FragmentOp>()) {
      Place place(fragment.getRank(), fragment.getKind(), fragment.getChunk());
      if (!fragments.try_emplace(place, fragment).second)
        return fragment.emitOpError("P10: rank ")
               << fragment.getRank() << " has another fragment "
               << stringifyFragmentKind(fragment.getKind()) << " of chunk "
               << fragment.getChunk();
    }
    return success();
  }

  /// P11: what a stage sends, the other takes in, and the other way round.
  LogicalResult checkLinks() {
    std::map<Message, std::pair<FragmentOp, Type>> sent, received;
    for (auto &[place, fragment] : fragments) {
      func::FuncOp function = functionOf(fragment);
      int64_t rank = fragment.getRank();
      auto note = [&](auto &messages, Message message, Type type) {
        bool isNew =
            messages.try_emplace(message, std::pair(fragment, type)).second;
        return isNew ? success()
                     : LogicalResult(fragment.emitOpError("P11: two values of "
                                                          "rank ")
                                     << rank << " have the tag "
                                     << std::get<2>(message));
      };
      for (auto [type, target] :
           llvm::zip(function.getResultTypes(), fragment.getTargets()))
        if (auto link = dyn_cast<LinkAttr>(target))
          if (failed(note(sent, {rank, link.getRank(), link.getTag()}, type)))
            return failure();
      for (auto [type, source] :
           llvm::zip(function.getArgumentTypes(), fragment.getSources()))
        if (auto link = dyn_cast<LinkAttr>(source))
          if (failed(
                  note(received, {link.getRank(), rank, link.getTag()}, type)))
            return failure();
    }
    if (failed(checkEnds(sent, received, "sends")))
      return failure();
    return checkEnds(received, sent, "waits for");
  }

  LogicalResult
  checkEnds(const std::map<Message, std::pair<FragmentOp, Type>> &own,
            const std::map<Message, std::pair<FragmentOp, Type>> &others,
            StringRef does) {
    for (const auto &[message, end] : own) {
      auto [from, to, tag] = message;
      auto [fragment, type] = end;
      auto other = others.find(message);
      if (other == others.end() || other->second.second != type)
        return fragment.emitOpError("P11: ")
               << does << " " << type << " with the tag " << tag
               << " from rank " << from << " to rank " << to
               << ", which that end knows nothing of";
    }
    return success();
  }

  /// The type of what `saved` names, of the stage of `fragment`; null if there
  /// is no such value.
  Type typeOf(FragmentOp fragment, SavedAttr saved) {
    auto maker = fragments.find(
        {fragment.getRank(), saved.getKind(), fragment.getChunk()});
    if (maker == fragments.end())
      return {};
    func::FuncOp from = functionOf(maker->second);
    ArrayRef<Type> types = saved.getEnd() == FragmentEnd::Argument
                               ? from.getArgumentTypes()
                               : from.getResultTypes();
    int64_t index = saved.getIndex();
    return index >= 0 && index < static_cast<int64_t>(types.size())
               ? types[index]
               : Type();
  }

  /// P12: what a fragment takes as saved is an argument or a result of the
  /// named fragment of its rank and chunk, and of that type.
  LogicalResult checkSaved() {
    for (auto &[place, fragment] : fragments) {
      func::FuncOp function = functionOf(fragment);
      for (auto [i, type, source] : llvm::enumerate(function.getArgumentTypes(),
                                                    fragment.getSources())) {
        auto saved = dyn_cast<SavedAttr>(source);
        if (saved && typeOf(fragment, saved) != type)
          return function.emitOpError("P12: takes ")
                 << saved << " as argument " << i
                 << ", which no fragment of its stage has";
      }
    }
    return success();
  }

  /// P13: every fragment runs in some entry, in every training step if in one,
  /// and there once, or once for each microbatch.
  LogicalResult checkSchedules() {
    std::map<Place, int64_t> schedules;    // that run it
    std::map<int64_t, int64_t> trainSteps; // by rank
    for (auto schedule : module.getOps<ScheduleOp>()) {
      trainSteps[schedule.getRank()] += isTrainEntry(schedule.getEntry());
      std::map<Place, std::multiset<int64_t>> runs;
      for (auto action : schedule.getActions().getAsRange<ActionAttr>()) {
        Place place(schedule.getRank(), action.getKind(), action.getChunk());
        if (!fragments.contains(place))
          return schedule.emitOpError("P13: runs ")
                 << action << ", of which rank " << schedule.getRank()
                 << " has no fragment";
        runs[place].insert(action.getMicrobatch());
      }
      for (auto &[place, each] : runs) {
        ++schedules[place];
        if (failed(checkRuns(schedule, fragments.at(place), each)))
          return failure();
      }
    }
    for (auto &[place, fragment] : fragments) {
      using enum FragmentKind;
      bool trains = llvm::is_contained({Forward, Backward, Weight, Update},
                                       fragment.getKind());
      int64_t found = schedules[place];
      int64_t wanted =
          trains ? std::max<int64_t>(1, trainSteps[fragment.getRank()]) : 1;
      if (found != wanted)
        return fragment.emitOpError("P13: is part of ")
               << found << " schedules, and should be of " << wanted;
    }
    return success();
  }

  static LogicalResult checkRuns(ScheduleOp schedule, FragmentOp fragment,
                                 const std::multiset<int64_t> &each) {
    bool isOnce = fragment.getKind() == FragmentKind::Update ||
                  fragment.getKind() == FragmentKind::Prepare;
    auto wanted = isOnce ? 1 : static_cast<int64_t>(schedule.getMicrobatches());
    std::set<int64_t> distinct(each.begin(), each.end());
    if (distinct.size() == each.size() &&
        static_cast<int64_t>(each.size()) == wanted)
      return success();
    return fragment.emitOpError("P13: runs ")
           << each.size() << " times, of " << distinct.size()
           << " microbatches, and should for each of " << wanted;
  }

  ModuleOp module;
  SymbolTable symbols;
  std::map<Place, FragmentOp> fragments;
};

struct VerifyPipe : pipe::impl::VerifyPipeBase<VerifyPipe> {
  void runOnOperation() override {
    if (failed(PipelineCheck(getOperation()).run()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
