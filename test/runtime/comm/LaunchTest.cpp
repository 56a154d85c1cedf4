//===- LaunchTest.cpp - What launchers say in the environment -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/process/Launch.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <map>

using namespace hocket;
using namespace hocket::comm;
using Variables = std::map<std::string, std::string>;

/// detectLaunch() where exactly these of the known variables are set.
static StatusOr<std::optional<Launch>> detect(const Variables &variables) {
  for (const char *name : {"OMPI_COMM_WORLD_RANK",
                           "OMPI_COMM_WORLD_SIZE",
                           "OMPI_COMM_WORLD_LOCAL_SIZE",
                           "SLURM_PROCID",
                           "SLURM_STEP_NUM_TASKS",
                           "PMIX_RANK",
                           "SLURM_MPI_TYPE",
                           "TORCHELASTIC_RUN_ID",
                           "TORCHELASTIC_USE_AGENT_STORE",
                           "SLURM_JOB_ID",
                           "SLURM_HET_SIZE",
                           "PMI_RANK",
                           "PMI_SIZE",
                           "RANK",
                           "WORLD_SIZE",
                           "LOCAL_WORLD_SIZE",
                           "MASTER_ADDR",
                           "MASTER_PORT",
                           "SLURM_STEP_TASKS_PER_NODE",
                           "PMI_LOCAL_SIZE",
                           "OMPI_COMM_WORLD_LOCAL_RANK",
                           "SLURM_LOCALID",
                           "PMI_LOCAL_RANK",
                           "LOCAL_RANK"})
    ::unsetenv(name);
  for (const auto &[name, value] : variables)
    ::setenv(name.c_str(), value.c_str(), 1);
  return detectLaunch();
}

TEST(Launch, NobodyHasStartedThisProcess) {
  auto launch = detect({});
  ASSERT_TRUE(launch.ok());
  EXPECT_FALSE(launch->has_value());
  launch = detect({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  ASSERT_TRUE(launch.ok());
  EXPECT_FALSE(launch->has_value()) << "torchrun names a master too";
  launch =
      detect({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}});
  ASSERT_TRUE(launch.ok());
  EXPECT_FALSE(launch->has_value()) << "one process is no world";
}

TEST(Launch, KnowsTheLaunchers) {
  auto launch = detect({{"OMPI_COMM_WORLD_RANK", "3"},
                        {"OMPI_COMM_WORLD_SIZE", "8"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}});
  ASSERT_TRUE(launch.ok() && *launch);
  EXPECT_EQ((*launch)->localRank, 2u);
  EXPECT_EQ((*launch)->launcher, "mpirun");
  EXPECT_EQ((*launch)->rank, 3u);
  EXPECT_EQ((*launch)->size, 8u);
  EXPECT_EQ((*launch)->localSize, 4u);
  EXPECT_TRUE((*launch)->usesMpi);

  launch = detect({{"SLURM_PROCID", "5"},
                   {"SLURM_STEP_NUM_TASKS", "6"},
                   {"SLURM_STEP_TASKS_PER_NODE", "3(x2)"},
                   {"PMIX_RANK", "5"}});
  ASSERT_TRUE(launch.ok() && *launch);
  EXPECT_EQ((*launch)->localRank, 2u) << "rank 5 of machines of 3";
  EXPECT_EQ((*launch)->launcher, "srun");
  EXPECT_EQ((*launch)->rank, 5u);
  EXPECT_EQ((*launch)->localSize, 3u);

  launch = detect({{"RANK", "1"},
                   {"WORLD_SIZE", "2"},
                   {"MASTER_ADDR", "node0"},
                   {"MASTER_PORT", "29500"}});
  ASSERT_TRUE(launch.ok() && *launch);
  EXPECT_EQ((*launch)->launcher, "torchrun");
  EXPECT_FALSE((*launch)->usesMpi);
  EXPECT_EQ((*launch)->address, "node0");
  EXPECT_EQ((*launch)->port, 29500);
}

TEST(Launch, KnowsTorchrunsStoreAndRun) {
  Variables torchrun = {{"RANK", "1"},
                        {"WORLD_SIZE", "2"},
                        {"MASTER_ADDR", "node0"},
                        {"MASTER_PORT", "29500"},
                        {"TORCHELASTIC_RUN_ID", "5e1c"},
                        {"TORCHELASTIC_RESTART_COUNT", "3"},
                        {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                        {"SLURM_JOB_ID", "1234"}};
  auto launch = detect(torchrun);
  ASSERT_TRUE(launch.ok() && *launch);
  EXPECT_TRUE((*launch)->hasAgentStore);
  EXPECT_EQ((*launch)->runId, "torchrun's run 5e1c");
  torchrun["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  torchrun.erase("TORCHELASTIC_RUN_ID"); // Variables that were set by hand.
  launch = detect(torchrun);
  ASSERT_TRUE(launch.ok() && *launch);
  EXPECT_FALSE((*launch)->hasAgentStore);
  EXPECT_EQ((*launch)->runId, "Slurm's job 1234");
}

TEST(Launch, TheInnerOfTwoCounts) {
  Variables srun = {{"SLURM_PROCID", "1"},
                    {"SLURM_STEP_NUM_TASKS", "2"},
                    {"SLURM_MPI_TYPE", "pmix"}};
  Variables mpirun = {{"OMPI_COMM_WORLD_RANK", "1"},
                      {"OMPI_COMM_WORLD_SIZE", "2"}};
  Variables inner = {{"RANK", "11"},
                     {"WORLD_SIZE", "16"},
                     {"LOCAL_RANK", "3"},
                     {"MASTER_ADDR", "node0"},
                     {"MASTER_PORT", "29500"}};
  Variables torchrun = inner;
  torchrun["TORCHELASTIC_RUN_ID"] = "none";
  auto both = [](Variables a, const Variables &b) {
    a.insert(b.begin(), b.end());
    return detect(a);
  };
  for (const auto &launch :
       {both(srun, inner), both(srun, torchrun), both(mpirun, torchrun)}) {
    ASSERT_TRUE(launch.ok() && *launch);
    EXPECT_EQ((*launch)->launcher, "torchrun");
    EXPECT_EQ((*launch)->rank, 11u);
    EXPECT_EQ((*launch)->localRank, 3u);
  }
  // A pod's own variables, perhaps.
  auto launch = both(mpirun, inner);
  ASSERT_TRUE(launch.ok() && *launch);
  EXPECT_EQ((*launch)->launcher, "mpirun");
}

TEST(Launch, RefusesProcessesThatCannotJoin) {
  Variables srun = {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}};
  EXPECT_EQ(detect(srun).status().message(),
            "srun has started 4 processes without MPI: start them by `srun "
            "--mpi=pmix` (`srun --mpi=list` says what there is), or give each "
            "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT");
  srun["SLURM_STEP_NUM_TASKS"] = "1"; // A batch script, or a shell of salloc.
  auto launch = detect(srun);
  ASSERT_TRUE(launch.ok());
  EXPECT_FALSE(launch->has_value());
}

TEST(Launch, RefusesNonsense) {
  EXPECT_EQ(
      detect({{"OMPI_COMM_WORLD_RANK", "8"}, {"OMPI_COMM_WORLD_SIZE", "8"}})
          .status()
          .message(),
      "OMPI_COMM_WORLD_RANK is '8', expected a number below 8");
  EXPECT_EQ(detect({{"PMI_RANK", "0"}, {"PMI_SIZE", "two"}}).status().message(),
            "PMI_SIZE is 'two', expected a number from 1 to 2^20");
  EXPECT_EQ(detect({{"RANK", "0"},
                    {"WORLD_SIZE", "2"},
                    {"MASTER_ADDR", "a"},
                    {"MASTER_PORT", "70000"}})
                .status()
                .message(),
            "MASTER_PORT is '70000', expected a port");
  EXPECT_EQ(detect({{"RANK", "0"},
                    {"WORLD_SIZE", "2"},
                    {"TORCHELASTIC_RUN_ID", "none"},
                    {"MASTER_PORT", "29500"}})
                .status()
                .message(),
            "MASTER_ADDR is '', expected the host of rank 0");
}
