//===- StepTrace.h - The measured timeline of a run -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_STEP_STEPTRACE_H
#define HOCKET_RUNTIME_TRAIN_STEP_STEPTRACE_H

#include "runtime/executor/Executor.h"
#include "runtime/telemetry/TraceFile.h"
#include "runtime/train/step/StepWindow.h"

namespace hocket {

/// Notes when every instruction of a rank ran in the steps of a window, up to a
/// quarter of a million on each stream; times count from a moment at which all
/// ranks have met. It must outlive the executor's runs.
class StepTrace : public ExecutionListener {
public:
  /// A collective of the world. Becomes the executor's listener.
  static StatusOr<std::unique_ptr<StepTrace>> create(Executor &executor,
                                                     StepWindow window = {});
  ~StepTrace() override;

  void ran(InstructionPlace place, const RunContext &context, Time begin,
           Time end) override;

  /// A collective of the world: the timelines of all ranks as one file
  /// (TraceFile.h). Every rank writes its own beside it first.
  Status write(const std::string &path);

  /// What a person should know of this rank's part; empty if it is whole.
  std::string note() const;

private:
  StepTrace(Executor &executor, StepWindow window);

  struct Span {
    InstructionPlace place;
    uint32_t microbatch = 0;
    uint64_t step = 0;
    Time begin, end;
  };
  std::vector<TraceMemory> memory() const;
  double micros(Time time) const;
  std::string events() const;
  std::string ownPath(const std::string &path, unsigned rank) const;

  Executor &executor;
  StepWindow window;
  Time origin;
  std::vector<std::vector<Span>> streams; ///< Each of its stream's thread.
  std::vector<char> isFull;               ///< The same.
};

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_STEP_STEPTRACE_H
