//===- program_times.cpp - Each kind of instruction by itself -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// `program_times PROGRAM [SECONDS]` runs every kind of instruction of a
// training step of one rank by itself, on the device that the program is for,
// and prints JSON: how often it runs in a step, its seconds (the median of five
// rounds of back-to-back calls, about SECONDS in all, 0.02 without it; of 0 one
// call), the same with caches that hold something else, its FLOPs and the bytes
// that it must move. GEMMs are also timed without anything fused and into a
// result that is not added to, those of experts beside one GEMM of as many rows
// with the weights of the first, and copies of much memory last.
//
// Numbers are random, token ids small, experts have as many rows each; results
// mean nothing.
//
//===----------------------------------------------------------------------===//

#include "base/Format.h"
#include "runtime/comm/local/LocalWorld.h"
#include "runtime/executor/PreparedCall.h"
#include "runtime/executor/ProgramGroups.h"
#include "runtime/executor/ProgramKernels.h"
#include "runtime/hal/drivers/Drivers.h"
#include "runtime/program/file/ProgramFile.h"

#include <chrono>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

using namespace hocket;
using nlohmann::json;
using Work = std::function<Status()>;

namespace {

/// A kind of instruction: the first of those that are alike, and how many a
/// step has.
struct Kind {
  const program::Instruction *first;
  uint64_t runs = 0;
};

class ProgramTimes {
public:
  ProgramTimes(const program::Program &program, double seconds)
      : program(program), role(program.roles(0)), seconds(seconds) {}

  Status run();
  json result;

private:
  Status open();
  Status fillArena();
  std::map<std::string, Kind> kinds() const;
  std::string nameOf(const program::Instruction &instruction) const;
  Status measure(const Kind &kind, json &row);
  Status measurePlain(const program::Gemm &gemm, json &row);
  Status measurePlain(const hal::GemmCall &call, json &row);
  Status measureOneExpert(const program::Library &grouped, json &row);
  Status measureCopy();
  Status setIntegers(const program::Instruction &instruction);
  uint64_t experts() const;
  std::vector<int32_t> evenRanges(const program::Library &grouped) const;
  StatusOr<double> timeOf(const Work &work, bool cold);
  StatusOr<double> roundOf(const Work &work, uint64_t calls);

  hal::Operand operand(uint32_t buffer) const {
    const program::Buffer &b = role.buffers(int(buffer));
    return {{b.offset(), b.bytes()}, hal::DType(b.dtype())};
  }

  const program::Program &program;
  const program::Role &role;
  double seconds;
  std::unique_ptr<hal::Device> device;
  std::unique_ptr<comm::CommunicatorSet> communicators;
  std::vector<hal::KernelId> kernels;
  NoHost host; ///< Its instructions are not measured.
  /// Behind the program's arena: what is written to take caches away.
  hal::Range flush;
};

} // namespace

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

Status ProgramTimes::open() {
  if (program.roles_size() != 1 || role.ranks_size() != 1)
    return invalidArgument("the program has several ranks");
  HOCKET_ASSIGN_OR_RETURN(device,
                          hal::createDevice(program.provenance().target()));
  constexpr uint64_t moreThanCaches = uint64_t(256) << 20;
  flush = {role.memory().arena_bytes(), seconds > 0 ? moreThanCaches : 0};
  HOCKET_RETURN_IF_ERROR(device->allocateArena(flush.offset + flush.bytes));
  HOCKET_RETURN_IF_ERROR(
      device->createQueues(std::max(1U, role.streams()), role.events()));
  HOCKET_RETURN_IF_ERROR(
      device->reserveScratch(role.memory().scratch_bytes_per_worker()));
  communicators = comm::createSingleRank(groupTableOf(program));
  HOCKET_ASSIGN_OR_RETURN(kernels, loadKernels(program, *device));
  const hal::DeviceProperties &about = device->properties();
  result["device"] = {{"driver", about.driver},
                      {"name", about.name},
                      {"isa", about.isa},
                      {"memory_bytes", about.memoryBytes}};
  result["model"] = program.model().name();
  return fillArena();
}

/// Every 16 bits are a number of either sign from 2^-7 to 2 in bf16 and f16,
/// and the upper half of such a one in f32.
Status ProgramTimes::fillArena() {
  std::vector<uint16_t> words(1 << 19);
  std::mt19937 random(1);
  for (uint16_t &word : words)
    word = uint16_t((random() & 0x83ff) | 0x3c00);
  // The first of them from here, the others from those before.
  uint64_t end = flush.offset;
  uint64_t done = std::min(uint64_t(words.size() * 2), end);
  HOCKET_RETURN_IF_ERROR(device->copyFromHost(0, words.data(), {0, done}));
  for (uint64_t count = done; done < end; done += count) {
    count = std::min(done, end - done);
    HOCKET_RETURN_IF_ERROR(device->copy(0, {0, count}, {done, count}));
  }
  return device->synchronize();
}

static bool isOfExperts(const program::Library &call) {
  return call.op().starts_with("grouped_linear");
}

/// Of the program; 1 where it has none.
uint64_t ProgramTimes::experts() const {
  for (const auto &sequence : role.sequences())
    for (const auto &instruction : sequence.instructions())
      if (instruction.has_library() && isOfExperts(instruction.library()))
        return uint64_t(instruction.library().integers(4));
  return 1;
}

/// Where in its run each segment of experts' rows begins, and how many it has
/// (kernels/reference/Experts.h, GroupShape).
std::vector<int32_t>
ProgramTimes::evenRanges(const program::Library &grouped) const {
  auto runs = grouped.integers(5), segments = grouped.integers(6);
  int64_t each = grouped.integers(1) / (runs * segments);
  std::vector<int32_t> ranges;
  for (int64_t i = 0; i < runs * segments; ++i) {
    ranges.push_back(int32_t(i % segments * each));
    ranges.push_back(int32_t(each));
  }
  return ranges;
}

/// Ids, labels and the like: small numbers that differ.
Status ProgramTimes::setIntegers(const program::Instruction &instruction) {
  if (!instruction.has_library())
    return okStatus();
  constexpr uint64_t few = 256;
  uint64_t limit = std::min({few, uint64_t(program.model().vocab_size()),
                             uint64_t(program.model().sequence_length())});
  const std::string &op = instruction.library().op();
  if (op.starts_with("expert_") || op.starts_with("router_"))
    limit = std::min(limit, experts());
  for (uint32_t buffer : instruction.library().buffers()) {
    if (role.buffers(int(buffer)).dtype() != program::I32)
      continue;
    hal::Range range = operand(buffer).range;
    std::vector<int32_t> values(range.bytes / sizeof(int32_t));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = int32_t(i * 7 % limit);
    if (isOfExperts(instruction.library()))
      values = evenRanges(instruction.library());
    HOCKET_RETURN_IF_ERROR(device->copyFromHost(
        0, values.data(), {range.offset, values.size() * sizeof(int32_t)}));
  }
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

static bool isMeasured(const program::Instruction &instruction) {
  return instruction.has_launch() || instruction.has_gemm() ||
         instruction.has_library() || instruction.has_copy() ||
         instruction.has_fill();
}

/// What instructions of one kind have in common: all but where buffers lie.
std::string
ProgramTimes::nameOf(const program::Instruction &instruction) const {
  if (instruction.has_launch())
    return program.kernels(int(instruction.launch().kernel())).name();
  std::string name;
  auto add = [&](uint32_t buffer) {
    const program::Buffer &b = role.buffers(int(buffer));
    name += formatText(" %s:%llu", program::DType_Name(b.dtype()).c_str(),
                       (unsigned long long)b.bytes());
  };
  if (instruction.has_gemm()) {
    const program::Gemm &gemm = instruction.gemm();
    name =
        formatText("gemm %llu x %llu x %llu", (unsigned long long)gemm.m(),
                   (unsigned long long)gemm.n(), (unsigned long long)gemm.k());
    name += gemm.transpose_a() ? " a'" : "";
    name += gemm.transpose_b() ? " b'" : "";
    name += gemm.accumulate() ? " adding" : "";
    name += gemm.has_bias() ? " bias" : "";
    name += gemm.has_residual() ? " residual" : "";
    name += " " + gemm.epilogue();
    for (uint32_t buffer : {gemm.a(), gemm.b(), gemm.d()})
      add(buffer);
  }
  if (instruction.has_library())
    name = instruction.library().op();
  for (int64_t integer : instruction.library().integers())
    name += " " + std::to_string(integer);
  if (instruction.has_copy())
    name = "copy", add(instruction.copy().to());
  if (instruction.has_fill())
    name = "fill", add(instruction.fill().buffer());
  return name;
}

std::map<std::string, Kind> ProgramTimes::kinds() const {
  std::map<std::string, Kind> found;
  for (const program::Entry &entry : role.entries())
    for (const program::Entry::Run &run : entry.runs()) {
      if (entry.name() != "train_step")
        continue;
      for (const auto &instruction :
           role.sequences(int(run.sequence())).instructions())
        if (isMeasured(instruction)) {
          Kind &kind =
              found.try_emplace(nameOf(instruction), Kind{&instruction})
                  .first->second;
          ++kind.runs;
        }
    }
  return found;
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

/// Seconds of a call when `calls` of them are issued at once.
StatusOr<double> ProgramTimes::roundOf(const Work &work, uint64_t calls) {
  using Clock = std::chrono::steady_clock;
  auto begin = Clock::now();
  for (uint64_t i = 0; i < calls; ++i)
    HOCKET_RETURN_IF_ERROR(work());
  HOCKET_RETURN_IF_ERROR(device->synchronize());
  return std::chrono::duration<double>(Clock::now() - begin).count() /
         double(calls);
}

StatusOr<double> ProgramTimes::timeOf(const Work &work, bool cold) {
  auto flushed = [&] { return device->fill(0, flush, 1); };
  Work both = [&]() -> Status {
    HOCKET_RETURN_IF_ERROR(flushed());
    return work();
  };
  const Work &measured = cold ? both : work;
  HOCKET_ASSIGN_OR_RETURN(double first, roundOf(measured, 1));
  if (seconds <= 0)
    return first;
  constexpr int rounds = 5;
  constexpr double mostCalls = 1000;
  auto calls = uint64_t(std::clamp(seconds / rounds / first, 1.0, mostCalls));
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    HOCKET_ASSIGN_OR_RETURN(double time, roundOf(measured, calls));
    if (cold) {
      HOCKET_ASSIGN_OR_RETURN(double alone, roundOf(flushed, calls));
      time -= alone;
    }
    times.push_back(time);
  }
  std::ranges::sort(times);
  return times[rounds / 2];
}

/// The GEMM alone, as no program could ask for less.
Status ProgramTimes::measurePlain(const program::Gemm &gemm, json &row) {
  hal::GemmCall call;
  call.m = gemm.m(), call.n = gemm.n(), call.k = gemm.k();
  call.transposeA = gemm.transpose_a(), call.transposeB = gemm.transpose_b();
  call.packedB = gemm.b_packed();
  call.a = operand(gemm.a()), call.b = operand(gemm.b());
  if (gemm.b_packed())
    call.b.dtype = hal::DType(gemm.b_type());
  call.d = operand(gemm.d());
  return measurePlain(call, row);
}

Status ProgramTimes::measurePlain(const hal::GemmCall &call, json &row) {
  HOCKET_ASSIGN_OR_RETURN(double time,
                          timeOf([&] { return device->gemm(0, call); }, false));
  row["plain_seconds"] = time;
  row["flops"] = 2.0 * double(call.m) * double(call.n) * double(call.k);
  return okStatus();
}

/// The same FLOPs as a GEMM of all rows with one expert's weights.
Status ProgramTimes::measureOneExpert(const program::Library &grouped,
                                      json &row) {
  auto rows = uint64_t(grouped.integers(1)),
       out = uint64_t(grouped.integers(2));
  auto in = uint64_t(grouped.integers(3));
  hal::GemmCall call;
  call.a = operand(grouped.buffers(1)), call.b = operand(grouped.buffers(2));
  call.d = operand(grouped.buffers(0));
  if (grouped.op() == "grouped_linear") { // y = x w'
    call.m = rows, call.n = out, call.k = in;
    call.transposeB = true;
  } else if (grouped.op() == "grouped_linear_input_gradient") { // dx = dy w
    call.m = rows, call.n = in, call.k = out;
  } else { // dw = dy' x
    call.m = out, call.n = in, call.k = rows;
    call.transposeA = true;
  }
  return measurePlain(call, row);
}

Status ProgramTimes::measure(const Kind &kind, json &row) {
  const program::Instruction &instruction = *kind.first;
  row["source"] = instruction.source();
  row["runs"] = kind.runs;
  PreparationScope scope{program, role, kernels, 0, *communicators};
  HOCKET_ASSIGN_OR_RETURN(std::unique_ptr<PreparedCall> call,
                          prepareCall(instruction, scope));
  RunContext context{*device, host, 0, 0, 1, 1};
  Work work = [&] { return call->run(context); };
  HOCKET_RETURN_IF_ERROR(setIntegers(instruction));
  HOCKET_ASSIGN_OR_RETURN(double warm, timeOf(work, false));
  row["seconds"] = warm;
  if (seconds > 0) {
    HOCKET_ASSIGN_OR_RETURN(double cold, timeOf(work, true));
    row["cold_seconds"] = cold;
  }
  if (instruction.has_gemm()) {
    row["kind"] = "gemm";
    return measurePlain(instruction.gemm(), row);
  }
  if (instruction.has_launch()) {
    const auto &kernel = program.kernels(int(instruction.launch().kernel()));
    row["kind"] = "kernel";
    row["bytes"] = kernel.bytes();
    row["description"] = kernel.description();
    return okStatus();
  }
  row["kind"] = instruction.has_library() ? "library" : "copy";
  if (instruction.has_library()) {
    uint64_t bytes = 0;
    for (uint32_t buffer : instruction.library().buffers())
      bytes += role.buffers(int(buffer)).bytes();
    row["bytes"] = bytes;
    row["op"] = instruction.library().op();
    for (int64_t integer : instruction.library().integers())
      row["integers"].push_back(integer);
    if (isOfExperts(instruction.library()))
      return measureOneExpert(instruction.library(), row);
  }
  return okStatus();
}

/// Half of the arena, or 1 GiB, onto another.
Status ProgramTimes::measureCopy() {
  uint64_t bytes = std::min(uint64_t(1) << 30, device->arenaBytes() / 2);
  Work work = [&] { return device->copy(0, {0, bytes}, {bytes, bytes}); };
  HOCKET_ASSIGN_OR_RETURN(double time, timeOf(work, false));
  result["copy"] = {{"bytes", 2 * bytes}, {"seconds", time}};
  return okStatus();
}

Status ProgramTimes::run() {
  HOCKET_RETURN_IF_ERROR(open());
  result["instructions"] = json::array();
  for (const auto &[name, kind] : kinds()) {
    json row = {{"name", name}};
    Status status = measure(kind, row);
    if (!status.ok())
      row["error"] = status.message();
    result["instructions"].push_back(std::move(row));
  }
  return measureCopy();
}

static Status run(int argc, char **argv) {
  if (argc < 2 || argc > 3)
    return invalidArgument("usage: program_times PROGRAM [SECONDS]");
  HOCKET_ASSIGN_OR_RETURN(program::Program program, readProgram(argv[1]));
  constexpr double defaultSeconds = 0.02;
  ProgramTimes times(program, argc > 2 ? std::atof(argv[2]) : defaultSeconds);
  HOCKET_RETURN_IF_ERROR(times.run());
  std::cout << times.result.dump(1) << "\n";
  return okStatus();
}

int main(int argc, char **argv) {
  Status status = run(argc, argv);
  if (!status.ok())
    std::cerr << "program_times: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
