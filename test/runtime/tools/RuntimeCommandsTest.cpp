//===- RuntimeCommandsTest.cpp - hocket-runtime, as a user calls it -------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "base/ResultCache.h"
#include "runtime/program/NativeOrigin.h"
#include "runtime/program/file/ProgramFile.h"
#include "test/runtime/program/ProgramBuilder.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <sys/wait.h>

using namespace hocket;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
namespace fs = std::filesystem;

namespace {

struct Outcome {
  int status = -1;
  std::string text; ///< Standard output and error.
};

/// Runs `words` in a shell.
Outcome shell(const std::string &words) {
  Outcome outcome;
  std::FILE *pipe = ::popen((words + " 2>&1").c_str(), "r");
  char buffer[4096];
  while (size_t got = std::fread(buffer, 1, sizeof(buffer), pipe))
    outcome.text.append(buffer, got);
  int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return outcome;
}

Outcome hocketRuntime(const std::string &words) {
  return shell(std::string(HOCKET_RUNTIME_PROGRAM) + " " + words);
}

class RuntimeCommands : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "/hocket-tools-" +
             testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder);
    fs::create_directories(folder);
    test::TinyModel sizes;
    sizes.vocabulary = 300;
    program = test::tinyModel(sizes);
    hkx = folder + "/tiny.hkx";
    ASSERT_TRUE(writeProgram(program, hkx).ok());
  }
  void TearDown() override { fs::remove_all(folder); }

  /// Token files of a repetitive text; returns the prefix.
  std::string prepareData() {
    for (int document = 0; document < 20; ++document) {
      std::string text;
      for (int line = 0; line < 20; ++line)
        text += "abcdefgh " + std::to_string(document) + "\n";
      std::string name = folder + "/" + std::to_string(document) + ".txt";
      EXPECT_TRUE(writeFileAtomically(name, text).ok());
    }
    Outcome outcome =
        hocketRuntime("data prepare " + folder + "/*.txt -o " + folder +
                      "/data --tokenizer byte "
                      "--append-eod");
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    return folder + "/data";
  }

  std::vector<nlohmann::json> log(const std::string &name) const {
    std::vector<nlohmann::json> lines;
    std::istringstream text(*readFile(folder + "/" + name, 1 << 20));
    for (std::string line; std::getline(text, line);)
      lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

  std::string folder, hkx;
  program::Program program;
};

} // namespace

TEST_F(RuntimeCommands, TrainsSavesAndResumesBitByBit) {
  std::string data = prepareData(), at = folder + "/";
  std::string train = "train " + hkx + " --data " + data;
  Outcome whole = hocketRuntime(train + " --steps 8 --log " + at + "whole");
  ASSERT_EQ(whole.status, 0) << whole.text;
  EXPECT_THAT(whole.text, HasSubstr("tiny: "));
  EXPECT_THAT(whole.text, HasSubstr("iteration        8/       8 | "));
  // Two steps of the sample order are those of a run of eight only if the run
  // is planned for eight: the first half is a run that is interrupted.
  std::string setting = at + "save";
  program.mutable_training()->set_save_interval(3);
  program.mutable_training()->set_steps(8);
  ASSERT_TRUE(writeProgram(program, hkx).ok());
  Outcome first = hocketRuntime(train + " --save " + setting);
  ASSERT_EQ(first.status, 0) << first.text;
  Outcome second = hocketRuntime(train + " --load " + setting +
                                 "/iter_0000003 --log " + at + "second");
  ASSERT_EQ(second.status, 0) << second.text;
  EXPECT_THAT(second.text, HasSubstr("loaded step 3 from "));
  auto a = log("whole"), b = log("second");
  ASSERT_EQ(a.size(), 8u);
  ASSERT_EQ(b.size(), 5u);
  for (size_t i = 0; i < 5; ++i)
    for (const char *field : {"step", "loss", "grad_norm", "lr"})
      EXPECT_EQ(b[i][field], a[i + 3][field]) << field;
  EXPECT_NEAR(a[0]["loss"].get<double>(), std::log(300.0), 0.1);
  Outcome done = hocketRuntime(train + " --steps 2 --load " + setting);
  EXPECT_EQ(done.status, 0) << done.text;
  EXPECT_THAT(done.text, HasSubstr("nothing to train: 2 steps in all were "
                                   "asked for; --steps 9 goes on"));
}

TEST_F(RuntimeCommands, TrainSaysWhatIsMissing) {
  Outcome outcome = hocketRuntime("train " + hkx);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.text,
            "hocket-runtime: training wants --data PREFIX (made by `hocket "
            "data prepare`), training.data.train in its specification, or "
            "--mock-data\n");
  outcome = hocketRuntime("train " + hkx + " --data " + folder + "/none");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text, HasSubstr(folder + "/none"));
  outcome = hocketRuntime("train " + folder + "/none.hkx --data x");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.text, "hocket-runtime: " + folder +
                              "/none.hkx: cannot open: No such file or "
                              "directory\n");
  outcome = hocketRuntime("train " + hkx + " --data x --seed 4294967296");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.text, "hocket-runtime: the seed must be below 2^32\n");
  outcome =
      hocketRuntime("train " + hkx + " --steps 0 --log " + folder + "/no/log");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text,
              HasSubstr("/no/log: cannot write the log: No such file"));
}

// Another program may write the file anew while it is in use.
TEST_F(RuntimeCommands, ATokenFileThatIsCutShortEndsARunThatIsSaved) {
  std::string prefix = prepareData() + "_text_document.bin";
  program.mutable_training()->set_log_interval(1);
  ASSERT_TRUE(writeProgram(program, hkx).ok());
  std::FILE *pipe = ::popen(
      (std::string(HOCKET_RUNTIME_PROGRAM) + " train " + hkx + " --data " +
       folder + "/data --steps 300000 --save " + folder + "/save 2>&1")
          .c_str(),
      "r");
  ASSERT_TRUE(pipe);
  std::string last;
  for (char line[1024]; std::fgets(line, sizeof(line), pipe);) {
    if (!last.starts_with("iteration") && fs::file_size(prefix) > 9)
      if (std::string(line).starts_with("iteration"))
        fs::resize_file(prefix, 9);
    last = line;
  }
  int status = ::pclose(pipe);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_THAT(last, StartsWith("hocket-runtime: step "));
  EXPECT_THAT(last, HasSubstr(prefix + ": there is no byte "));
  EXPECT_THAT(last, HasSubstr(" the file has 9 bytes now; it had "));
  EXPECT_THAT(last, HasSubstr(" is saved in " + folder + "/save\n"));
  EXPECT_TRUE(fs::exists(folder + "/save/latest_checkpointed_iteration.txt"));
}

TEST_F(RuntimeCommands, AFullLogDoesNotEndARun) {
  Outcome outcome =
      hocketRuntime("train " + hkx + " --data " + prepareData() +
                    " --steps 3 --log /dev/full --save " + folder + "/save");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text,
              HasSubstr("warning: /dev/full: cannot write the log: No space "
                        "left on device; training goes on\n"));
  EXPECT_THAT(outcome.text, HasSubstr("warning: 3 lines of the log could not "
                                      "be written: "));
  EXPECT_TRUE(fs::exists(folder + "/save/iter_0000003"));
}

TEST_F(RuntimeCommands, AFullStandardOutputIsAnError) {
  std::string data = prepareData();
  for (const std::string &words :
       {"inspect " + hkx, "inspect --json " + hkx, "inspect --program " + hkx,
        "verify " + hkx, "verify --json " + hkx, "explain " + hkx,
        std::string("doctor --json"), std::string("train --help"),
        "data prepare --json " + folder + "/0.txt -o " + folder + "/other"}) {
    Outcome outcome = shell("(" + std::string(HOCKET_RUNTIME_PROGRAM) + " " +
                            words + " >/dev/full)");
    EXPECT_EQ(outcome.status, 1) << words;
    EXPECT_THAT(outcome.text, HasSubstr("standard output could not be written"))
        << words;
  }
  // A run goes on; what it saves is worth more than what it says.
  Outcome outcome = shell("(" + std::string(HOCKET_RUNTIME_PROGRAM) +
                          " train " + hkx + " --data " + data +
                          " --steps 3 --save " + folder + "/save >/dev/full)");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(fs::exists(folder + "/save/iter_0000003")) << outcome.text;
  // So it does where the reader of a pipe has gone.
  outcome = shell("(" + std::string(HOCKET_RUNTIME_PROGRAM) + " train " + hkx +
                  " --data " + data + " --steps 300 --save " + folder +
                  "/piped | head -n 1)");
  EXPECT_TRUE(fs::exists(folder + "/piped/iter_0000300")) << outcome.text;
}

TEST_F(RuntimeCommands, ZeroStepsSaveTheFirstWeightsOfASeed) {
  std::string at = folder + "/";
  for (const char *run : {"a --seed 5", "b --seed 5", "c --seed 6"}) {
    Outcome outcome =
        hocketRuntime("train " + hkx + " --steps 0 --save " + at + run);
    ASSERT_EQ(outcome.status, 0) << outcome.text;
  }
  auto weights = [&](const char *run) {
    auto bytes =
        readFile(at + run + "/iter_0000000/model.safetensors", 1 << 20);
    EXPECT_TRUE(bytes.ok()) << bytes.status().message();
    return *bytes;
  };
  EXPECT_EQ(weights("a"), weights("b"));
  EXPECT_NE(weights("a"), weights("c"));
}

TEST_F(RuntimeCommands, ARunKeepsItsSeed) {
  std::string train = "train " + hkx + " --data " + prepareData();
  ASSERT_EQ(hocketRuntime(train + " --steps 1 --save " + folder + "/s").status,
            0);
  Outcome outcome =
      hocketRuntime(train + " --steps 2 --seed 9 --load " + folder + "/s");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text,
              HasSubstr("was trained with seed 1234, --seed says 9; a run "
                        "keeps its seed"));
}

TEST_F(RuntimeCommands, NothingThatWasSavedIsLost) {
  std::string save = folder + "/run", log = folder + "/log";
  std::string train = "train " + hkx + " --data " + prepareData();
  std::string kept = train + " --save " + save + " --log " + log;
  ASSERT_EQ(hocketRuntime(kept + " --steps 4").status, 0);
  Outcome again = hocketRuntime(kept + " --steps 2");
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.text, HasSubstr(save + " holds step 4; go on with --load " +
                                    save + ", or start over with --overwrite"));
  Outcome logged = hocketRuntime(train + " --steps 2 --log " + log);
  EXPECT_EQ(logged.status, 2);
  EXPECT_THAT(logged.text,
              HasSubstr(log + ": holds the log of another run, to step 4; "));
  EXPECT_EQ(this->log("log").size(), 4u);
  Outcome resumed = hocketRuntime(kept + " --steps 6 --resume auto");
  EXPECT_EQ(resumed.status, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("loaded step 4 from "));
  EXPECT_EQ(this->log("log").size(), 6u);
  Outcome over = hocketRuntime(kept + " --steps 3 --overwrite");
  EXPECT_EQ(over.status, 0) << over.text;
  EXPECT_THAT(over.text, HasSubstr(save + " holds step 6; --overwrite: 2 "));
  EXPECT_EQ(this->log("log").size(), 3u);
  EXPECT_TRUE(fs::exists(save + "/iter_0000003"));
  EXPECT_FALSE(fs::exists(save + "/iter_0000006"));
}

TEST_F(RuntimeCommands, AQueuedJobStartsNewAndThenGoesOn) {
  std::string job = "train " + hkx + " --data " + prepareData() + " --save " +
                    folder +
                    "/a/run --resume auto --keep 1 --async-save --log " +
                    folder + "/log --steps ";
  Outcome first = hocketRuntime(job + "2");
  EXPECT_EQ(first.status, 0) << first.text;
  EXPECT_THAT(first.text, Not(HasSubstr("loaded step")));
  Outcome second = hocketRuntime(job + "5");
  EXPECT_EQ(second.status, 0) << second.text;
  EXPECT_THAT(second.text, HasSubstr("loaded step 2 from "));
  EXPECT_FALSE(fs::exists(folder + "/a/run/iter_0000002"));
  EXPECT_TRUE(fs::exists(folder + "/a/run/iter_0000005"));
  for (const char *words : {"--resume auto", "--keep 2", "--async-save",
                            "--overwrite", "--save x --resume auto --overwrite",
                            "--save x --resume never", "--save x --keep 0"})
    EXPECT_EQ(hocketRuntime("train " + hkx + " --data x " + words).status, 2)
        << words;
}

TEST_F(RuntimeCommands, WhereNothingCanBeSavedNothingIsTrained) {
  Outcome outcome = hocketRuntime("train " + hkx + " --save /proc/run --data " +
                                  prepareData());
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text, HasSubstr("/proc/run: cannot make the folder"));
  EXPECT_THAT(outcome.text, Not(HasSubstr("iteration")));
}

TEST_F(RuntimeCommands, TwoRunsDoNotSaveInOneFolder) {
  std::string run = "train " + hkx + " --data " + prepareData() + " --save " +
                    folder + "/run --resume auto --steps ";
  std::string program = HOCKET_RUNTIME_PROGRAM " ";
  Outcome both =
      shell("(" + program + run + "1000000 > " + folder + "/first &\n" +
            "first=$!\nfor i in $(seq 300); do grep -q iteration " + folder +
            "/first && break; sleep 0.1; done\n" + program + run +
            "5\nstatus=$?\necho first $first\nkill -KILL $first\n"
            "wait $first\nexit $status)");
  EXPECT_EQ(both.status, 1);
  size_t at = both.text.rfind("first ");
  ASSERT_NE(at, std::string::npos) << both.text;
  int first = std::atoi(both.text.c_str() + at + 6);
  EXPECT_THAT(both.text, HasSubstr("/run: another run saves here (process " +
                                   std::to_string(first) + " on host "));
  // The lock has died with its process.
  Outcome after = hocketRuntime(run + "5");
  EXPECT_EQ(after.status, 0) << after.text;
}

TEST_F(RuntimeCommands, SaysBeforeTheFirstStepWhatWillSurprise) {
  auto &rate = *program.mutable_training()->mutable_learning_rate();
  rate.set_schedule("cosine");
  rate.set_decay_steps(4);
  ASSERT_TRUE(writeProgram(program, hkx).ok());
  std::string train = "train " + hkx + " --data " + prepareData();
  Outcome outcome = hocketRuntime(train + " --steps 6");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  size_t step = outcome.text.find("iteration        1/");
  EXPECT_LT(outcome.text.find("nothing of this run will be kept: there is no "
                              "--save\n"),
            step);
  EXPECT_LT(outcome.text.find("steps 5 to 6 train at learning rate 0: its "
                              "decay ends after step 4."),
            step);
  // No terminal, no control character.
  EXPECT_EQ(outcome.text.find_first_of("\r\x1b"), std::string::npos);
  std::string save = folder + "/run";
  outcome = hocketRuntime(train + " --steps 4 --save " + save);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text, Not(HasSubstr("learning rate 0")));
  EXPECT_THAT(outcome.text, Not(HasSubstr("will be kept")));
  outcome =
      hocketRuntime(train + " --steps 4 --load " + save + " --save " + save);
  EXPECT_THAT(outcome.text,
              HasSubstr("nothing to train: 4 steps in all were asked for; "
                        "further ones would train at learning rate 0, the end "
                        "of its decay. "));
  EXPECT_THAT(outcome.text, Not(HasSubstr("saved step")));
  outcome = hocketRuntime(train + " --steps 4 --load " + save + " --save " +
                          save + "2");
  EXPECT_THAT(outcome.text, HasSubstr("saved step 4 in " + save + "2"));
}

TEST_F(RuntimeCommands, TokensOutsideTheVocabularyAreFoundBeforeTraining) {
  test::TinyModel sizes;
  sizes.vocabulary = 100;
  ASSERT_TRUE(writeProgram(test::tinyModel(sizes), hkx).ok());
  Outcome outcome =
      hocketRuntime("train " + hkx + " --data " + prepareData() + " --save " +
                    folder + "/run --log " + folder + "/log");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text,
              HasSubstr(folder + "/data_text_document.bin: sequence "));
  EXPECT_THAT(outcome.text, HasSubstr(": token 256 is outside the vocabulary "
                                      "of 100 entries."));
  EXPECT_THAT(outcome.text, HasSubstr("model.vocab_size: 257 or more"));
  EXPECT_FALSE(fs::exists(folder + "/run"));
  EXPECT_FALSE(fs::exists(folder + "/log"));
}

TEST_F(RuntimeCommands, ProfilesInstructions) {
  Outcome outcome = hocketRuntime("train " + hkx +
                                  " --profile --steps 2 "
                                  "--data " +
                                  prepareData());
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("gemm 16 x 300 x 8 f32 B^T -> f32"));
  EXPECT_THAT(outcome.text, HasSubstr("library cross_entropy_forward 1 16"));
  EXPECT_THAT(outcome.text, HasSubstr("launch momentumUpdate"));
}

TEST_F(RuntimeCommands, VerifiesAndGivesReasons) {
  Outcome sound = hocketRuntime("verify " + hkx);
  EXPECT_EQ(sound.status, 0);
  EXPECT_EQ(sound.text, hkx + ": sound (the program; its native code can still "
                              "do whatever you can, and is not checked)\n");

  program.mutable_roles(0)->mutable_buffers(3)->set_offset(4);
  program.mutable_kernels(0)->set_module(7);
  ASSERT_TRUE(writeProgram(program, hkx).ok());
  Outcome unsound = hocketRuntime("verify " + hkx);
  EXPECT_EQ(unsound.status, 1);
  EXPECT_EQ(
      unsound.text,
      "V4: kernel 0 'momentumUpdate': names module 7, there are 1; the file "
      "is not what the compiler writes: compile the model again\n"
      "V10: rank 0, role 0 'all', buffer 3 'w.momentum': offset 4 is not a "
      "multiple of the alignment 64; give the buffer an aligned range "
      "of its size inside the arena\n"
      "hocket-runtime: " +
          hkx + ": not sound, 2 reasons\n");
  Outcome json = hocketRuntime("verify " + hkx + " --json 2>/dev/null");
  EXPECT_EQ(json.status, 1);
  auto parsed =
      nlohmann::json::parse(json.text.substr(0, json.text.find('\n')));
  EXPECT_EQ(parsed["sound"], false);
  EXPECT_EQ(parsed["reasons"].size(), 2u);
  // Nothing else runs it either.
  EXPECT_EQ(hocketRuntime("inspect " + hkx).status, 2);
}

// What no compiler of this user's noted is named before it runs, and refused if
// asked.
TEST_F(RuntimeCommands, SaysWhoseNativeCodeItRuns) {
  std::string cache = folder + "/cache";
  ASSERT_EQ(::setenv("HOCKET_CACHE", cache.c_str(), 1), 0);
  std::string train = "train " + hkx + " --steps 1 --data " + prepareData();
  Outcome foreign = hocketRuntime(train);
  EXPECT_EQ(foreign.status, 0) << foreign.text;
  EXPECT_THAT(foreign.text, HasSubstr("native code of " + hkx +
                                      " was not compiled by you on this "
                                      "machine"));
  Outcome refused = hocketRuntime(train + " --no-native");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.text, HasSubstr("--no-native"));
  ASSERT_TRUE(noteNativeCode(program).ok());
  Outcome own = hocketRuntime(train + " --no-native");
  EXPECT_EQ(own.status, 0) << own.text;
  EXPECT_THAT(own.text, testing::Not(HasSubstr("was not compiled")));
  ::unsetenv("HOCKET_CACHE");
}

TEST_F(RuntimeCommands, VerifiesDamage) {
  std::string bytes = *readFile(hkx, 1 << 26);
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_TRUE(writeFileAtomically(hkx, bytes).ok());
  Outcome outcome = hocketRuntime("verify " + hkx);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text,
              StartsWith(hkx + ": is damaged: its content does not match its "
                               "SHA-256\n"));
  EXPECT_EQ(hocketRuntime("verify " + folder + "/none").status, 2);
}

TEST_F(RuntimeCommands, InspectsForPeople) {
  Outcome outcome = hocketRuntime("inspect " + hkx + " --program");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  for (const char *part :
       {"model          tiny", "Parameters: 4,800 in 2 tensors",
        "embed        [300, 8]  f32      2,400  normal 0.1",
        "Memory of role 'all': ", "Kernels: 1 in 1 module\n",
        "entry train_step: microbatch(0) microbatch(1) update(0)",
        "3  gemm %10 = %9 x %2^T [16 x 300 x 8]", "host output grad_norm"})
    EXPECT_THAT(outcome.text, HasSubstr(part));
  EXPECT_THAT(hocketRuntime("inspect " + hkx).text,
              Not(HasSubstr("gemm %10 =")));
}

TEST_F(RuntimeCommands, InspectsForPrograms) {
  Outcome outcome = hocketRuntime("inspect " + hkx + " --json");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  auto json = nlohmann::json::parse(outcome.text);
  EXPECT_EQ(json["model"], "tiny");
  EXPECT_EQ(json["parameters"][0]["shape"], (std::vector<int>{300, 8}));
  EXPECT_EQ(json["parameters"][0]["slots"][0]["name"], "momentum");
  EXPECT_EQ(json["memory"][0]["arena_bytes"],
            program.roles(0).memory().arena_bytes());
  EXPECT_EQ(json["kernels"][0]["name"], "momentumUpdate");
  EXPECT_EQ(json["roles"][0]["sequences"][0]["instructions"].size(), 10u);
  EXPECT_EQ(json["roles"][0]["sequences"][0]["instructions"][3]["flops"],
            2.0 * 16 * 300 * 8);
  EXPECT_EQ(json["roles"][0]["entries"]["train_step"].size(), 3u);
}

TEST_F(RuntimeCommands, TheDoctorLooksAround) {
  Outcome outcome = hocketRuntime("doctor --json");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  std::set<std::string> names;
  for (const auto &finding : nlohmann::json::parse(outcome.text))
    names.insert(finding["name"].get<std::string>());
  for (const char *name : {"processor", "AVX-512", "threads", "memory", "cache",
                           "CUDA driver", "NCCL", "MPI library"})
    EXPECT_TRUE(names.count(name)) << name;
  std::string cache = folder + "/doctors-cache";
  std::string with = "HOCKET_CACHE=" + cache + " HOCKET_CACHE_SIZE=";
  std::string doctor = std::string(" ") + HOCKET_RUNTIME_PROGRAM + " doctor";
  EXPECT_THAT(shell(with + "3GiB" + doctor).text,
              HasSubstr(cache + ": 0 B in 0 files, at most 3.00 GiB "
                                "(HOCKET_CACHE, HOCKET_CACHE_SIZE)"));
  ASSERT_TRUE(ResultCache::open(cache)->store("key", "result").ok());
  // The result, and the lock of those who would remove some.
  EXPECT_THAT(shell(with + "0" + doctor).text,
              HasSubstr(cache + ": 4.00 KiB in 2 files, without a limit"));
  Outcome wrong = shell(with + "much" + doctor);
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.text, HasSubstr("hocket-runtime: HOCKET_CACHE_SIZE is "
                                    "'much', expected a size such as 4GiB"));
  EXPECT_THAT(hocketRuntime("doctor").text,
              HasSubstr("instruction set in use"));
  Outcome bad = shell(std::string("HOCKET_CPU_ISA=mmx ") +
                      HOCKET_RUNTIME_PROGRAM + " doctor");
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.text, HasSubstr("HOCKET_CPU_ISA is 'mmx', expected avx2, "
                                  "avx512, avx512_bf16 or amx"));
}

TEST_F(RuntimeCommands, WrongCommandLinesExitWithTwo) {
  for (const char *words : {"", "dance", "train", "train --steps x y",
                            "inspect", "verify", "inspect a b", "--nope"}) {
    Outcome outcome = hocketRuntime(words);
    EXPECT_EQ(outcome.status, 2) << words;
    EXPECT_FALSE(outcome.text.empty()) << words;
  }
}

TEST_F(RuntimeCommands, EveryCommandHasHelpWithAnExample) {
  for (const char *command :
       {"train", "inspect", "verify", "doctor", "data prepare"}) {
    Outcome outcome = hocketRuntime(std::string(command) + " --help");
    EXPECT_EQ(outcome.status, 0) << command;
    EXPECT_THAT(outcome.text, HasSubstr("Example:\n  hocket ")) << command;
  }
}

// A machine that only trains needs no compiler.
TEST_F(RuntimeCommands, LinksNoCompiler) {
  Outcome outcome = shell(std::string("ldd ") + HOCKET_RUNTIME_PROGRAM);
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("libprotobuf"));
  EXPECT_THAT(outcome.text, Not(HasSubstr("LLVM")));
  EXPECT_THAT(outcome.text, Not(HasSubstr("MLIR")));
}
