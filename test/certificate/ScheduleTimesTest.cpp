//===- ScheduleTimesTest.cpp - Pipelines run as their schedule says -------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Four ranks on null devices that play time, where a GEMM takes time
/// by its size, a message a little by its bytes and nothing else any. From the
/// recorded trace: fragments ran in the order of the program's entry, each when
/// the prediction of the same program said, and the idle time is that of the
/// formula (Narayanan et al. 2021, Qi et al. 2024), with F = f, B = 2f per
/// stage:
///
///   1F1B         (P - 1)(F + B)
///   interleaved  (P - 1)(F + B) / v
///   ZB-H1        (P - 1) F, where B is F and W is F
///
/// The others take as long as docs/schedules.md says. Nothing depends on how
/// busy the machine is.
///
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "runtime/predict/Timeline.h"
#include "runtime/train/TrainingRun.h"
#include "test/end_to_end/support/CompiledModel.h"
#include "test/end_to_end/support/TrainingFolder.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::test;
using program::Instruction;
using program::Program;
using program::Role;

namespace {

constexpr unsigned ranks = 4;
constexpr double flopsPerSecond = 1e9, bytesPerSecond = 1e8;

struct Timing {
  const char *name;
  std::vector<std::string> plan;
  /// From the first begin to the last end less what a rank does on average, in
  /// forwards of a stage; a rank does 24.
  double bubble;
};

std::ostream &operator<<(std::ostream &out, const Timing &timing) {
  return out << timing.name;
}

/// A sequence's run on stream 0.
struct Fragment {
  std::string name;
  uint32_t microbatch = 0;
  double begin = 0, end = 0; ///< seconds
};

/// Of one step, by rank, in the order of time.
using Fragments = std::map<unsigned, std::vector<Fragment>>;

/// F, B and W; not the update, prepare, and what they share.
bool isFragment(const std::string &name) {
  return name.starts_with("forward") || name.starts_with("backward") ||
         name.starts_with("weight");
}

bool computes(const program::Sequence &sequence) {
  for (const auto &instruction : sequence.instructions())
    if (instruction.has_gemm())
      return true;
  return false;
}

/// What NullDevice.h says.
class NullCosts : public InstructionCosts {
public:
  double seconds(const Instruction &instruction, const Role &role,
                 const Program &) const override {
    double bytes = 0;
    if (instruction.has_gemm())
      return 2.0 * double(instruction.gemm().m()) *
             double(instruction.gemm().n()) * double(instruction.gemm().k()) /
             flopsPerSecond;
    if (instruction.has_collective()) {
      const auto &call = instruction.collective();
      bytes = double(std::max(bufferBytes(role, call.from()),
                              bufferBytes(role, call.to())));
      for (const auto &part : call.others())
        bytes += double(std::max(bufferBytes(role, part.from()),
                                 bufferBytes(role, part.to())));
    }
    for (const auto &part : instruction.transfer().parts())
      bytes += part.send() ? 0 : double(bufferBytes(role, part.buffer()));
    return bytes / bytesPerSecond;
  }
  std::string description() const override { return "the null device"; }
};

class ScheduleTimes : public TrainingFolder,
                      public testing::WithParamInterface<Timing> {
protected:
  void SetUp() override {
    TrainingFolder::SetUp();
    setenv("HOCKET_NULL_GFLOPS", std::to_string(flopsPerSecond / 1e9).c_str(),
           1);
    setenv("HOCKET_NULL_GBYTES", std::to_string(bytesPerSecond / 1e9).c_str(),
           1);
  }
  void TearDown() override {
    unsetenv("HOCKET_NULL_GFLOPS");
    unsetenv("HOCKET_NULL_GBYTES");
    TrainingFolder::TearDown();
  }

  /// Steps from 1 on.
  std::map<int, Fragments> run(std::shared_ptr<const Program> program) {
    TrainingOptions options;
    options.data = {tokens()};
    options.steps = 3;
    options.traceFile = folder + "/trace";
    Status status = runTraining(std::move(program), options);
    EXPECT_TRUE(status.ok()) << status.message();
    std::map<int, Fragments> steps;
    auto text = readFile(options.traceFile, uint64_t(1) << 30);
    EXPECT_TRUE(text.ok());
    if (text.ok())
      read(nlohmann::json::parse(*text), steps);
    return steps;
  }

  static void read(const nlohmann::json &file,
                   std::map<int, Fragments> &steps) {
    for (const auto &event : file["traceEvents"]) {
      if (event.value("cat", "") != "sequence" ||
          !isFragment(event["name"].get<std::string>()))
        continue;
      double begin = event["ts"].get<double>() * 1e-6;
      const auto &arguments = event["args"];
      steps[std::stoi(
          arguments["step"].get<std::string>())][event["pid"].get<unsigned>()]
          .push_back(
              {event["name"],
               uint32_t(std::stoul(arguments["microbatch"].get<std::string>())),
               begin, begin + event["dur"].get<double>() * 1e-6});
    }
  }
};

/// The fragments of a step that is alone in the world.
Fragments predict(const Program &program) {
  std::map<std::pair<unsigned, uint32_t>, Fragment> runs;
  auto end = predictTimeline(
      program, "train_step", NullCosts(), [&](const PredictedSpan &span) {
        if (span.stream != 0)
          return;
        unsigned rank = program.roles(int(span.role)).ranks(0);
        auto [run, isNew] = runs.try_emplace({rank, span.run});
        run->second.end = span.end;
        if (!isNew)
          return;
        run->second.name =
            program.roles(int(span.role)).sequences(int(span.sequence)).name();
        run->second.microbatch = span.microbatch;
        run->second.begin = span.begin;
      });
  EXPECT_TRUE(end.ok()) << end.status().message();
  Fragments result;
  for (const auto &[key, run] : runs)
    if (isFragment(run.name))
      result[key.first].push_back(run);
  return result;
}

double firstBegin(const Fragments &fragments) {
  double first = 1e300;
  for (const auto &[rank, list] : fragments)
    first = std::min(first, list.front().begin);
  return first;
}

/// The same fragments at the same times, but for the moment of the first.
void expectSame(const Fragments &measured, const Fragments &predicted) {
  double begin = firstBegin(measured), other = firstBegin(predicted);
  ASSERT_EQ(measured.size(), predicted.size());
  for (const auto &[rank, list] : measured) {
    ASSERT_EQ(list.size(), predicted.at(rank).size());
    for (size_t i = 0; i < list.size(); ++i) {
      const Fragment &a = list[i], &b = predicted.at(rank)[i];
      EXPECT_EQ(std::pair(a.name, a.microbatch),
                std::pair(b.name, b.microbatch));
      // The trace has nanoseconds.
      EXPECT_NEAR(a.begin - begin, b.begin - other, 1e-7) << a.name;
      EXPECT_NEAR(a.end - begin, b.end - other, 1e-7) << a.name;
    }
  }
}

void expectOrder(const Role &role, const std::vector<Fragment> &measured) {
  std::vector<std::pair<std::string, uint32_t>> expected, actual;
  for (const program::Entry &entry : role.entries())
    for (const auto &run : entry.runs())
      if (const auto &sequence = role.sequences(int(run.sequence()));
          entry.name() == "train_step" && isFragment(sequence.name()) &&
          computes(sequence))
        expected.push_back({sequence.name(), run.microbatch()});
  for (const Fragment &fragment : measured)
    actual.push_back({fragment.name, fragment.microbatch});
  EXPECT_EQ(actual, expected);
}

/// Idle time of the ranks on average, as a multiple of a stage's forward, which
/// is a third of what a rank does for one microbatch.
double bubbleOf(const Fragments &fragments, uint64_t microbatches) {
  double last = 0, busy = 0;
  for (const auto &[rank, list] : fragments)
    for (const Fragment &fragment : list) {
      last = std::max(last, fragment.end);
      busy += (fragment.end - fragment.begin) / ranks;
    }
  double forward = busy / double(3 * microbatches);
  return (last - firstBegin(fragments) - busy) / forward;
}

TEST_P(ScheduleTimes, AreThoseOfTheFormula) {
  // The head, which the last stage has beside its layers, is a 400th of them.
  CompileChoice choice{GetParam().plan};
  choice.overrides.push_back("plan.pipeline_parallel=4");
  auto program = std::make_shared<Program>(compileProgram(
      "model { layers: 8 hidden: 512 heads: 4 vocab_size: 29 "
      "attention_qkv_bias: false } training { micro_batch_size: 2 "
      "global_batch_size: 16 sequence_length: 16 steps: 3 "
      "optimizer { adamw { } } }",
      choice));
  ASSERT_EQ(program->training().microbatches(), 8u);
  program->mutable_provenance()->set_target("null");
  std::map<int, Fragments> steps = run(program);
  ASSERT_EQ(steps.size(), 3u);
  Fragments predicted = predict(*program);
  for (const auto &[step, fragments] : steps) {
    ASSERT_EQ(fragments.size(), ranks);
    for (const auto &[rank, list] : fragments)
      expectOrder(program->roles(int(rank)), list);
    expectSame(fragments, predicted);
  }
  double bubble = bubbleOf(steps[1], 8);
  RecordProperty("bubble", std::to_string(bubble));
  std::cout << "bubble " << bubble << ", formula " << GetParam().bubble << "\n";
  EXPECT_GE(bubble, 0.97 * GetParam().bubble);
  EXPECT_LE(bubble, 1.03 * GetParam().bubble);
}

INSTANTIATE_TEST_SUITE_P(
    Schedules, ScheduleTimes,
    testing::Values(
        Timing{"AllForwardsFirst", {"plan.schedule=gpipe"}, 9},
        Timing{"OneForwardOneBackward", {}, 9},
        Timing{"Interleaved",
               {"plan.virtual_stages=2", "plan.schedule=interleaved"},
               4.5},
        Timing{"ZeroBubbleH1", {"plan.schedule=zb-h1"}, 3},
        Timing{"ZeroBubbleH2", {"plan.schedule=zb-h2"}, 3},
        Timing{"ZeroBubbleV",
               {"plan.virtual_stages=2", "plan.schedule=zb-v"},
               1.5},
        Timing{"DualPipeV",
               {"plan.virtual_stages=2", "plan.schedule=dualpipe-v"},
               1.5}),
    [](const testing::TestParamInfo<Timing> &info) {
      return std::string(info.param.name);
    });

} // namespace
