//===- ManyRanksCommandTest.cpp - One program, threads or processes -------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "runtime/program/file/ProgramFile.h"
#include "test/runtime/program/ProgramBuilder.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace hocket;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

struct Outcome {
  int status = -1;
  std::string text; ///< Standard output and error.
};

Outcome shell(const std::string &words) {
  Outcome outcome;
  std::FILE *pipe = ::popen(("(" + words + ") 2>&1").c_str(), "r");
  char buffer[4096];
  while (size_t got = std::fread(buffer, 1, sizeof(buffer), pipe))
    outcome.text.append(buffer, got);
  int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  // The lines of ten thousand validations are of no use to anybody.
  if (outcome.text.size() > 8192)
    outcome.text = outcome.text.substr(0, 1024) + "\n...\n" +
                   outcome.text.substr(outcome.text.size() - 7168);
  return outcome;
}

class ManyRanksCommand : public testing::Test {
protected:
  void SetUp() override {
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    folder = testing::TempDir() + "/hocket-many-" +
             testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder);
    fs::create_directories(folder);
    test::TinyModel sizes;
    sizes.vocabulary = 300;
    sizes.ranks = 3;
    program::Program program = test::tinyModel(sizes);
    program.mutable_training()->set_log_interval(1000000);
    program.mutable_training()->set_valid_interval(4);
    program.mutable_training()->set_valid_batches(2);
    program.mutable_training()->set_data_split("80,20,0");
    ASSERT_TRUE(writeProgram(program, folder + "/tiny.hkx").ok());
    std::string text;
    for (int line = 0; line < 400; ++line)
      text += "abcdefgh " + std::to_string(line) + "\n";
    for (int document = 0; document < 10; ++document)
      ASSERT_TRUE(writeFileAtomically(
                      folder + "/" + std::to_string(document) + ".txt", text)
                      .ok());
    Outcome prepared =
        shell(std::string(HOCKET_RUNTIME_PROGRAM) + " data prepare " + folder +
              "/*.txt -o " + folder + "/data --tokenizer byte --append-eod");
    ASSERT_EQ(prepared.status, 0) << prepared.text;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string train(const std::string &more) const {
    return std::string(HOCKET_RUNTIME_PROGRAM) + " train " + folder +
           "/tiny.hkx --data " + folder + "/data " + more;
  }
  static std::string mpirun(int ranks) {
    return "timeout 120 mpirun --oversubscribe --bind-to none -np " +
           std::to_string(ranks) + " ";
  }
  static bool hasMpi() {
#ifdef HOCKET_HAS_MPI
    return shell("mpirun --version").status == 0;
#else
    return false;
#endif
  }

  /// The log's lines without what differs from run to run.
  std::vector<nlohmann::json> log(const std::string &name) const {
    std::vector<nlohmann::json> lines;
    std::istringstream text(*readFile(folder + "/" + name, 1 << 20));
    for (std::string line; std::getline(text, line);) {
      lines.push_back(nlohmann::json::parse(line));
      for (const char *field :
           {"seconds", "tokens_per_second", "valid_seconds"})
        lines.back().erase(field);
    }
    return lines;
  }

  /// Every byte of the tensors' files of an iteration.
  std::string tensors(const std::string &dir) const {
    std::vector<std::string> paths;
    for (const auto &entry : fs::directory_iterator(folder + "/" + dir))
      if (entry.path().extension() == ".safetensors")
        paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    std::string all;
    for (const std::string &path : paths)
      all += fs::path(path).filename().string() + ":" +
             *readFile(path, 1 << 26) + "\n";
    return all;
  }

  /// Options of a training that goes on for ever, with a log.
  std::string forEver() const {
    return "--steps 300000 --log " + folder + "/forever";
  }
  /// A command that ends when that has taken a step, or after a minute. The
  /// ranks tell each other twice a second where they are: a while later none
  /// thinks another before its first step.
  std::string waitForStep() const {
    return "for i in $(seq 600); do [ -s " + folder +
           "/forever ] && break; sleep 0.1; done; sleep 3; ";
  }

  /// Trains under mpirun for ever; after a step something happens to rank 1.
  /// What was printed until all have ended.
  Outcome runInto(const std::string &signal) const {
    std::string script = folder + "/rank.sh";
    EXPECT_TRUE(writeFileAtomically(
                    script, "if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then\n"
                            "  self=$$\n  (" +
                                waitForStep() + "kill -" + signal +
                                " $self) > /dev/null 2>&1 &\nfi\nexec " +
                                train(forEver()) + "\n")
                    .ok());
    return shell(mpirun(3) + "sh " + script);
  }

  /// Trains as torchrun would start it: three processes and a few variables.
  /// `after` is done in the shell once all are started; the ranks' processes
  /// are $rank0, $rank1 and $rank2.
  Outcome torchrun(const std::string &options,
                   const std::string &after = "") const {
    std::string script = "export WORLD_SIZE=3 MASTER_ADDR=localhost ";
    script += "MASTER_PORT=" + std::to_string(20000 + getpid() % 20000);
    for (int rank = 0; rank < 3; ++rank) {
      std::string number = std::to_string(rank);
      script += "\nRANK=" + number + " timeout 100 " + train(options) + " &\n";
      script += "rank" + number + "=$!";
    }
    return shell(script + "\n" + after +
                 "\nfailed=0\nfor p in $rank0 $rank1 $rank2; do wait $p || "
                 "failed=$?; done\nexit $failed");
  }

  std::string folder;
};

} // namespace

TEST_F(ManyRanksCommand, TrainsAsThreads) {
  Outcome outcome = shell(
      train("--steps 8 --log " + folder + "/log --save " + folder + "/s"));
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("; rank 0 of 3, all threads of this "
                                      "process\n"));
  EXPECT_THAT(outcome.text, HasSubstr("iteration        8/       8 | "));
  EXPECT_EQ(log("log").size(), 10u) << "8 steps and 2 validations";
  Outcome resumed = shell(train("--steps 9 --load " + folder + "/s"));
  EXPECT_EQ(resumed.status, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("loaded step 8 from "));
}

TEST_F(ManyRanksCommand, TracesEveryInstructionOfEveryRank) {
  Outcome outcome = shell(train("--steps 3 --trace " + folder + "/trace.json"));
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  auto trace =
      nlohmann::json::parse(*readFile(folder + "/trace.json", 1 << 26));
  // Two microbatches, an update; nothing is validated before step 3, but then.
  std::map<int, std::vector<std::string>> runs;
  std::map<int, int> reductions;
  double end = 0;
  for (const auto &event : trace["traceEvents"]) {
    if (event["ph"] != "X")
      continue;
    int rank = event["pid"];
    if (event["cat"] == "sequence") {
      runs[rank].push_back(event["name"]);
      double begin = event["ts"];
      if (rank == 0) {
        EXPECT_GE(begin, end);
        end = begin + event["dur"].get<double>();
      }
    }
    if (event["cat"] == "communication")
      reductions[rank] +=
          event["args"]["instruction"].get<std::string>().starts_with(
              "all_reduce");
  }
  for (int rank : {0, 1, 2}) {
    ASSERT_GE(runs[rank].size(), 9u);
    EXPECT_EQ(
        std::vector<std::string>(runs[rank].begin(), runs[rank].begin() + 6),
        (std::vector<std::string>{"microbatch", "microbatch", "update",
                                  "microbatch", "microbatch", "update"}));
    EXPECT_GE(reductions[rank], 3 * 4);
  }
  EXPECT_EQ(runs[0], runs[2]);
  EXPECT_FALSE(fs::exists(folder + "/trace.json.rank1"));
}

TEST_F(ManyRanksCommand, ProcessesGiveTheBitsOfThreads) {
  if (!hasMpi())
    GTEST_SKIP() << "there is no MPI on this machine";
  std::string options = "--steps 8 --log " + folder + "/";
  Outcome threads = shell(train(options + "a --save " + folder + "/sa"));
  ASSERT_EQ(threads.status, 0) << threads.text;
  Outcome processes =
      shell(mpirun(3) + train(options + "b --save " + folder + "/sb"));
  ASSERT_EQ(processes.status, 0) << processes.text;
  EXPECT_THAT(processes.text,
              HasSubstr("; rank 0 of 3, a process each, by mpirun\n"));
  EXPECT_EQ(log("a"), log("b"));
  EXPECT_EQ(log("b").size(), 10u);
  std::string saved = tensors("sa/iter_0000008");
  EXPECT_GT(saved.size(), 300u * 8 * 4 * 4);
  EXPECT_TRUE(saved == tensors("sb/iter_0000008"));
  Outcome resumed =
      shell(mpirun(3) + train("--steps 9 --load " + folder + "/sa"));
  EXPECT_EQ(resumed.status, 0) << resumed.text;
}

TEST_F(ManyRanksCommand, AProcessTooFewIsSaid) {
  if (!hasMpi())
    GTEST_SKIP() << "there is no MPI on this machine";
  Outcome outcome = shell(mpirun(2) + train("--steps 1"));
  EXPECT_THAT(
      outcome.text,
      HasSubstr("hocket-runtime: the program is for 3 ranks (dp=3), mpirun "
                "has started 2 processes\n"));
  EXPECT_EQ(outcome.status, 2);
}

TEST_F(ManyRanksCommand, AMissingModuleIsSaid) {
  Outcome outcome = shell("HOCKET_MPI_MODULE=/none/mpi.so "
                          "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=3 " +
                          train("--steps 1"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text,
              HasSubstr("a launcher started this process, but the module for "
                        "MPI is missing (tried /none/mpi.so)"));
}

TEST_F(ManyRanksCommand, AProcessThatDiesEndsTheOthers) {
  if (!hasMpi())
    GTEST_SKIP() << "there is no MPI on this machine";
  Outcome outcome = runInto("KILL");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.text, HasSubstr(" waits for rank "));
  EXPECT_THAT(outcome.text,
              HasSubstr("hocket-runtime: rank 1 has died (process "));
  // Or between two steps: as they validate, or agree whether they go on.
  EXPECT_THAT(outcome.text,
              AnyOf(AllOf(HasSubstr(" instruction"),
                          AnyOf(HasSubstr("\n  step "),
                                HasSubstr(", sequence 'eval', "))),
                    HasSubstr("in group 'world'")));
  EXPECT_THAT(outcome.text, HasSubstr("in group '"));
}

TEST_F(ManyRanksCommand, AProcessThatHangsEndsTheOthers) {
  if (!hasMpi())
    GTEST_SKIP() << "there is no MPI on this machine";
  auto start = std::chrono::steady_clock::now();
  Outcome outcome = runInto("STOP");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.text,
              HasSubstr("hocket-runtime: rank 1 has given no sign of life "));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST_F(ManyRanksCommand, SocketsGiveTheBitsOfThreads) {
  std::string options = "--steps 8 --log " + folder + "/";
  Outcome threads = shell(train(options + "a --save " + folder + "/sa"));
  ASSERT_EQ(threads.status, 0) << threads.text;
  Outcome processes = torchrun(options + "b --save " + folder + "/sb");
  ASSERT_EQ(processes.status, 0) << processes.text;
  EXPECT_THAT(processes.text,
              HasSubstr("; rank 0 of 3, a process each, by torchrun\n"));
  EXPECT_EQ(log("a"), log("b"));
  EXPECT_TRUE(tensors("sa/iter_0000008") == tensors("sb/iter_0000008"));
}

TEST_F(ManyRanksCommand, ProcessesGoOnTogetherFromTheNewest) {
  std::string options = "--save " + folder + "/s --resume auto --steps ";
  for (const char *steps : {"4", "6"}) {
    Outcome outcome = torchrun(options + steps);
    ASSERT_EQ(outcome.status, 0) << outcome.text;
    EXPECT_EQ(outcome.text.find("loaded step 4 from ") != std::string::npos,
              std::string(steps) == "6")
        << outcome.text;
  }
  ASSERT_EQ(shell(train("--steps 6 --save " + folder + "/whole")).status, 0);
  EXPECT_TRUE(tensors("s/iter_0000006") == tensors("whole/iter_0000006"));
  Outcome refused = torchrun("--save " + folder + "/s --steps 2");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.text, HasSubstr("rank 0: " + folder +
                                      "/s holds step 6; go on with --load "));
}

TEST_F(ManyRanksCommand, AnErrorOfAProcessEndsTheOthers) {
  // The log is rank 0's alone; the folder is not there.
  Outcome outcome = torchrun("--steps 300000 --log " + folder + "/none/log");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.text, HasSubstr("/none/log: cannot write the log"));
  EXPECT_THAT(outcome.text, HasSubstr(" waits for rank 0"));
}

TEST_F(ManyRanksCommand, AConnectionThatIsLostEndsTheOthers) {
  // timeout's child is the rank.
  Outcome outcome =
      torchrun(forEver(), waitForStep() + "kill -KILL $(pgrep -P $rank1)");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.text, HasSubstr(" instruction"));
  EXPECT_THAT(outcome.text, HasSubstr(" waits for rank 1"));
}
