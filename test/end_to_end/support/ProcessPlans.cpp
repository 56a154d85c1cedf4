//===- ProcessPlans.cpp - Plans whose ranks are processes -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/ProcessPlans.h"

#include "base/File.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/program/file/ProgramFile.h"
#include "test/runtime/comm/FreePort.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>

using namespace hocket;
using namespace hocket::test;
namespace fs = std::filesystem;

bool ProcessPlans::has([[maybe_unused]] Launcher launcher) {
#ifdef HOCKET_HAS_MPI
  return launcher == Launcher::Variables ||
         std::system("mpirun --version > /dev/null 2>&1") == 0;
#else
  return launcher == Launcher::Variables;
#endif
}

ProcessPlans::Ended
ProcessPlans::trainProcesses(Launcher launcher, const SharedProgram &program,
                             const std::string &options,
                             const std::string &beforeRank1) {
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  EXPECT_TRUE(writeProgram(*program, folder + "/model.hkx").ok());
  int ranks = program->certificate().peaks_size();
  std::string rank = folder + "/rank.sh", number = std::to_string(ranks);
  bool byMpi = launcher == Launcher::Mpirun;
  EXPECT_TRUE(
      writeFileAtomically(
          rank, "if [ \"$" +
                    std::string(byMpi ? "OMPI_COMM_WORLD_RANK" : "RANK") +
                    "\" = 1 ]; then :; " + beforeRank1 +
                    "\nfi\nexec " HOCKET_RUNTIME_PROGRAM " train " + folder +
                    "/model.hkx --data " + tokens() + " " + options + "\n")
          .ok());
  std::string all = "timeout 120 mpirun --oversubscribe --bind-to none -np " +
                    number + " sh " + rank;
  if (!byMpi) {
    all = "export WORLD_SIZE=" + number +
          " MASTER_ADDR=localhost MASTER_PORT=" + std::to_string(freePort());
    for (int i = 0; i < ranks; ++i)
      all += "\nRANK=" + std::to_string(i) + " timeout 120 sh " + rank + " &" +
             " p" + std::to_string(i) + "=$!";
    all += "\nstatus=0";
    for (int i = 0; i < ranks; ++i)
      all += "\nwait $p" + std::to_string(i) + " || status=$?";
    all += "\nexit $status";
  }
  Ended ended;
  int status =
      std::system(("(" + all + "\n) > " + folder + "/text 2>&1").c_str());
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  ended.text = *readFile(folder + "/text", 1 << 20);
  return ended;
}

std::map<std::string, std::string>
ProcessPlans::filesOf(const std::string &name, uint64_t step) const {
  std::map<std::string, std::string> files;
  for (const auto &entry : fs::directory_iterator(
           checkpoint::iterationFolder(folder + "/" + name, step)))
    if (entry.path().extension() == ".safetensors")
      files[entry.path().filename()] = *readFile(entry.path(), 1 << 26);
  return files;
}

std::string ProcessPlans::expectBitsOfThreads(Launcher launcher,
                                              const SharedProgram &program) {
  constexpr uint64_t few = 3;
  train(program, few, "threads");
  Ended ended =
      trainProcesses(launcher, program,
                     "--steps " + std::to_string(few) + " --save " + folder +
                         "/processes --log " + folder + "/processes.jsonl");
  EXPECT_EQ(ended.status, 0) << ended.text;
  if (ended.status != 0)
    return ended.text;
  Outcome threads = outcomeOf("threads", 0),
          processes = outcomeOf("processes", 0);
  EXPECT_EQ(threads.losses.size(), few);
  EXPECT_EQ(threads.losses, processes.losses);
  EXPECT_EQ(threads.norms, processes.norms);
  auto files = filesOf("threads", few);
  EXPECT_GE(files.size(), 2U);
  EXPECT_TRUE(files == filesOf("processes", few));
  return ended.text;
}
