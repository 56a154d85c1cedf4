//===- ProgramBuilder.cpp - Executables written by hand -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/program/ProgramBuilder.h"

#include "base/File.h"
#include "runtime/program/DataType.h"
#include "runtime/program/InstructionOperands.h"
#include "runtime/program/ProgramRules.h"
#include "runtime/program/ValueWriters.h"

#include <algorithm>
#include <set>

using namespace hocket;
using namespace hocket::test;

ProgramBuilder::ProgramBuilder() {
  result.set_version(programVersion);
  result.mutable_provenance()->set_target("cpu");
  auto *axis = result.mutable_mesh()->add_axes();
  axis->set_name("dp");
  axis->set_size(1);
  result.mutable_model()->set_name("tiny");
  result.mutable_model()->set_vocab_size(16);
  result.mutable_model()->set_sequence_length(8);
  auto *training = result.mutable_training();
  training->set_micro_batch_size(2);
  training->set_global_batch_size(4);
  training->set_microbatches(2);
  training->set_steps(20);
  training->set_seed(1234);
  training->set_precision("fp32");
  training->set_log_interval(1);
  training->mutable_learning_rate()->set_schedule("constant");
  training->mutable_learning_rate()->set_peak(0.5);
  program::Role *role = result.add_roles();
  role->set_name("all");
  role->add_ranks(0);
  role->set_streams(1);
  role->mutable_memory()->set_alignment(64);
}

uint32_t ProgramBuilder::buffer(const std::string &name, program::DType dtype,
                                const std::vector<uint64_t> &shape,
                                bool persistent, const std::string &kind) {
  program::Buffer *buffer = role().add_buffers();
  buffer->set_name(name);
  buffer->set_dtype(dtype);
  buffer->mutable_shape()->Add(shape.begin(), shape.end());
  buffer->set_offset(end);
  buffer->set_bytes(*tensorBytes(shape, dtype));
  buffer->set_persistent(persistent);
  buffer->set_kind(kind);
  end += *checkedAlign(buffer->bytes(), 64);
  return uint32_t(role().buffers_size() - 1);
}

void ProgramBuilder::slots(uint32_t index, uint32_t count) {
  program::Buffer *buffer = role().mutable_buffers(int(index));
  buffer->set_offset(end);
  buffer->set_slots(count);
  buffer->set_slot_stride(64);
  end += uint64_t(count) * 64;
}

static void addSlice(program::Role &role, uint32_t parameter,
                     const std::string &state, uint32_t buffer) {
  program::ParameterSlice *slice = role.add_slices();
  slice->set_parameter(parameter);
  slice->set_state(state);
  slice->set_buffer(buffer);
  for (uint64_t dim : role.buffers(int(buffer)).shape()) {
    slice->add_start()->set_constant(0);
    slice->add_size(dim);
  }
}

uint32_t ProgramBuilder::parameter(const std::string &name,
                                   const std::vector<uint64_t> &shape,
                                   const std::string &initializer,
                                   double number) {
  program::Parameter *parameter = result.add_parameters();
  parameter->set_name(name);
  parameter->set_dtype(program::F32);
  parameter->mutable_shape()->Add(shape.begin(), shape.end());
  parameter->mutable_initializer()->set_kind(initializer);
  if (initializer == "normal")
    parameter->mutable_initializer()->set_stddev(number);
  else
    parameter->mutable_initializer()->set_value(number);
  parameter->set_random_key(uint32_t(result.parameters_size()));
  uint32_t value = buffer(name, program::F32, shape, true, "parameters");
  addSlice(role(), uint32_t(result.parameters_size() - 1), "value", value);
  return value;
}

uint32_t ProgramBuilder::slot(const std::string &name) {
  uint32_t index = uint32_t(result.parameters_size() - 1);
  program::Parameter *parameter = result.mutable_parameters(int(index));
  auto *slot = parameter->add_slots();
  slot->set_name(name);
  slot->set_dtype(program::F32);
  *slot->mutable_shape() = parameter->shape();
  uint32_t state =
      buffer(parameter->name() + "." + name, program::F32,
             {parameter->shape().begin(), parameter->shape().end()}, true,
             "optimizer");
  addSlice(role(), index, name, state);
  return state;
}

uint32_t ProgramBuilder::sequence(const std::string &name) {
  role().add_sequences()->set_name(name);
  return uint32_t(role().sequences_size() - 1);
}

program::Instruction &ProgramBuilder::instruction() {
  return *role()
              .mutable_sequences(role().sequences_size() - 1)
              ->add_instructions();
}

void ProgramBuilder::hostInput(const std::string &name, uint32_t buffer) {
  program::Host *host = instruction().mutable_host();
  host->set_name(name);
  host->set_buffer(buffer);
}

void ProgramBuilder::hostOutput(const std::string &name, uint32_t buffer) {
  hostInput(name, buffer);
  auto *sequence = role().mutable_sequences(role().sequences_size() - 1);
  sequence->mutable_instructions(sequence->instructions_size() - 1)
      ->mutable_host()
      ->set_direction(program::Host::OUTPUT);
}

program::Library &
ProgramBuilder::library(const std::string &op,
                        const std::vector<uint32_t> &buffers,
                        const std::vector<int64_t> &integers) {
  program::Library *library = instruction().mutable_library();
  library->set_op(op);
  library->mutable_buffers()->Add(buffers.begin(), buffers.end());
  library->mutable_integers()->Add(integers.begin(), integers.end());
  return *library;
}

program::Gemm &ProgramBuilder::gemm(uint64_t m, uint64_t n, uint64_t k,
                                    uint32_t a, uint32_t b, uint32_t d) {
  program::Gemm *gemm = instruction().mutable_gemm();
  gemm->set_m(m);
  gemm->set_n(n);
  gemm->set_k(k);
  gemm->set_a(a);
  gemm->set_b(b);
  gemm->set_d(d);
  return *gemm;
}

/// A kernel's operands are what it is launched with: an element a task, or one
/// for all.
static void describeOperands(const program::Role &role,
                             const std::vector<uint32_t> &buffers,
                             program::Kernel &kernel) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const program::Buffer &buffer = role.buffers(int(buffers[i]));
    program::Kernel::Operand &operand = *kernel.mutable_operands(int(i));
    operand.set_dtype(buffer.dtype());
    operand.set_elements(checkedProduct(buffer.shape()).value_or(0));
    operand.set_pattern(operand.elements() == kernel.tasks()
                            ? program::Kernel::EACH
                            : program::Kernel::SINGLE);
  }
}

program::Launch &ProgramBuilder::launch(uint32_t kernel,
                                        const std::vector<uint32_t> &buffers) {
  program::Launch *launch = instruction().mutable_launch();
  launch->set_kernel(kernel);
  launch->mutable_buffers()->Add(buffers.begin(), buffers.end());
  describeOperands(role(), buffers, *result.mutable_kernels(int(kernel)));
  return *launch;
}

uint32_t ProgramBuilder::module(const std::string &path) {
  program::KernelModule *module = result.add_modules();
  module->set_name("test");
  auto *variant = module->add_variants();
  variant->set_isa("x86-64-v3");
  variant->set_format("elf-so");
  auto image = readFile(path, 1 << 26);
  variant->set_image(image.ok() ? *image : image.status().message());
  return uint32_t(result.modules_size() - 1);
}

uint32_t ProgramBuilder::kernel(uint32_t module, const std::string &symbol,
                                uint64_t tasks,
                                const std::vector<program::Access> &access) {
  program::Kernel *kernel = result.add_kernels();
  kernel->set_name(symbol);
  kernel->set_module(module);
  kernel->set_symbol(symbol);
  kernel->set_tasks(tasks);
  kernel->set_grain(1);
  kernel->mutable_space()->set_rows(1);
  kernel->mutable_space()->set_cols(tasks);
  kernel->mutable_space()->set_task_rows(1);
  kernel->mutable_space()->set_task_cols(1);
  for (program::Access a : access)
    kernel->add_operands()->set_access(a);
  return uint32_t(result.kernels_size() - 1);
}

program::Entry &ProgramBuilder::entry(const std::string &name) {
  program::Entry *entry = role().add_entries();
  entry->set_name(name);
  return *entry;
}

//===----------------------------------------------------------------------===//
// Many ranks
//===----------------------------------------------------------------------===//

void ProgramBuilder::ranks(unsigned count) {
  result.mutable_mesh()->mutable_axes(0)->set_size(count);
  program::Group *group = result.add_groups();
  group->set_name("dp");
  auto *members = group->add_members();
  role().clear_ranks();
  for (unsigned rank = 0; rank < count; ++rank) {
    role().add_ranks(rank);
    members->add_ranks(rank);
  }
  for (program::ParameterSlice &slice : *role().mutable_slices())
    slice.add_replicas(0);
}

void ProgramBuilder::shard(const std::string &name,
                           const std::vector<uint64_t> &shape) {
  for (int p = 0; p < result.parameters_size(); ++p) {
    program::Parameter &parameter = *result.mutable_parameters(p);
    if (parameter.name() != name)
      continue;
    *parameter.mutable_shape() = {shape.begin(), shape.end()};
    for (auto &slot : *parameter.mutable_slots())
      *slot.mutable_shape() = parameter.shape();
    for (program::ParameterSlice &slice : *role().mutable_slices())
      if (slice.parameter() == uint32_t(p)) {
        slice.mutable_start(0)->set_index_in_group(0);
        slice.mutable_start(0)->set_multiplier(int64_t(slice.size(0)));
        slice.clear_replicas();
      }
  }
}

program::Collective &ProgramBuilder::collective(const std::string &op,
                                                uint32_t from, uint32_t to) {
  program::Collective *collective = instruction().mutable_collective();
  collective->set_op(op);
  collective->set_reduction("sum");
  collective->set_from(from);
  collective->set_to(to);
  return *collective;
}

program::Transfer &ProgramBuilder::ring(uint32_t out, uint32_t in) {
  program::Transfer *transfer = instruction().mutable_transfer();
  uint32_t ranks = uint32_t(role().ranks_size());
  for (bool send : {true, false}) {
    auto *part = transfer->add_parts();
    part->set_send(send);
    part->set_relative(true);
    part->set_peer(send ? 1 % ranks : ranks - 1);
    part->set_buffer(send ? out : in);
  }
  return *transfer;
}

void ProgramBuilder::onStream(uint32_t stream) {
  auto *sequence = role().mutable_sequences(role().sequences_size() - 1);
  sequence->mutable_instructions(sequence->instructions_size() - 1)
      ->set_stream(stream);
  role().set_streams(std::max(role().streams(), stream + 1));
}

void ProgramBuilder::record(uint32_t stream, uint32_t event) {
  instruction().mutable_record()->set_event(event);
  role().set_events(std::max(role().events(), event + 1));
  onStream(stream);
}

void ProgramBuilder::wait(uint32_t stream, uint32_t event) {
  instruction().mutable_wait()->set_event(event);
  onStream(stream);
}

/// Bytes that are used from instruction `position` on or before, and after.
static uint64_t liveAt(const program::Role &role, uint64_t position,
                       const std::string &kind) {
  uint64_t bytes = 0;
  for (const program::Buffer &buffer : role.buffers())
    if ((kind.empty() || buffer.kind() == kind) &&
        (buffer.persistent() ||
         (buffer.first() <= position && position <= buffer.last())))
      bytes += buffer.bytes() * std::max(1u, buffer.slots());
  return bytes;
}

static void stateMemory(program::Role &role, uint64_t arenaBytes) {
  program::MemoryPlan &memory = *role.mutable_memory();
  memory.set_arena_bytes(arenaBytes);
  memory.set_lower_bound_bytes(arenaBytes);
  uint64_t peak = 0;
  std::set<std::string> kinds;
  for (const program::Buffer &buffer : role.buffers()) {
    kinds.insert(buffer.kind());
    for (uint64_t at = 0; at <= buffer.last(); ++at)
      if (liveAt(role, at, "") > liveAt(role, peak, ""))
        peak = at;
  }
  for (const std::string &name : kinds)
    if (uint64_t bytes = liveAt(role, peak, name)) {
      auto *kind = memory.add_at_peak();
      kind->set_name(name);
      kind->set_bytes(bytes);
    }
}

program::Program ProgramBuilder::finish() {
  std::set<uint32_t> seen;
  uint64_t position = 0;
  for (const program::Sequence &sequence : role().sequences())
    for (const auto &instruction : sequence.instructions()) {
      for (const auto &operand : operandsOf(instruction, result)) {
        auto *buffer = role().mutable_buffers(int(operand.buffer));
        if (seen.insert(operand.buffer).second)
          buffer->set_first(position);
        buffer->set_last(position);
      }
      ++position;
    }
  stateWriters(result, role());
  result.mutable_model()->set_parameter_count(0);
  for (const program::Parameter &parameter : result.parameters())
    if (!parameter.name().starts_with("state."))
      result.mutable_model()->set_parameter_count(
          result.model().parameter_count() +
          checkedProduct(parameter.shape()).value_or(0));
  stateMemory(role(), end);
  result.clear_certificate();
  for (uint32_t rank : role().ranks()) {
    auto *peak = result.mutable_certificate()->add_peaks();
    peak->set_rank(rank);
    peak->set_memory("arena");
    peak->set_bytes(end);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// The tiny model
//===----------------------------------------------------------------------===//

namespace {
/// Buffers that the sequences of the tiny model share.
struct TinyBuffers {
  uint32_t embed, embedMomentum, w, wMomentum, dloss, dEmbed, dW;
};
} // namespace

static constexpr int64_t f32 = 1;

/// Each rank's rows of the global microbatch.
static void hostBatch(ProgramBuilder &b, const TinyModel &s,
                      const std::string &name, uint32_t buffer) {
  b.hostInput(name, buffer);
  if (s.ranks == 1)
    return;
  auto *sequence = b.role().mutable_sequences(b.role().sequences_size() - 1);
  auto *shard =
      sequence->mutable_instructions(sequence->instructions_size() - 1)
          ->mutable_host()
          ->add_shards();
  program::Scalar *row = shard->add_start();
  row->set_index_in_group(0);
  row->set_multiplier(int64_t(s.microBatch));
  shard->add_start()->set_constant(0);
  shard->add_size(s.microBatch);
  shard->add_size(s.sequence);
}

/// Loss of a microbatch; with `backward`, the gradients too.
static void addMicrobatch(ProgramBuilder &b, const TinyModel &s,
                          const TinyBuffers &shared, bool backward) {
  using enum program::DType;
  int64_t T = int64_t(s.tokens()), V = int64_t(s.vocabulary),
          H = int64_t(s.hidden);
  uint64_t t = s.tokens(), v = s.vocabulary, h = s.hidden;
  uint32_t tokens = b.buffer("tokens", I32, {s.microBatch, s.sequence});
  uint32_t labels = b.buffer("labels", I32, {s.microBatch, s.sequence});
  uint32_t x = b.buffer("x", F32, {t, h});
  uint32_t logits = b.buffer("logits", F32, {t, v});
  uint32_t loss = b.buffer("loss", F32, {1});
  uint32_t lse = b.buffer("lse", F32, {t});
  hostBatch(b, s, "tokens", tokens);
  hostBatch(b, s, "labels", labels);
  b.library("embedding", {tokens, shared.embed, x}, {f32, f32, T, V, H});
  b.gemm(t, v, h, x, shared.w, logits).set_transpose_b(true);
  b.library("cross_entropy_forward", {logits, labels, loss, lse},
            {f32, T, V, V});
  if (s.ranks > 1)
    b.collective("all_reduce", loss, loss);
  b.hostOutput("loss", loss);
  if (!backward)
    return;
  uint32_t dx = b.buffer("dx", F32, {t, h});
  b.library("cross_entropy_backward",
            {logits, labels, lse, shared.dloss, logits}, {f32, T, V, V});
  program::Gemm &dW = b.gemm(v, h, t, logits, x, shared.dW);
  dW.set_transpose_a(true);
  dW.set_accumulate(program::ADD_UNLESS_FIRST_MICROBATCH);
  dW.set_alpha(1 / float(s.ranks)); // The sum over ranks is the mean.
  b.gemm(t, h, v, logits, shared.w, dx).set_alpha(1 / float(s.ranks));
  b.library("embedding_gradient", {tokens, dx, shared.dEmbed}, {f32, T, V, H})
      .set_accumulate(program::ADD_UNLESS_FIRST_MICROBATCH);
}

static void addUpdate(ProgramBuilder &b, const TinyModel &s,
                      const TinyBuffers &shared) {
  using enum program::DType;
  int64_t elements = int64_t(s.vocabulary * s.hidden);
  uint32_t rate = b.buffer("learning_rate", F32, {1});
  uint32_t norm = b.buffer("norm", F32, {1});
  uint32_t nonfinite = b.buffer("nonfinite", F32, {1});
  b.hostInput("learning_rate", rate);
  if (s.ranks > 1)
    for (uint32_t gradient : {shared.dEmbed, shared.dW})
      b.collective("all_reduce", gradient, gradient);
  b.library("global_norm", {norm, nonfinite, shared.dEmbed, shared.dW},
            {f32, elements, f32, elements});
  b.hostOutput("grad_norm", norm);
  uint32_t module = b.module(HOCKET_TEST_KERNELS);
  uint32_t momentum = b.kernel(
      module, "momentumUpdate", uint64_t(elements),
      {program::READ_WRITE, program::READ_WRITE, program::READ, program::READ});
  b.launch(momentum, {shared.embed, shared.embedMomentum, shared.dEmbed, rate});
  b.launch(momentum, {shared.w, shared.wMomentum, shared.dW, rate});
}

program::Program test::tinyModel(const TinyModel &sizes) {
  ProgramBuilder b;
  program::Program &p = b.program();
  p.mutable_model()->set_vocab_size(sizes.vocabulary);
  p.mutable_model()->set_sequence_length(sizes.sequence);
  p.mutable_training()->set_micro_batch_size(sizes.microBatch);
  p.mutable_training()->set_microbatches(sizes.microbatches);
  p.mutable_training()->set_global_batch_size(sizes.microBatch *
                                              sizes.microbatches * sizes.ranks);
  TinyBuffers shared;
  std::vector<uint64_t> shape = {sizes.vocabulary, sizes.hidden};
  shared.embed = b.parameter("embed", shape, "normal", 0.1);
  shared.embedMomentum = b.slot("momentum");
  shared.w = b.parameter("w", shape, "normal", 0.1);
  shared.wMomentum = b.slot("momentum");
  shared.dloss = b.parameter("state.dloss", {1}, "constant",
                             1.0 / double(sizes.microbatches));
  if (sizes.ranks > 1)
    b.ranks(sizes.ranks);
  shared.dEmbed = b.buffer("dembed", program::F32, shape, false, "gradients");
  shared.dW = b.buffer("dw", program::F32, shape, false, "gradients");

  uint32_t train = b.sequence("microbatch");
  addMicrobatch(b, sizes, shared, true);
  uint32_t update = b.sequence("update");
  addUpdate(b, sizes, shared);
  uint32_t eval = b.sequence("eval");
  addMicrobatch(b, sizes, shared, false);

  program::Entry &step = b.entry("train_step");
  for (uint32_t m = 0; m < sizes.microbatches; ++m) {
    auto *run = step.add_runs();
    run->set_sequence(train);
    run->set_microbatch(m);
  }
  step.add_runs()->set_sequence(update);
  b.entry("eval_step").add_runs()->set_sequence(eval);
  return b.finish();
}
