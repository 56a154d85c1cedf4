//===- CompiledModel.cpp - A specification, compiled and run --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/CompiledModel.h"

#include "compiler/driver/ExportProblem.h"
#include "compiler/targets/cpu/KernelObjects.h"
#include "runtime/comm/local/LocalWorld.h"
#include "runtime/hal/drivers/Drivers.h"
#include "runtime/hal/drivers/cpu/CpuFeatures.h"
#include "runtime/train/step/ScoreHost.h"
#include "runtime/train/step/StepHost.h"
#include "runtime/train/values/Initialize.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace hocket;
using namespace hocket::test;

void hocket::test::shareKernels(CompileRequest &request) {
  // A run of all tests has a folder for what its programs compile.
  static const auto kernels = std::getenv("HOCKET_CACHE")
                                  ? cpu::KernelObjects::kept()
                                  : std::make_shared<cpu::KernelObjects>();
  request.architectures = {hal::bestVariant(*hal::chooseIsa())};
  request.kernelObjects = kernels;
}

/// The request of `spec`, which is written into a file of its own.
static CompileRequest requestOf(const std::string &spec,
                                const CompileChoice &choice) {
  CompileRequest request;
  request.input = testing::TempDir() + "/hocket-end-to-end-" +
                  std::to_string(getpid()) + ".textproto";
  std::ofstream(request.input) << spec;
  request.spec.overrides = choice.overrides;
  request.fuse = choice.fuse;
  request.target = choice.target;
  request.entries = {.train = choice.trains,
                     .generate = choice.writes,
                     .prefillTokens = choice.prefillTokens};
  request.invariantGemms = choice.invariantGemms;
  request.verifyEach = true;
  if (choice.leastPart > 0)
    request.leastPart = choice.leastPart;
  if (choice.leastSummedRows > 0)
    request.leastSummedRows = choice.leastSummedRows;
  if (choice.target != "cuda")
    shareKernels(request);
  for (const auto &[option, value] : choice.flags)
    request.spec.flags.given.push_back({option, value});
  return request;
}

static CompileResult compileTo(Level level, const std::string &spec,
                               const CompileChoice &choice) {
  CompileRequest request = requestOf(spec, choice);
  request.to = level;
  StatusOr<CompileResult> result = compile(request);
  unlink(request.input.c_str());
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *std::move(result) : CompileResult();
}

program::Program hocket::test::compileProgram(const std::string &spec,
                                              const CompileChoice &choice) {
  return compileTo(Level::Program, spec, choice).program;
}

program::Program hocket::test::compileByLevels(const std::string &spec,
                                               const CompileChoice &choice) {
  CompileRequest request = requestOf(spec, choice);
  // The modules are those of the whole compilation, verified there.
  request.verifyEach = false;
  std::string file = testing::TempDir() + "/hocket-level-" +
                     std::to_string(getpid()) + ".mlir";
  program::Program program;
  for (int level = 0; level <= static_cast<int>(Level::Program); ++level) {
    request.to = static_cast<Level>(level);
    StatusOr<CompileResult> result = compile(request);
    unlink(request.input.c_str());
    EXPECT_TRUE(result.ok()) << "to " << levelName(request.to).str() << ": "
                             << result.status().message();
    if (!result.ok() || request.to == Level::Program)
      return result.ok() ? std::move(result->program) : program::Program();
    std::ofstream(file) << result->text;
    request.input = file;
    request.spec = {};
    request.from = request.to;
  }
  return program;
}

int64_t hocket::test::bytesNeeded(const std::string &spec,
                                  const CompileChoice &choice) {
  return mostNeeded(compileTo(Level::Exec, spec, choice).memory);
}

std::string hocket::test::compileXf(const std::string &spec,
                                    const CompileChoice &choice) {
  return compileTo(Level::Xf, spec, choice).text;
}

planning::StrategyProblem
hocket::test::strategyProblem(const std::string &spec,
                              const CompileChoice &choice, int64_t ranks) {
  dist::StrategyExport options;
  options.cluster = *cluster::readCluster("h100:" + std::to_string(ranks));
  // So slow beside its links that tiny models are worth splitting.
  constexpr double slower = 1e-4;
  cluster::System &system = options.cluster.system;
  cluster::Device &device = *system.mutable_device();
  device.set_peak_32bit(device.peak_32bit() * slower);
  device.set_memory_bandwidth(device.memory_bandwidth() * slower);
  system.mutable_node_link()->set_latency(0);
  CompileRequest request = requestOf(spec, choice);
  auto problem = exportProblem(request, std::move(options));
  unlink(request.input.c_str());
  EXPECT_TRUE(problem.ok()) << problem.status().message();
  return problem.ok() ? *std::move(problem) : planning::StrategyProblem();
}

CompiledModel::CompiledModel(program::Program program)
    : group(comm::createSingleRank()) {
  prepare(std::move(program));
}

void CompiledModel::prepare(program::Program program) {
  auto created = Executor::create(
      std::make_shared<const program::Program>(std::move(program)),
      *hal::createDevice("cpu"), *group);
  ASSERT_TRUE(created.ok()) << created.status().message();
  executor = *std::move(created);
  Status status = initializeParameters(*executor);
  ASSERT_TRUE(status.ok()) << status.message();
  if (executor->hasEntry("prepare")) {
    StepHost nothing([](data::Batch &) { return internalError("no batch"); });
    status = executor->run("prepare", 0, nothing);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  valid = true;
}

StepNumbers CompiledModel::run(uint64_t step, double learningRate,
                               const std::vector<data::Batch> &batches) {
  size_t next = 0;
  StepHost host([&](data::Batch &batch) {
    batch = batches.at(next++);
    return okStatus();
  });
  host.begin(step, learningRate, batches.size(), labelsOf(batches));
  Status status = executor->run("train_step", step, host);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(next, batches.size());
  const StepOutputs &outputs = host.outputs();
  return {{outputs.losses.begin(), outputs.losses.end()},
          {outputs.numbers.begin(), outputs.numbers.end()}};
}

double CompiledModel::evaluate(const data::Batch &batch) {
  StepHost host([&](data::Batch &to) {
    to = batch;
    return okStatus();
  });
  host.begin(0, 0, 1, labelsOf({batch}));
  Status status = executor->run("eval_step", 0, host);
  EXPECT_TRUE(status.ok()) << status.message();
  return host.outputs().meanLoss();
}

std::vector<float> CompiledModel::labels(const data::Batch &batch) {
  ScoreHost host(executor->program(), 0, [&](data::Batch &to) {
    to = batch;
    return okStatus();
  });
  host.begin(0, 0);
  Status status = executor->run("eval_step", 0, host);
  EXPECT_TRUE(status.ok()) << status.message();
  auto shared = host.shareLabels(group->world());
  EXPECT_TRUE(shared.ok()) << shared.status().message();
  return shared.ok() ? *shared : std::vector<float>();
}

ModelState CompiledModel::state() {
  ModelState all;
  for (const program::ParameterSlice &slice : executor->role().slices()) {
    std::string name =
        executor->program().parameters(int(slice.parameter())).name();
    if (slice.state() != "value")
      name += "." + slice.state();
    std::vector<float> values(executor->sliceBytes(slice) / sizeof(float));
    Status status = executor->readSlice(slice, 0, values.data(),
                                        values.size() * sizeof(float));
    EXPECT_TRUE(status.ok()) << status.message();
    all[name].assign(values.begin(), values.end());
  }
  return all;
}
