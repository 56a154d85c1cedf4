//===- ExecutorTest.cpp - A hand-built program against plain arithmetic ---===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/Executor.h"

#include "runtime/comm/local/LocalWorld.h"
#include "runtime/hal/drivers/Drivers.h"
#include "runtime/program/check/ProgramCheck.h"
#include "test/runtime/program/ProgramBuilder.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <map>

using namespace hocket;
using program::Program;

namespace {

/// Feeds fixed tokens and keeps every output.
class FakeHost : public HostChannel {
public:
  std::map<uint32_t, std::vector<int32_t>> tokens, labels; // by microbatch
  float rate = 0;
  std::map<std::pair<std::string, uint32_t>, float> outputs;
  std::vector<std::string> order;

  Status provide(const HostInput &input, std::span<std::byte> data) override {
    order.push_back(input.name + std::to_string(input.microbatch));
    const void *from = &rate;
    if (input.name != "learning_rate")
      from =
          (input.name == "tokens" ? tokens : labels)[input.microbatch].data();
    std::memcpy(data.data(), from, data.size());
    return okStatus();
  }

  Status receive(const std::string &name, uint32_t microbatch,
                 std::span<const std::byte> data) override {
    order.push_back(name + std::to_string(microbatch));
    std::memcpy(&outputs[{name, microbatch}], data.data(), 4);
    return okStatus();
  }
};

/// The tiny model in doubles: the independent reference.
struct Reference {
  size_t V, H;
  std::vector<double> embed, w, embedMomentum, wMomentum, dEmbed, dW;

  Reference(size_t V, size_t H)
      : V(V), H(H), embed(V * H), w(V * H), embedMomentum(V * H),
        wMomentum(V * H), dEmbed(V * H), dW(V * H) {}

  double microbatch(const std::vector<int32_t> &tokens,
                    const std::vector<int32_t> &labels, double dloss) {
    double loss = 0;
    size_t T = tokens.size();
    for (size_t t = 0; t < T; ++t) {
      const double *x = &embed[size_t(tokens[t]) * H];
      std::vector<double> p(V);
      double sum = 0;
      for (size_t v = 0; v < V; ++v) {
        for (size_t h = 0; h < H; ++h)
          p[v] += x[h] * w[v * H + h];
        sum += p[v] = std::exp(p[v]);
      }
      loss -= std::log(p[size_t(labels[t])] / sum) / double(T);
      for (size_t v = 0; v < V; ++v) {
        double g = (p[v] / sum - (int32_t(v) == labels[t])) * dloss / double(T);
        for (size_t h = 0; h < H; ++h) {
          dW[v * H + h] += g * x[h];
          dEmbed[size_t(tokens[t]) * H + h] += g * w[v * H + h];
        }
      }
    }
    return loss;
  }

  double update(double rate) {
    double squares = 0;
    for (size_t i = 0; i < V * H; ++i) {
      squares += dEmbed[i] * dEmbed[i] + dW[i] * dW[i];
      embedMomentum[i] = 0.9 * embedMomentum[i] + dEmbed[i];
      wMomentum[i] = 0.9 * wMomentum[i] + dW[i];
    }
    for (size_t i = 0; i < V * H; ++i) {
      embed[i] -= rate * embedMomentum[i];
      w[i] -= rate * wMomentum[i];
      dEmbed[i] = dW[i] = 0;
    }
    return std::sqrt(squares);
  }
};

class ExecutorTest : public testing::Test {
protected:
  void load(Program program, const std::string &driver = "cpu") {
    ASSERT_TRUE(checkProgram(program).ok()) << checkProgram(program).message();
    auto created =
        Executor::create(std::make_shared<const Program>(std::move(program)),
                         *hal::createDevice(driver), *group);
    ASSERT_TRUE(created.ok()) << created.status().message();
    executor = *std::move(created);
  }

  /// Gives parameter slices 0 (embed) and 2 (w) values from a formula.
  void fillParameters(Reference &reference) {
    for (size_t i = 0; i < reference.embed.size(); ++i) {
      reference.embed[i] = float(std::sin(double(i)) / 4);
      reference.w[i] = float(std::cos(double(3 * i)) / 4);
    }
    write(0, {reference.embed.begin(), reference.embed.end()});
    write(2, {reference.w.begin(), reference.w.end()});
    write(4, {0.5f});
  }

  void write(int slice, const std::vector<float> &values) {
    ASSERT_TRUE(executor
                    ->writeSlice(executor->role().slices(slice), 0,
                                 values.data(), values.size() * 4)
                    .ok());
  }
  std::vector<float> read(int slice) {
    const auto &s = executor->role().slices(slice);
    std::vector<float> values(executor->sliceBytes(s) / 4);
    EXPECT_TRUE(
        executor->readSlice(s, 0, values.data(), values.size() * 4).ok());
    return values;
  }

  std::unique_ptr<comm::CommunicatorSet> group = comm::createSingleRank();
  std::unique_ptr<Executor> executor;
};

void fillTokens(FakeHost &host) {
  for (uint32_t m = 0; m < 2; ++m) {
    host.tokens[m].resize(16);
    host.labels[m].resize(16);
    for (int t = 0; t < 16; ++t) {
      host.tokens[m][t] = int32_t((t * 5 + m) % 16);
      host.labels[m][t] = int32_t((t * 5 + m + 3) % 16);
    }
  }
}

} // namespace

TEST_F(ExecutorTest, TrainsAsTheReferenceDoes) {
  load(test::tinyModel());
  Reference reference(16, 8);
  fillParameters(reference);
  FakeHost host;
  fillTokens(host);
  host.rate = 0.5f;
  double first = 0, last = 0;
  for (uint64_t step = 0; step < 30; ++step) {
    Status status = executor->run("train_step", step, host);
    ASSERT_TRUE(status.ok()) << status.message();
    for (uint32_t m = 0; m < 2; ++m) {
      double loss = reference.microbatch(host.tokens[m], host.labels[m], 0.5);
      ASSERT_NEAR((host.outputs[{"loss", m}]), loss, 1e-4) << step;
      (step == 0 ? first : last) = loss;
    }
    ASSERT_NEAR((host.outputs[{"grad_norm", 0}]), reference.update(0.5), 1e-4);
  }
  EXPECT_LT(last, first / 2) << "thirty steps must learn this";
  std::vector<float> embed = read(0);
  for (size_t i = 0; i < embed.size(); ++i)
    EXPECT_NEAR(embed[i], reference.embed[i], 1e-3);
}

TEST_F(ExecutorTest, HostCallsComeInProgramOrder) {
  load(test::tinyModel());
  FakeHost host;
  fillTokens(host);
  ASSERT_TRUE(executor->run("train_step", 0, host).ok());
  EXPECT_EQ(host.order, (std::vector<std::string>{
                            "tokens0", "labels0", "loss0", "tokens1", "labels1",
                            "loss1", "learning_rate0", "grad_norm0"}));
}

TEST_F(ExecutorTest, EvaluationChangesNothing) {
  load(test::tinyModel());
  Reference reference(16, 8);
  fillParameters(reference);
  FakeHost host;
  fillTokens(host);
  std::vector<float> before = read(0);
  ASSERT_TRUE(executor->run("eval_step", 0, host).ok());
  EXPECT_NEAR((host.outputs[{"loss", 0}]),
              reference.microbatch(host.tokens[0], host.labels[0], 0), 1e-5);
  EXPECT_EQ(read(0), before);
}

TEST_F(ExecutorTest, ErrorsNameTheInstruction) {
  Program program = test::tinyModel();
  auto *sequence = program.mutable_roles(0)->mutable_sequences(0);
  sequence->mutable_instructions(2)->set_source("tiny.textproto:3:1 embed");
  load(program);
  FakeHost host;
  fillTokens(host);
  host.tokens[1][3] = 99; // Outside the vocabulary.
  Status status = executor->run("train_step", 0, host);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.message().rfind(
                "sequence 'microbatch', instruction 2 (tiny.textproto:3:1 "
                "embed: library embedding(%7, %0, %9)): embedding: ",
                0),
            0u)
      << status.message();
  EXPECT_EQ(executor->run("dance", 0, host).message(),
            "the program has no entry 'dance'");
}

TEST_F(ExecutorTest, SlicesHaveTheirSize) {
  load(test::tinyModel());
  const auto &slice = executor->role().slices(0);
  EXPECT_EQ(executor->sliceBytes(slice), 16u * 8 * 4);
  float value = 0;
  EXPECT_EQ(executor->readSlice(slice, 510, &value, 4).message(),
            "a slice of parameter 0, value, has 512 bytes, [510, +4) lie "
            "outside");
}

TEST_F(ExecutorTest, TheNullDeviceWalksThePrograms) {
  load(test::tinyModel(), "null");
  FakeHost host;
  fillTokens(host);
  ASSERT_TRUE(executor->run("train_step", 0, host).ok());
  EXPECT_EQ((host.outputs[{"loss", 1}]), 0);
  EXPECT_EQ(host.order.size(), 8u);
}

TEST_F(ExecutorTest, ProfilesEveryInstruction) {
  load(test::tinyModel());
  FakeHost host;
  fillTokens(host);
  executor->startProfile();
  ASSERT_TRUE(executor->run("train_step", 0, host).ok());
  EXPECT_EQ(executor->profile()[0][3].runs, 2u);
  EXPECT_GT(executor->profile()[0][3].seconds, 0);
  EXPECT_EQ(executor->profile()[1][0].runs, 1u);
  EXPECT_EQ(executor->profile()[2][0].runs, 0u);
}

// Two slots of one buffer hold two values; scalars follow the run.
TEST_F(ExecutorTest, SlotsAndScalarsFollowTheRun) {
  test::ProgramBuilder b;
  uint32_t in = b.buffer("in", program::I32, {4}, true);
  uint32_t out = b.buffer("out", program::I32, {4});
  uint32_t last = b.buffer("last", program::I32, {4});
  uint32_t add = b.kernel(b.module(HOCKET_TEST_KERNELS), "addScalar", 4,
                          {program::READ, program::WRITE});
  b.program().mutable_kernels(0)->set_scalars(1);
  b.sequence("write");
  b.launch(add, {in, out}).add_scalars()->set_step(program::Scalar::MICROBATCH);
  b.sequence("read");
  b.hostOutput("out", out);
  b.launch(add, {in, last}).add_scalars()->set_step(program::Scalar::STEP);
  b.hostOutput("step", last);
  auto &entry = b.entry("both");
  for (uint32_t sequence : {0u, 1u})
    for (uint32_t m : {0u, 1u}) {
      auto *run = entry.add_runs();
      run->set_sequence(sequence);
      run->set_microbatch(m);
      run->set_slot(m);
    }
  b.slots(out, 2);
  Program program = b.finish();
  load(program);
  FakeHost host;
  ASSERT_TRUE(executor->run("both", 17, host).ok());
  auto integer = [&](const char *name, uint32_t m) {
    return std::bit_cast<int32_t>(host.outputs[{name, m}]);
  };
  EXPECT_EQ(integer("out", 0), 0);
  EXPECT_EQ(integer("out", 1), 1);
  EXPECT_EQ(integer("step", 0), 17);
}

TEST_F(ExecutorTest, RefusesAProgramForMoreRanks) {
  Program program = test::tinyModel();
  program.mutable_mesh()->mutable_axes(0)->set_size(2);
  program.mutable_roles(0)->add_ranks(1);
  auto created = Executor::create(std::make_shared<const Program>(program),
                                  *hal::createDevice("null"), *group);
  EXPECT_EQ(created.status().message(), "the program is for 2 ranks, 1 run");
}
