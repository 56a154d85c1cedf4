//===- ProcessesTest.cpp - Threads and processes give the same bits -------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/File.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/program/ProgramFile.h"
#include "test/end_to_end/TrainedPlans.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;
namespace fs = std::filesystem;

namespace {

class Processes : public TrainedPlans,
                  public testing::WithParamInterface<PlanRow> {
protected:
  static bool hasMpi() {
#ifdef HOCKET_HAS_MPI
    return std::system("mpirun --version > /dev/null 2>&1") == 0;
#else
    return false;
#endif
  }

  /// Names and bytes of the files of tensors that the run `name` saved.
  std::map<std::string, std::string> filesOf(const std::string &name,
                                             uint64_t step) const {
    std::map<std::string, std::string> files;
    for (const auto &entry : fs::directory_iterator(
             checkpoint::iterationFolder(folder + "/" + name, step)))
      if (entry.path().extension() == ".safetensors")
        files[entry.path().filename()] = *readFile(entry.path(), 1 << 26);
    return files;
  }
};

TEST_P(Processes, GiveTheBitsOfThreads) {
  if (!hasMpi())
    GTEST_SKIP() << "there is no mpirun on this machine";
  constexpr uint64_t few = 3;
  const PlanRow &plan = GetParam();
  SharedProgram program = compile(experts, plan, "precision: BF16");
  ASSERT_TRUE(writeProgram(*program, folder + "/model.hkx").ok());
  train(program, few, "threads");
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  std::string command =
      "timeout 120 mpirun --oversubscribe --bind-to none -np " +
      std::to_string(program->certificate().peaks_size()) +
      " " HOCKET_RUNTIME_PROGRAM " train " + folder + "/model.hkx --data " +
      tokens() + " --steps " + std::to_string(few) + " --save " + folder +
      "/processes --log " + folder + "/processes.jsonl > " + folder +
      "/text 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0)
      << *readFile(folder + "/text", 1 << 20);
  Outcome threads = outcomeOf("threads", 0),
          processes = outcomeOf("processes", 0);
  EXPECT_EQ(threads.losses.size(), few);
  EXPECT_EQ(threads.losses, processes.losses);
  EXPECT_EQ(threads.norms, processes.norms);
  auto files = filesOf("threads", few);
  EXPECT_GE(files.size(), 2U);
  EXPECT_TRUE(files == filesOf("processes", few));
}

const PlanRow plans[] = {
    {"Dp2Tp2Zero3", "dp=2,tp=2", 3, "--zero 3 --sequence-parallel"},
    {"Pp2Ep2", "pp=2,dp=2,ep=2", 3, "--zero 1"},
    // Gradients in several buckets, on a stream of their own.
    {"Dp2Tp2Buckets", "dp=2,tp=2", 3, "--zero 2 plan.bucket_bytes=2048"},
    {"Dp2Cp2RingBuckets", "dp=2,cp=2", 3,
     "--zero 1 --cp-strategy ring plan.bucket_bytes=4096"},
    {"Pp2Cp2AllToAll", "pp=2,cp=2", 6,
     "--cp-strategy alltoall plan.bucket_bytes=2048"},
};

INSTANTIATE_TEST_SUITE_P(Plans, Processes, testing::ValuesIn(plans),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

} // namespace
