//===- ManyRanksTest.cpp - Hand-built programs on many ranks --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/ProgramGroups.h"
#include "runtime/hal/drivers/Drivers.h"
#include "runtime/program/check/ProgramCheck.h"
#include "runtime/train/LocalRanks.h"
#include "runtime/train/Trainer.h"
#include "runtime/train/step/RankAgreement.h"
#include "runtime/train/values/Initialize.h"
#include "runtime/train/values/RankSlice.h"
#include "runtime/train/values/RunCheckpoint.h"
#include "runtime/train/values/RunSave.h"
#include "test/runtime/program/ProgramBuilder.h"
#include "test/runtime/train/CountingSamples.h"

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <future>
#include <gtest/gtest.h>
#include <thread>

using namespace hocket;
using program::Program;
using test::CountingSamples;
namespace fs = std::filesystem;

namespace {

using Body = std::function<Status(Executor &)>;

/// Calls `body` as every rank of the program, with first values.
Status runRanks(const Program &program, const Body &body,
                double hangSeconds = 30) {
  HOCKET_RETURN_IF_ERROR(checkProgram(program));
  auto shared = std::make_shared<const Program>(program);
  return runLocalRanks(
      groupTableOf(program), {hangSeconds},
      [shared, body](comm::CommunicatorSet &communicators) -> Status {
        HOCKET_ASSIGN_OR_RETURN(auto device,
                                hal::createDevice("cpu", {.threads = 1}));
        HOCKET_ASSIGN_OR_RETURN(
            auto executor,
            Executor::create(shared, std::move(device), communicators));
        HOCKET_RETURN_IF_ERROR(initializeParameters(*executor));
        return body(*executor);
      });
}

std::vector<float> readSlice(Executor &executor, int slice) {
  const auto &s = executor.role().slices(slice);
  std::vector<float> values(executor.sliceBytes(s) / 4);
  EXPECT_TRUE(executor.readSlice(s, 0, values.data(), values.size() * 4).ok());
  return values;
}

/// What one rank does of a training run.
struct RankTraining {
  std::string saveDir, loadDir;
  std::function<void(const std::string &)> print = [](const std::string &) {};
  uint64_t steps = 10;

  Status operator()(Executor &executor) const {
    TrainerPosition start;
    if (!loadDir.empty()) {
      HOCKET_ASSIGN_OR_RETURN(auto state, loadRun(executor, loadDir));
      start = {state.step, state.consumedSamples};
    }
    MetricsLog log;
    auto samples = std::make_shared<CountingSamples>(4000, 5);
    Trainer trainer(executor, samples, samples, log, {steps, saveDir, print});
    return trainer.run(start);
  }
};

/// Gives no input but a number, which is the rank's.
class NumberHost : public HostChannel {
public:
  explicit NumberHost(float number) : number(number) {}
  std::vector<float> received;

  Status provide(const HostInput &, std::span<std::byte> data) override {
    std::memcpy(data.data(), &number, sizeof(number));
    return okStatus();
  }
  Status receive(const std::string &, uint32_t,
                 std::span<const std::byte> data) override {
    received.resize(data.size() / sizeof(float));
    std::memcpy(received.data(), data.data(), data.size());
    return okStatus();
  }

private:
  float number;
};

class ManyRanks : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "/hocket-ranks-" +
             testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string folder;
};

Program tiny(unsigned ranks, uint64_t globalMicroBatch = 8) {
  test::TinyModel sizes;
  sizes.ranks = ranks;
  sizes.microBatch = globalMicroBatch / ranks;
  return test::tinyModel(sizes);
}

/// All parameters and slots after `steps` steps, on rank 0; every rank's are
/// compared with them.
std::vector<float> trainedState(const Program &program) {
  std::mutex mutex;
  std::vector<std::vector<float>> states;
  Status status = runRanks(program, [&](Executor &executor) {
    HOCKET_RETURN_IF_ERROR(RankTraining()(executor));
    std::vector<float> all;
    for (int slice = 0; slice < 4; ++slice)
      for (float value : readSlice(executor, slice))
        all.push_back(value);
    std::lock_guard lock(mutex);
    states.push_back(all);
    return okStatus();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  for (const auto &state : states)
    EXPECT_EQ(state, states.front());
  return states.empty() ? std::vector<float>() : states.front();
}

} // namespace

TEST_F(ManyRanks, DataParallelTrainsAsOneRankDoes) {
  std::vector<float> one = trainedState(tiny(1));
  for (unsigned ranks : {2u, 4u, 8u}) {
    std::vector<float> many = trainedState(tiny(ranks));
    ASSERT_EQ(many.size(), one.size());
    for (size_t i = 0; i < one.size(); ++i)
      ASSERT_NEAR(many[i], one[i], 1e-5) << ranks << " ranks, element " << i;
    EXPECT_EQ(many, trainedState(tiny(ranks))) << "the same bits again";
  }
}

TEST_F(ManyRanks, EveryRankSeesTheSameNumbers) {
  Program program = tiny(4);
  std::mutex mutex;
  std::vector<std::string> lines;
  RankTraining training;
  training.print = [&](const std::string &line) {
    std::lock_guard lock(mutex);
    lines.push_back(line);
  };
  Status status = runRanks(program, training);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(lines.size(), 10u) << "rank 0 alone prints";
}

TEST_F(ManyRanks, AnInterruptEndsAllAtTheSameStep) {
  RankTraining training;
  training.steps = 1000;
  training.saveDir = folder + "/save";
  training.print = [](const std::string &line) {
    if (line.rfind("iteration        3/", 0) == 0)
      std::raise(SIGINT);
  };
  Status status = runRanks(tiny(4), training);
  EXPECT_EQ(status.message().rfind("interrupted after step ", 0), 0u)
      << status.message();
  EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
  EXPECT_LE(*checkpoint::latestIteration(folder + "/save"), 5u);
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

/// Round after round, each rank passes on what it has got, on stream 1, while
/// stream 0 adds it up. `serial`: all on stream 0.
static Program ringProgram(unsigned ranks, bool serial) {
  test::ProgramBuilder b;
  uint32_t start = b.buffer("start", program::F32, {1});
  uint32_t sum = b.buffer("sum", program::F32, {1});
  uint32_t hold[2] = {b.buffer("even", program::F32, {1}),
                      b.buffer("odd", program::F32, {1})};
  uint32_t scratch = b.buffer("scratch", program::F32, {1});
  uint32_t one = b.parameter("one", {1}, "ones");
  b.ranks(ranks);
  b.sequence("ring");
  uint32_t stream = serial ? 0 : 1;
  b.hostInput("number", start);
  for (uint32_t target : {hold[0], sum}) {
    program::Copy *copy = b.instruction().mutable_copy();
    copy->set_from(start);
    copy->set_to(target);
  }
  for (unsigned round = 1; round < ranks; ++round) {
    uint32_t from = hold[(round - 1) % 2], to = hold[round % 2];
    b.record(0, 0); // What is sent is there, what is overwritten was read.
    b.wait(stream, 0);
    b.ring(from, to);
    b.onStream(stream);
    b.record(stream, 1);
    b.gemm(1, 1, 1, one, one, scratch); // Meanwhile.
    b.wait(0, 1);
    b.gemm(1, 1, 1, to, one, sum).set_accumulate(program::ADD);
  }
  b.hostOutput("sum", sum);
  b.entry("ring").add_runs()->set_sequence(0);
  return b.finish();
}

TEST_F(ManyRanks, ARingOnAStreamOfItsOwn) {
  for (bool serial : {true, false})
    for (unsigned ranks : {1u, 2u, 3u, 8u, 16u}) {
      Status status =
          runRanks(ringProgram(ranks, serial), [&](Executor &executor) {
            for (uint64_t step = 0; step < 20; ++step) {
              NumberHost host(float(executor.rank() + step));
              HOCKET_RETURN_IF_ERROR(executor.run("ring", step, host));
              uint64_t sum = ranks * step + ranks * (ranks - 1) / 2;
              EXPECT_EQ(host.received[0], float(sum));
            }
            return okStatus();
          });
      ASSERT_TRUE(status.ok()) << status.message();
    }
}

// Two streams, two collectives of one group at a time, in any order.
TEST_F(ManyRanks, CollectivesOfTwoStreams) {
  test::ProgramBuilder b;
  uint32_t mine = b.buffer("mine", program::F32, {1});
  uint32_t all = b.buffer("all", program::F32, {4});
  uint32_t sum = b.buffer("total", program::F32, {1});
  b.ranks(4);
  b.sequence("both");
  b.hostInput("number", mine);
  b.record(0, 0);
  b.wait(1, 0);
  b.wait(2, 0);
  b.collective("all_gather", mine, all);
  b.onStream(2);
  b.record(2, 2);
  b.collective("all_reduce", mine, sum);
  b.onStream(1);
  b.record(1, 1);
  b.wait(0, 1);
  b.hostOutput("sum", sum);
  b.wait(0, 2);
  b.hostOutput("all", all);
  b.entry("both").add_runs()->set_sequence(0);
  Status status = runRanks(b.finish(), [&](Executor &executor) {
    for (uint64_t step = 0; step < 50; ++step) {
      NumberHost host(float(executor.rank() + step));
      HOCKET_RETURN_IF_ERROR(executor.run("both", step, host));
      std::vector<float> expected;
      for (unsigned rank = 0; rank < 4; ++rank)
        expected.push_back(float(rank + step));
      EXPECT_EQ(host.received, expected);
    }
    return okStatus();
  });
  ASSERT_TRUE(status.ok()) << status.message();
}

//===----------------------------------------------------------------------===//
// Ranks that fail, or hang
//===----------------------------------------------------------------------===//

TEST_F(ManyRanks, AFailingRankEndsTheOthers) {
  Program program = tiny(3, 6);
  auto *sequence = program.mutable_roles(0)->mutable_sequences(0);
  sequence->mutable_instructions(2)->set_source("tiny.textproto:3:1 embed");
  Status status = runRanks(program, [&](Executor &executor) {
    StepHost host(
        [&](data::Batch &batch) {
          HOCKET_RETURN_IF_ERROR(
              data::readBatch(CountingSamples(100, 5), 0, 6, batch));
          if (executor.rank() == 1)
            batch.tokens[2 * 8] = 99; // Outside the vocabulary.
          return okStatus();
        },
        0);
    host.begin(0, 0.5);
    return executor.run("train_step", 0, host);
  });
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.message().rfind(
                "rank 1, sequence 'microbatch', instruction 2 "
                "(tiny.textproto:3:1 embed: library embedding(%7, %0, %9)): ",
                0),
            0u)
      << status.message();
  EXPECT_NE(status.message().find(
                "\n  rank 0, sequence 'microbatch', instruction 5 (all_reduce "
                "%11 group 0): all_reduce of 1 f32 in group 'dp' of ranks 0, "
                "1, 2 waits for rank 1"),
            std::string::npos)
      << status.message();
}

TEST_F(ManyRanks, ASlowRankIsWaitedFor) {
  Status status = runRanks(tiny(2), [&](Executor &executor) {
    StepHost host([&](data::Batch &batch) {
      if (executor.rank() == 1)
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
      return data::readBatch(CountingSamples(100, 5), 0, 8, batch);
    });
    host.begin(0, 0.5);
    return executor.run("train_step", 0, host);
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(ManyRanks, AHangingRankIsLeftBehind) {
  auto over = std::make_shared<std::promise<void>>();
  std::shared_future<void> released = over->get_future().share();
  auto left = std::make_shared<std::promise<void>>();
  Status status = runRanks(
      tiny(3, 6),
      [released, left](Executor &executor) {
        bool hangs = executor.rank() == 2;
        StepHost host([&](data::Batch &batch) {
          if (hangs)
            released.wait();
          return data::readBatch(CountingSamples(100, 5), 0, 6, batch);
        });
        host.begin(0, 0.5);
        Status status = executor.run("train_step", 0, host);
        if (hangs)
          left->set_value();
        return status;
      },
      0.5);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_EQ(status.message().rfind("rank 2 hangs: for ", 0), 0u)
      << status.message();
  for (const char *part :
       {" s it has been in sequence 'microbatch', instruction 0 (host input "
        "tokens -> %7)",
        "\n  rank 0, sequence 'microbatch', instruction 5 (all_reduce %11 "
        "group 0): all_reduce of 1 f32 in group 'dp' of ranks 0, 1, 2 waits "
        "for rank 2"})
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
  over->set_value();
  left->get_future().wait();
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// A parameter [7, 3] in rows over the ranks, with a slot, and one [4] that
/// all have.
static Program slicedProgram(unsigned ranks) {
  test::ProgramBuilder b;
  uint64_t rows = (7 + ranks - 1) / ranks;
  b.parameter("whole", {4}, "normal", 1);
  b.slot("momentum");
  b.parameter("cut", {rows, 3}, "normal", 1);
  b.slot("momentum");
  b.ranks(ranks);
  b.shard("cut", {7, 3});
  return b.finish();
}

/// What the ranks hold of "cut", then of its slot, put together; padding must
/// be zeros.
static std::vector<float> together(Executor &executor) {
  comm::Communicator &world = executor.communicators().world();
  std::vector<float> all;
  for (int slice : {2, 3}) {
    std::vector<float> own = readSlice(executor, slice);
    std::vector<float> rows(own.size() * world.size());
    EXPECT_TRUE(
        world.allGather(own.data(), rows.data(), own.size(), comm::DType::F32)
            .ok());
    EXPECT_EQ(std::vector<float>(rows.begin() + 21, rows.end()),
              std::vector<float>(rows.size() - 21));
    all.insert(all.end(), rows.begin(), rows.begin() + 21);
  }
  return all;
}

/// Makes the slots distinct and saves.
static Status saveSliced(Executor &executor, const std::string &dir) {
  for (int slice : {1, 3}) {
    RankSlice place = RankSlice::of(
        executor.program(), executor.role().slices(slice), executor.rank());
    std::vector<float> values = readSlice(executor, slice);
    uint64_t row = slice == 3 ? 3 : 1;
    for (uint64_t i = 0; i < place.inside[0] * row; ++i)
      values[i] = float(100 + place.start[0] * row + i);
    HOCKET_RETURN_IF_ERROR(executor.writeSlice(
        executor.role().slices(slice), 0, values.data(), values.size() * 4));
  }
  checkpoint::RunState state;
  state.step = 5;
  state.seed = 1234;
  return saveRun(executor, state, dir);
}

TEST_F(ManyRanks, FirstValuesAreTheSameForAnyCut) {
  std::vector<float> expected;
  for (unsigned ranks : {1u, 2u, 3u, 4u, 8u}) {
    std::vector<float> values;
    Status status = runRanks(slicedProgram(ranks), [&](Executor &executor) {
      std::vector<float> all = together(executor);
      if (executor.rank() == 0)
        values = all;
      return okStatus();
    });
    ASSERT_TRUE(status.ok()) << status.message();
    if (ranks == 1)
      expected = values;
    EXPECT_EQ(values, expected) << ranks;
  }
}

TEST_F(ManyRanks, ACheckpointLoadsIntoAnyCut) {
  for (unsigned from : {1u, 2u, 3u, 8u}) {
    std::string dir = folder + "/" + std::to_string(from);
    std::vector<float> saved;
    Status status = runRanks(slicedProgram(from), [&](Executor &executor) {
      HOCKET_RETURN_IF_ERROR(saveSliced(executor, dir));
      std::vector<float> all = together(executor);
      if (executor.rank() == 0)
        saved = all;
      return okStatus();
    });
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(saved[21], 100);
    EXPECT_EQ(saved[41], 120);
    for (unsigned to : {1u, 2u, 3u, 8u}) {
      status = runRanks(slicedProgram(to), [&](Executor &executor) {
        executor.setSeed(99);
        HOCKET_RETURN_IF_ERROR(initializeParameters(executor));
        HOCKET_ASSIGN_OR_RETURN(auto state, loadRun(executor, dir));
        EXPECT_EQ(state.step, 5u);
        EXPECT_EQ(together(executor), saved) << from << " into " << to;
        EXPECT_EQ(readSlice(executor, 1),
                  (std::vector<float>{100, 101, 102, 103}));
        return okStatus();
      });
      ASSERT_TRUE(status.ok()) << status.message();
    }
  }
}

// The weights of 3 ranks: what all have, rank 0 writes.
TEST_F(ManyRanks, EveryElementIsSavedOnce) {
  Status status = runRanks(slicedProgram(3), [&](Executor &executor) {
    return saveSliced(executor, folder + "/save");
  });
  ASSERT_TRUE(status.ok()) << status.message();
  std::string iteration = folder + "/save/iter_0000005/";
  uint64_t elements = 0;
  std::vector<size_t> tensors;
  for (int shard = 0; shard < 3; ++shard) {
    auto file = checkpoint::SafetensorsFile::open(iteration + "model-0000" +
                                                  std::to_string(shard) +
                                                  "-of-00003.safetensors");
    ASSERT_TRUE(file.ok()) << file.status().message();
    tensors.push_back(file->tensors().size());
    for (const auto &tensor : file->tensors())
      elements += (tensor.end - tensor.begin) / 4;
  }
  EXPECT_EQ(elements, 4u + 21u);
  EXPECT_EQ(tensors, (std::vector<size_t>{2, 1, 1}));
}

TEST_F(ManyRanks, ASaveThatFailsLeavesNothing) {
  Status status = runRanks(slicedProgram(2), [&](Executor &executor) {
    checkpoint::RunState state;
    return saveRun(executor, state, "/proc");
  });
  EXPECT_NE(status.message().find("/proc/iter_0000000: cannot create: "),
            std::string::npos)
      << status.message();
}

// While ranks write, what they have saved may change.
TEST_F(ManyRanks, SavesACopyInTheBackground) {
  for (unsigned ranks : {1u, 2u, 3u}) {
    std::string dir = folder + "/" + std::to_string(ranks);
    Status status = runRanks(slicedProgram(ranks), [&](Executor &executor) {
      std::vector<float> values = together(executor);
      checkpoint::RunState state;
      state.step = 5;
      HOCKET_ASSIGN_OR_RETURN(auto save,
                              BackgroundSave::begin(executor, state, dir));
      executor.setSeed(99);
      HOCKET_RETURN_IF_ERROR(initializeParameters(executor));
      EXPECT_NE(together(executor), values);
      EXPECT_EQ(save->step(), 5u);
      HOCKET_RETURN_IF_ERROR(save->finish());
      EXPECT_EQ(loadRun(executor, dir)->step, 5u);
      EXPECT_EQ(together(executor), values) << ranks;
      return okStatus();
    });
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

TEST_F(ManyRanks, WhatIsNotFinishedIsNoCheckpoint) {
  Status status = runRanks(slicedProgram(2), [&](Executor &executor) {
    HOCKET_ASSIGN_OR_RETURN(
        auto save, BackgroundSave::begin(executor, {}, folder + "/save"));
    while (!save->isWritten())
      std::this_thread::yield();
    return anyOf(executor.communicators().world(), false).status();
  });
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(std::filesystem::is_empty(folder + "/save"));
  status = runRanks(slicedProgram(2), [&](Executor &executor) {
    return BackgroundSave::begin(executor, {}, "/proc").status();
  });
  EXPECT_NE(status.message().find("/proc/iter_0000000: cannot create: "),
            std::string::npos)
      << status.message();
}

TEST_F(ManyRanks, ResumesOnOtherRanks) {
  std::string dir = folder + "/save";
  RankTraining first;
  first.steps = 4;
  first.saveDir = dir;
  ASSERT_TRUE(runRanks(tiny(4), first).ok());
  RankTraining rest;
  rest.loadDir = dir;
  std::vector<float> resumed, whole = trainedState(tiny(1));
  Status status = runRanks(tiny(2), [&](Executor &executor) {
    HOCKET_RETURN_IF_ERROR(rest(executor));
    if (executor.rank() == 0)
      resumed = readSlice(executor, 0);
    return okStatus();
  });
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t i = 0; i < resumed.size(); ++i)
    ASSERT_NEAR(resumed[i], whole[i], 1e-5);
}
