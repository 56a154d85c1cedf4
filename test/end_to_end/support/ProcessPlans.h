//===- ProcessPlans.h - Plans whose ranks are processes ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_END_TO_END_SUPPORT_PROCESSPLANS_H
#define HOCKET_TEST_END_TO_END_SUPPORT_PROCESSPLANS_H

#include "test/end_to_end/support/TrainedPlans.h"

namespace hocket::test {

/// Programs trained by a process for each rank.
class ProcessPlans : public TrainedPlans {
protected:
  enum class Launcher {
    Mpirun,
    Variables ///< RANK, MASTER_ADDR and so on, as torchrun sets them.
  };
  static bool has(Launcher launcher);

  struct Ended {
    int status = -1;
    std::string text; ///< What all ranks have printed.
  };
  /// Runs `hocket-runtime train` with `options` on all ranks to its end. What
  /// rank 1 runs is preceded by the shell's `beforeRank1`.
  Ended trainProcesses(Launcher launcher, const SharedProgram &program,
                       const std::string &options,
                       const std::string &beforeRank1 = "");

  /// Threads and processes give the same losses, norms, and bytes of saved
  /// tensors. What the processes have printed.
  std::string expectBitsOfThreads(Launcher launcher,
                                  const SharedProgram &program);

private:
  /// Names and bytes of the files of tensors that the run `name` saved.
  std::map<std::string, std::string> filesOf(const std::string &name,
                                             uint64_t step) const;
};

} // namespace hocket::test

#endif // HOCKET_TEST_END_TO_END_SUPPORT_PROCESSPLANS_H
