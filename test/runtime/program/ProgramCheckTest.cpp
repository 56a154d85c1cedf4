//===- ProgramCheckTest.cpp - Unsound executables and their reasons -------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/check/ProgramCheck.h"

#include "runtime/program/ValueWriters.h"
#include "test/runtime/program/ProgramBuilder.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace hocket;
using program::Instruction;
using program::Program;
using program::Role;

/// The rule's number, where and what, without its advice.
static std::vector<std::string> reasonsOf(const Program &program) {
  std::vector<std::string> reasons;
  for (const ProgramFault &fault : findProgramFaults(program))
    reasons.push_back("V" + std::to_string(unsigned(fault.rule)) + ": " +
                      fault.place + (fault.place.empty() ? "" : ": ") +
                      fault.what);
  return reasons;
}

TEST(ProgramCheck, TheTinyModelIsSound) {
  EXPECT_EQ(reasonsOf(test::tinyModel()), std::vector<std::string>());
}

namespace {
/// A change to the tiny model and the first reason it must give.
struct Mutation {
  const char *name;
  std::function<void(Program &, Role &)> change;
  const char *reason;
};
} // namespace

static Instruction &at(Role &role, int sequence, int instruction) {
  return *role.mutable_sequences(sequence)->mutable_instructions(instruction);
}

// Buffers of the tiny model, in order: embed 0, its momentum 1, w 2, its
// momentum 3, dloss 4, dembed 5, dw 6, tokens 7, labels 8, x 9, logits 10,
// loss 11, lse 12, dx 13, ... Instructions of "microbatch": 0 tokens, 1 labels,
// 2 embedding, 3 gemm, 4 loss, 5 host, 6 loss gradient, 7 dw, 8 dx, 9 dembed.
/// A group of all ranks, that is, of one.
static program::Group &addGroup(Program &program) {
  program::Group &group = *program.add_groups();
  group.set_name("dp");
  group.add_members()->add_ranks(0);
  return group;
}

/// Makes instruction 5 of the first sequence a receive into `buffer`.
static program::Transfer::Part &transferOf(Role &role, uint32_t buffer) {
  auto *part = role.mutable_sequences(0)
                   ->mutable_instructions(5)
                   ->mutable_transfer()
                   ->add_parts();
  part->set_buffer(buffer);
  return *part;
}

static const Mutation mutations[] = {
    {"version", [](Program &p, Role &r) { p.set_version(3); },
     "V1: program version 3, expected 2"},
    {"no role", [](Program &p, Role &r) { p.clear_roles(); },
     "V1: the program has no role"},
    {"text of an instruction",
     [](Program &p, Role &r) { at(r, 0, 2).set_why(1); },
     "V7: rank 0, role 0 'all', sequence 0 'microbatch', instruction 2: names text 1, there are 0"},
    {"text of a tensor",
     [](Program &p, Role &r) {
       p.mutable_explanation()->add_texts("w");
       auto *tensor = p.mutable_explanation()->add_tensors();
       tensor->set_dtype(program::F32);
       tensor->set_name(2);
     },
     "V7: explanation of tensor 0: names text 2, there are 1"},
    {"dims of a tensor",
     [](Program &p, Role &r) {
       auto *tensor = p.mutable_explanation()->add_tensors();
       tensor->set_dtype(program::F32);
       tensor->add_shape(8);
       tensor->add_local_shape(4);
     },
     "V7: explanation of tensor 0: shapes of 1 and 1 dims, axes of 0"},
    {"axes of a tensor",
     [](Program &p, Role &r) {
       auto *tensor = p.mutable_explanation()->add_tensors();
       tensor->set_dtype(program::F32);
       tensor->add_partial(99);
     },
     "V7: explanation of tensor 0: names an axis that the mesh lacks"},
    {"size of a tensor",
     [](Program &p, Role &r) {
       auto *tensor = p.mutable_explanation()->add_tensors();
       tensor->set_dtype(program::F32);
       for (int d = 0; d < 3; ++d) {
         tensor->add_shape(uint64_t(1) << 40);
         tensor->add_local_shape(1);
         tensor->add_dims();
       }
     },
     "V7: explanation of tensor 0: has more than 2^64 bytes"},
    {"micro batch",
     [](Program &p, Role &r) { p.mutable_training()->set_micro_batch_size(0); },
     "V2: training: micro batch size, microbatches, sequence length and vocabulary size must be positive"},
    {"global batch",
     [](Program &p, Role &r) {
       p.mutable_training()->set_global_batch_size(5);
     },
     "V2: training: global batch size 5 is no multiple of micro batch size 2 x 2 microbatches"},
    {"schedule",
     [](Program &p, Role &r) {
       p.mutable_training()->mutable_learning_rate()->set_schedule("cubic");
     },
     "V2: learning rate: schedule 'cubic' is not one of constant, linear, cosine, inverse_sqrt, wsd"},
    {"nan rate",
     [](Program &p, Role &r) {
       p.mutable_training()->mutable_learning_rate()->set_peak(NAN);
     },
     "V2: learning rate: peak and minimum must be finite and not negative"},
    {"parameter twice",
     [](Program &p, Role &r) { p.mutable_parameters(1)->set_name("embed"); },
     "V3: parameter 1 'embed': another parameter has the same name"},
    {"parameter overflow",
     [](Program &p, Role &r) {
       p.mutable_parameters(0)->set_shape(0, ~uint64_t(0));
     },
     "V3: parameter 0 'embed': shape [18446744073709551615, 8] has more than 2^64 bytes"},
    {"parameter type",
     [](Program &p, Role &r) {
       p.mutable_parameters(0)->set_dtype(program::DType(77));
     },
     "V3: parameter 0 'embed': element type 77 does not exist"},
    {"initializer",
     [](Program &p, Role &r) {
       p.mutable_parameters(0)->mutable_initializer()->set_kind("magic");
     },
     "V3: parameter 0 'embed': initializer 'magic' is not one of normal, uniform, log_uniform, time_step, zeros, ones, constant"},
    {"no ELF",
     [](Program &p, Role &r) {
       p.mutable_modules(0)->mutable_variants(0)->set_image("#!/bin/sh");
     },
     "V4: module 0 'test': variant 'x86-64-v3' is not an ELF shared object"},
    {"source for one GPU",
     [](Program &p, Role &r) {
       p.mutable_modules(0)->mutable_variants(0)->set_format("cuda-c++");
     },
     "V4: module 0 'test': a source must be a text for every GPU"},
    {"architecture of a cubin",
     [](Program &p, Role &r) {
       p.mutable_modules(0)->mutable_variants(0)->set_format("cubin");
     },
     "V4: module 0 'test': a cubin is for 'x86-64-v3', which is no architecture, e.g. sm_90a"},
    {"two kinds of devices",
     [](Program &p, Role &r) {
       auto *variant = p.mutable_modules(0)->add_variants();
       variant->set_format("cuda-c++");
       variant->set_image("__global__");
     },
     "V4: module 0 'test': has variants for processors and for GPUs"},
    {"kernel of a GPU without threads",
     [](Program &p, Role &r) {
       auto *variant = p.mutable_modules(0)->mutable_variants(0);
       variant->set_format("cubin");
       variant->set_isa("sm_90a");
     },
     "V4: kernel 0 'momentumUpdate': on a GPU a kernel has a multiple of 32 threads a block, at most 1024, at most 2^31 - 1 blocks and 227 KiB of shared memory"},
    {"kernel of a processor with threads",
     [](Program &p, Role &r) { p.mutable_kernels(0)->set_threads(256); },
     "V4: kernel 0 'momentumUpdate': has threads of a GPU, its module has no code for one"},
    {"kernel module",
     [](Program &p, Role &r) { p.mutable_kernels(0)->set_module(9); },
     "V4: kernel 0 'momentumUpdate': names module 9, there are 1"},
    {"kernel tasks",
     [](Program &p, Role &r) { p.mutable_kernels(0)->set_tasks(~uint64_t(0)); },
     "V4: kernel 0 'momentumUpdate': tasks must be from 1 to 2^56, grain at most 2^56"},
    {"kernel tasks that its space does not have",
     [](Program &p, Role &r) { p.mutable_kernels(0)->set_tasks(128 << 20); },
     "V8: kernel 0 'momentumUpdate': has 134217728 tasks, its space of 1 x 128 makes 128"},
    {"kernel space",
     [](Program &p, Role &r) {
       p.mutable_kernels(0)->mutable_space()->set_rows(2);
       p.mutable_kernels(0)->set_tasks(256);
     },
     "V8: kernel 0 'momentumUpdate': operand 0 of 128 elements does not follow its space of 2 x 128"},
    {"kernel space that overflows",
     [](Program &p, Role &r) {
       p.mutable_kernels(0)->mutable_space()->set_rows(~uint64_t(0));
     },
     "V8: kernel 0 'momentumUpdate': its space of 18446744073709551615 x 128 cannot be cut into tasks of 1 x 1, or vectors of 0"},
    {"kernel operand",
     [](Program &p, Role &r) {
       p.mutable_kernels(0)->mutable_operands(2)->set_access(program::UNKNOWN);
     },
     "V8: kernel 0 'momentumUpdate': does not say what it does to operand 2"},
    {"launch of a buffer that is smaller",
     [](Program &p, Role &r) {
       auto &launch = *at(r, 1, 3).mutable_launch();
       launch.set_buffers(2, launch.buffers(3));
     },
     "V21: rank 0, role 0 'all', sequence 1 'update', instruction 3: operand 2, buffer 14, has 1 elements, 128 are needed"},
    {"launch of a buffer of another type",
     [](Program &p, Role &r) {
       p.mutable_kernels(0)->mutable_operands(2)->set_dtype(program::I32);
     },
     "V21: rank 0, role 0 'all', sequence 1 'update', instruction 3: operand 2, buffer 5, has elements of type f32, which it does not take"},
    {"batch that nothing computes",
     [](Program &p, Role &r) {
       p.mutable_training()->set_global_batch_size(8);
     },
     "V25: rank 0, role 0 'all': takes in 'tokens' whole, of 16 elements; the global microbatch is 4 x 8"},
    {"microbatch that is not taken in",
     [](Program &p, Role &r) {
       r.mutable_entries(0)->mutable_runs(1)->set_microbatch(0);
     },
     "V25: rank 0, role 0 'all', sequence 0 'microbatch': takes in 1 microbatches in 2 runs of a step of 2 (entry 'train_step')"},
    {"vocabulary of the loss",
     [](Program &p, Role &r) {
       at(r, 0, 4).mutable_library()->set_integers(3, 15);
     },
     "V26: rank 0, role 0 'all', sequence 0 'microbatch', instruction 4: 'cross_entropy_forward' counts 15 columns, the vocabulary has 16"},
    {"rank", [](Program &p, Role &r) { r.set_ranks(0, 7); },
     "V1: rank 7, role 0 'all': rank 7 is not in the mesh"},
    {"certificate",
     [](Program &p, Role &r) {
       p.mutable_certificate()->mutable_peaks(0)->set_bytes(0);
     },
     "V12: certificate: rank 0: peak is 0 bytes, the arena has 7424"},
    {"alignment",
     [](Program &p, Role &r) { r.mutable_memory()->set_alignment(48); },
     "V10: rank 0, role 0 'all': alignment 48 is not a power of two from 4 to 4096"},
    {"offset unaligned",
     [](Program &p, Role &r) {
       r.mutable_buffers(3)->set_offset(r.buffers(3).offset() + 4);
     },
     "V10: rank 0, role 0 'all', buffer 3 'w.momentum': offset 1540 is not a multiple of the alignment 64"},
    {"offset wraps",
     [](Program &p, Role &r) {
       r.mutable_buffers(3)->set_offset(~uint64_t(63));
     },
     "V10: rank 0, role 0 'all', buffer 3 'w.momentum': bytes [18446744073709551552, +512) lie outside the arena of 7424"},
    {"outside",
     [](Program &p, Role &r) { r.mutable_memory()->set_arena_bytes(1024); },
     "V10: rank 0, role 0 'all', buffer 2 'w': bytes [1024, +512) lie outside the arena of 1024"},
    {"bytes", [](Program &p, Role &r) { r.mutable_buffers(3)->set_bytes(8); },
     "V10: rank 0, role 0 'all', buffer 3 'w.momentum': has 8 bytes, its [16, 8] of f32 takes 512"},
    {"shape",
     [](Program &p, Role &r) {
       r.mutable_buffers(3)->set_shape(1, uint64_t(1) << 62);
     },
     "V10: rank 0, role 0 'all', buffer 3 'w.momentum': shape [16, 4611686018427387904] is empty or has more than 2^64 bytes"},
    {"lifetime order",
     [](Program &p, Role &r) { r.mutable_buffers(9)->set_first(9); },
     "V10: rank 0, role 0 'all', buffer 9 'x': lives from instruction 9 to 7"},
    {"lifetime short",
     [](Program &p, Role &r) { r.mutable_buffers(9)->set_last(5); },
     "V11: rank 0, role 0 'all', buffer 9 'x': is used by instructions 2 to 7, but lives from 2 to 5"},
    {"overlap in time",
     [](Program &p, Role &r) {
       r.mutable_buffers(13)->set_offset(r.buffers(10).offset());
     },
     "V11: rank 0, role 0 'all', buffer 13 'dx': shares bytes with buffer 10 'logits', which lives at the same time"},
    {"overlap persistent",
     [](Program &p, Role &r) {
       r.mutable_buffers(13)->set_offset(r.buffers(2).offset());
     },
     "V11: rank 0, role 0 'all', buffer 13 'dx': shares bytes with buffer 2 'w', which lives at the same time"},
    {"slot stride",
     [](Program &p, Role &r) { r.mutable_buffers(12)->set_slots(3); },
     "V10: rank 0, role 0 'all', buffer 12 'lse': slot stride 0 is too small or not aligned"},
    {"stream", [](Program &p, Role &r) { at(r, 0, 3).set_stream(4); },
     "V20: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: runs on stream 4, there are 1"},
    {"no kind", [](Program &p, Role &r) { at(r, 0, 3).clear_gemm(); },
     "V20: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: is of no known kind"},
    {"buffer index",
     [](Program &p, Role &r) { at(r, 0, 3).mutable_gemm()->set_a(99); },
     "V20: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: names buffer 99, there are 23"},
    {"gemm size",
     [](Program &p, Role &r) { at(r, 0, 3).mutable_gemm()->set_m(17); },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: operand a, buffer 9, has 128 elements, 136 are needed"},
    {"gemm size smaller",
     [](Program &p, Role &r) { at(r, 0, 3).mutable_gemm()->set_m(15); },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: operand a, buffer 9, has 128 elements, 120 are needed"},
    {"gemm huge",
     [](Program &p, Role &r) {
       at(r, 0, 3).mutable_gemm()->set_k(uint64_t(1) << 31);
     },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: gemm of 16 x 16 x 2147483648; each must be from 1 to 2^31 - 1"},
    {"gemm type",
     [](Program &p, Role &r) { at(r, 0, 3).mutable_gemm()->set_a(7); },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: operand a, buffer 7, has elements of type i32, which it does not take"},
    {"gemm alias",
     [](Program &p, Role &r) { at(r, 0, 3).mutable_gemm()->set_b(10); },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: gemm's result is one of its inputs"},
    {"gemm pair",
     [](Program &p, Role &r) {
       r.mutable_buffers(9)->set_dtype(program::F8_E4M3);
       r.mutable_buffers(9)->set_shape(1, 32); // as many bytes
     },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: gemm: one factor has 8-bit elements and the other has not"},
    {"gemm scale",
     [](Program &p, Role &r) {
       at(r, 0, 3).mutable_gemm()->set_has_scale_b(true);
     },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: gemm has scales for operands that are not of 8 bits"},
    {"gemm scale index",
     [](Program &p, Role &r) {
       at(r, 0, 3).mutable_gemm()->set_has_scale_a(true);
       at(r, 0, 3).mutable_gemm()->set_scale_a(77);
     },
     "V20: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: names buffer 77, there are 23"},
    {"gemm epilogue",
     [](Program &p, Role &r) {
       at(r, 0, 3).mutable_gemm()->set_epilogue("gelo");
     },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: gemm has an unknown epilogue 'gelo'"},
    {"gemm preactivation",
     [](Program &p, Role &r) {
       at(r, 0, 3).mutable_gemm()->set_has_preactivation(true);
       at(r, 0, 3).mutable_gemm()->set_preactivation(1);
     },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: gemm has a preactivation without an epilogue, or adds something"},
    {"gemm bias gradient",
     [](Program &p, Role &r) {
       at(r, 0, 3).mutable_gemm()->set_has_bias_gradient(true);
       at(r, 0, 3).mutable_gemm()->set_bias_gradient(1);
       at(r, 0, 3).mutable_gemm()->set_epilogue("gelu");
     },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: gemm has a bias gradient beside an epilogue or what it adds"},
    {"gemm packed",
     [](Program &p, Role &r) {
       at(r, 0, 3).mutable_gemm()->set_b_packed(true);
     },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: packed operand b, buffer 2, has 512 bytes, 1024 are needed"},
    {"library name",
     [](Program &p, Role &r) {
       at(r, 0, 2).mutable_library()->set_op("embeding");
     },
     "V20: rank 0, role 0 'all', sequence 0 'microbatch', instruction 2: calls an unknown library op 'embeding'; did the compiler mean 'embedding'?"},
    {"library numbers",
     [](Program &p, Role &r) {
       at(r, 0, 2).mutable_library()->mutable_integers()->RemoveLast();
     },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 2: library op 'embedding': wrong number of integers"},
    {"library operands",
     [](Program &p, Role &r) {
       at(r, 0, 2).mutable_library()->mutable_buffers()->RemoveLast();
     },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 2: library op 'embedding': wrong number of buffers"},
    {"library size",
     [](Program &p, Role &r) {
       at(r, 0, 2).mutable_library()->set_integers(2, 17);
     },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 2: library op 'embedding': operand 0, buffer 7, has 64 bytes, 68 are needed"},
    {"library overflow",
     [](Program &p, Role &r) {
       at(r, 0, 2).mutable_library()->set_integers(2, int64_t(1) << 62);
     },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 2: library op 'embedding': a dimension out of range"},
    {"kernel index",
     [](Program &p, Role &r) { at(r, 1, 3).mutable_launch()->set_kernel(3); },
     "V20: rank 0, role 0 'all', sequence 1 'update', instruction 3: launches kernel 3, there are 1"},
    {"kernel buffers",
     [](Program &p, Role &r) {
       at(r, 1, 3).mutable_launch()->mutable_buffers()->RemoveLast();
     },
     "V21: rank 0, role 0 'all', sequence 1 'update', instruction 3: passes 3 buffers and 0 scalars, kernel 'momentumUpdate' takes 4 and 0"},
    {"scalar kind",
     [](Program &p, Role &r) { at(r, 1, 3).mutable_launch()->add_scalars(); },
     "V21: rank 0, role 0 'all', sequence 1 'update', instruction 3: passes 4 buffers and 1 scalars, kernel 'momentumUpdate' takes 4 and 0"},
    {"copy sizes",
     [](Program &p, Role &r) { at(r, 0, 5).mutable_copy()->set_to(4); },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 5: copies 512 bytes into 4"},
    {"fill byte",
     [](Program &p, Role &r) {
       at(r, 0, 5).mutable_fill()->set_byte_value(256);
     },
     "V21: rank 0, role 0 'all', sequence 0 'microbatch', instruction 5: fills with 256, which is no byte"},
    {"event",
     [](Program &p, Role &r) { at(r, 0, 5).mutable_record()->set_event(0); },
     "V20: rank 0, role 0 'all', sequence 0 'microbatch', instruction 5: names event 0, there are 0"},
    {"collective",
     [](Program &p, Role &r) {
       at(r, 0, 5).mutable_collective()->set_op("all_reduse");
     },
     "V22: rank 0, role 0 'all', sequence 0 'microbatch', instruction 5: unknown collective 'all_reduse'"},
    {"peer",
     [](Program &p, Role &r) {
       addGroup(p);
       transferOf(r, 4).set_peer(3);
     },
     "V23: rank 0, role 0 'all', sequence 0 'microbatch', instruction 5: receives from place 3 of a group of 1"},
    {"group that is not there", [](Program &p, Role &r) { transferOf(r, 4); },
     "V20: rank 0, role 0 'all', sequence 0 'microbatch', instruction 5: names group 0, there are 0"},
    {"group without the rank",
     [](Program &p, Role &r) {
       addGroup(p).mutable_members(0)->set_ranks(0, 1);
     },
     "V5: group 0 'dp': names rank 1 of a mesh that has it not"},
    {"group with a rank twice",
     [](Program &p, Role &r) {
       program::Group &group = addGroup(p);
       *group.add_members() = program::Group::Members(group.members(0));
     },
     "V5: group 0 'dp': names rank 0 twice"},
    {"type that does not travel",
     [](Program &p, Role &r) {
       addGroup(p);
       transferOf(r, 12);
       r.mutable_buffers(12)->set_dtype(program::F64);
       r.mutable_buffers(12)->set_shape(0, 8); // as many bytes
     },
     "V22: rank 0, role 0 'all', sequence 0 'microbatch', instruction 5: communicates buffer 12 of type f64, which only f32, bf16, f16, i32, f8e4m3 and f8e5m2 can"},
    {"collective sizes",
     [](Program &p, Role &r) {
       addGroup(p);
       auto *collective = at(r, 0, 5).mutable_collective();
       collective->set_op("all_gather");
       collective->set_from(4);
       collective->set_to(0);
     },
     "V22: rank 0, role 0 'all', sequence 0 'microbatch', instruction 5: all_gather of 1 elements into 128 among 1 ranks"},
    {"parts that meet",
     [](Program &p, Role &r) {
       addGroup(p);
       auto *collective = at(r, 0, 5).mutable_collective();
       collective->set_op("all_reduce");
       collective->set_reduction("sum");
       collective->set_from(4);
       collective->set_to(4);
       auto *shard = collective->add_others();
       shard->set_from(4);
       shard->set_to(4);
     },
     "V22: rank 0, role 0 'all', sequence 0 'microbatch', instruction 5: two parts of a collective meet in buffer 4"},
    {"root",
     [](Program &p, Role &r) {
       addGroup(p);
       auto *collective = at(r, 0, 5).mutable_collective();
       collective->set_op("broadcast");
       collective->set_root(1);
     },
     "V22: rank 0, role 0 'all', sequence 0 'microbatch', instruction 5: broadcasts from place 1 of 1"},
    {"computes beside stream 0",
     [](Program &p, Role &r) {
       r.set_streams(2);
       at(r, 0, 3).set_stream(1);
     },
     "V20: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: runs on stream 1; only stream 0 computes"},
    {"shards",
     [](Program &p, Role &r) {
       auto *shard = at(r, 0, 0).mutable_host()->add_shards();
       for (uint64_t size : {2, 7}) {
         shard->add_start()->set_constant(0);
         shard->add_size(size);
       }
     },
     "V24: rank 0, role 0 'all', sequence 0 'microbatch', instruction 0: shards of 2 x 7 fill a buffer of 16 elements"},
    {"shards of an output that has none",
     [](Program &p, Role &r) {
       auto *host = at(r, 0, 0).mutable_host();
       host->set_direction(program::Host::OUTPUT);
       auto *shard = host->add_shards();
       for (uint64_t size : {2, 8}) {
         shard->add_start()->set_constant(0);
         shard->add_size(size);
       }
     },
     "V24: rank 0, role 0 'all', sequence 0 'microbatch', instruction 0: only the inputs of a batch ('tokens', 'labels', ...), and what there is of each label, come in shards"},
    {"shards out of order",
     [](Program &p, Role &r) {
       for (int64_t column : {4, 0}) {
         auto *shard = at(r, 0, 0).mutable_host()->add_shards();
         shard->add_start()->set_constant(0);
         shard->add_start()->set_constant(column);
         shard->add_size(2), shard->add_size(4);
       }
     },
     "V25: rank 0, role 0 'all': takes in shards of 'tokens' out of order"},
    {"shards of logits without columns",
     [](Program &p, Role &r) {
       auto *host = at(r, 0, 0).mutable_host();
       host->set_direction(program::Host::OUTPUT);
       host->set_name("logits");
       host->set_buffer(10);
       auto *shard = host->add_shards();
       for (uint64_t size : {2, 8}) {
         shard->add_start()->set_constant(0);
         shard->add_size(size);
       }
     },
     "V24: rank 0, role 0 'all', sequence 0 'microbatch', instruction 0: a shard wants a start and a positive size for sequences and for positions"},
    {"numbers of labels that are in no microbatch",
     [](Program &p, Role &r) {
       auto *host = at(r, 0, 5).mutable_host();
       host->set_name("picked");
       host->set_buffer(12);
       auto *shard = host->add_shards();
       for (uint64_t size : {1, 16}) {
         shard->add_start()->set_constant(0);
         shard->add_size(size);
       }
     },
     "V25: entry 'train_step', output 'picked': ranks give 16 positions of a sequence of 8"},
    {"logits of one token of the vocabulary",
     [](Program &p, Role &r) {
       auto *host = at(r, 0, 5).mutable_host();
       host->set_name("logits");
       host->set_buffer(12);
       auto *shard = host->add_shards();
       for (uint64_t size : {2, 8, 1}) {
         shard->add_start()->set_constant(0);
         shard->add_size(size);
       }
     },
     "V25: entry 'train_step', output 'logits': ranks give 1 columns of a vocabulary of 16"},
    {"logits that begin behind the vocabulary's first token",
     [](Program &p, Role &r) {
       auto *host = at(r, 0, 5).mutable_host();
       host->set_name("logits");
       host->set_buffer(12);
       auto *shard = host->add_shards();
       for (uint64_t size : {2, 8, 1}) {
         shard->add_start()->set_constant(0);
         shard->add_size(size);
       }
       shard->mutable_start(2)->set_constant(1);
     },
     "V25: entry 'train_step', output 'logits': no rank gives column 0, or two do"},
    {"read before write",
     [](Program &p, Role &r) { at(r, 0, 2).mutable_fill()->set_buffer(4); },
     "V31: rank 0, role 0 'all', sequence 0 'microbatch', instruction 3: reads buffer 9 'x', which nothing has written before in entry 'train_step'"},
    {"accumulator overwritten by the next microbatch",
     [](Program &p, Role &r) {
       r.mutable_buffers(5)->set_offset(r.buffers(9).offset());
     },
     "V31: rank 0, role 0 'all', sequence 0 'microbatch', instruction 9: reads buffer 5 'dembed', which buffer 9 'x' has overwritten in entry 'train_step'"},
    {"sum set twice",
     [](Program &p, Role &r) {
       at(r, 0, 9).mutable_library()->set_buffers(2, 6);
     },
     "V32: rank 0, role 0 'all', sequence 0 'microbatch', instruction 9: sets buffer 6 'dw' in microbatch 0, to which others have added in entry 'train_step'"},
    {"sum added to before it is set",
     [](Program &p, Role &r) {
       at(r, 0, 7).mutable_gemm()->set_accumulate(program::ADD);
       at(r, 0, 9).mutable_library()->set_buffers(2, 6);
     },
     "V32: rank 0, role 0 'all', sequence 0 'microbatch', instruction 7: adds to buffer 6 'dw' in microbatch 0, which nothing has set in entry 'train_step'"},
    {"gradient never written",
     [](Program &p, Role &r) {
       r.mutable_entries(0)->mutable_runs()->SwapElements(0, 2);
     },
     "V31: rank 0, role 0 'all', sequence 1 'update', instruction 1: reads buffer 5 'dembed', which nothing has written before in entry 'train_step'"},
    {"entry twice",
     [](Program &p, Role &r) { r.mutable_entries(1)->set_name("train_step"); },
     "V30: rank 0, role 0 'all', entry 'train_step': entry names must be unique and not empty"},
    {"entry sequence",
     [](Program &p, Role &r) {
       r.mutable_entries(1)->mutable_runs(0)->set_sequence(8);
     },
     "V30: rank 0, role 0 'all', entry 'eval_step': run 0 names sequence 8, there are 3"},
    {"entry microbatch",
     [](Program &p, Role &r) {
       r.mutable_entries(1)->mutable_runs(0)->set_microbatch(2);
     },
     "V30: rank 0, role 0 'all', entry 'eval_step': run 0 names microbatch 2, there are 2"},
    {"slice missing",
     [](Program &p, Role &r) { r.mutable_slices()->RemoveLast(); },
     "V41: parameter 2 'state.dloss': slices cover 0 of its 1 elements"},
    {"slice twice", [](Program &p, Role &r) { *r.add_slices() = r.slices(0); },
     "V40: rank 0, role 0 'all': two slices share buffer 0"},
    {"slice outside",
     [](Program &p, Role &r) {
       r.mutable_slices(0)->mutable_start(0)->set_constant(1);
     },
     "V41: parameter 0 'embed': slices cover 120 of its 128 elements"},
    {"slice wraps",
     [](Program &p, Role &r) {
       r.mutable_slices(0)->mutable_start(0)->set_constant(-1);
     },
     "V40: rank 0, role 0 'all', slice of parameter 0 'embed': starts nowhere on rank 0"},
    {"slice of a group that is not there",
     [](Program &p, Role &r) {
       r.mutable_slices(0)->mutable_start(0)->set_index_in_group(3);
     },
     "V40: rank 0, role 0 'all', slice of parameter 0 'embed': starts nowhere on rank 0"},
    {"sequence that nothing runs",
     [](Program &p, Role &r) { r.add_sequences()->set_name("spare"); },
     "V34: rank 0, role 0 'all', sequence 3 'spare': no entry runs this sequence"},
    {"slice with replicas nowhere",
     [](Program &p, Role &r) { r.mutable_slices(0)->add_replicas(3); },
     "V40: rank 0, role 0 'all', slice of parameter 0 'embed': names group 3, there are 0"},
    {"slice short",
     [](Program &p, Role &r) { r.mutable_slices(0)->set_size(0, 15); },
     "V41: parameter 0 'embed': slices cover 120 of its 128 elements"},
    {"slice state",
     [](Program &p, Role &r) { r.mutable_slices(1)->set_state("velocity"); },
     "V40: rank 0, role 0 'all': a slice names parameter 0, state 'velocity', which does not exist"},
    {"slice buffer",
     [](Program &p, Role &r) { r.mutable_slices(0)->set_buffer(77); },
     "V40: rank 0, role 0 'all', slice of parameter 0 'embed': names buffer 77, there are 23"},
    {"slice not persistent",
     [](Program &p, Role &r) { r.mutable_buffers(1)->set_persistent(false); },
     "V31: rank 0, role 0 'all', sequence 1 'update', instruction 3: reads buffer 1 'embed.momentum', which nothing has written before in entry 'train_step'"},
};

TEST(ProgramCheck, EveryMutationIsFound) {
  for (const Mutation &mutation : mutations) {
    Program program = test::tinyModel();
    mutation.change(program, *program.mutable_roles(0));
    std::vector<std::string> faults = reasonsOf(program);
    if (faults.empty()) {
      ADD_FAILURE() << mutation.name << ": found sound";
      continue;
    }
    EXPECT_EQ(faults.front(), mutation.reason) << mutation.name;
  }
}

// Both orders of two updates read and write the same buffers, all of which hold
// something: which one was meant is in the file.
TEST(ProgramCheck, UpdatesInPlaceHaveAnOrder) {
  Program program = test::tinyModel();
  Role &role = *program.mutable_roles(0);
  for (int update : {3, 4})
    for (int operand : {0, 1, 2})
      at(role, 1, update)
          .mutable_launch()
          ->set_buffers(operand, operand < 2 ? operand : update - 1);
  stateWriters(program, role);
  EXPECT_EQ(reasonsOf(program), std::vector<std::string>());
  role.mutable_sequences(1)->mutable_instructions()->SwapElements(3, 4);
  ASSERT_FALSE(reasonsOf(program).empty());
  EXPECT_EQ(reasonsOf(program).front(),
            "V33: rank 0, role 0 'all', sequence 1 'update', instruction 3: "
            "wants in buffer 0 'embed' what instruction 13 of the role wrote, "
            "which holds what no instruction before it wrote");
}

// Of ranks that hold the same, one saves.
TEST(ProgramCheck, OneRankSavesEachSlice) {
  test::TinyModel sizes;
  sizes.ranks = 2;
  Program program = test::tinyModel(sizes);
  EXPECT_EQ(reasonsOf(program), std::vector<std::string>());
  Role &role = *program.mutable_roles(0);
  role.mutable_slices(1)->clear_replicas();
  EXPECT_EQ(reasonsOf(program).front(),
            "V42: 2 ranks from 0 on, role 0 'all', slice of parameter 0 "
            "'embed', momentum: rank 1 holds what rank 0 holds, but its "
            "replica groups lead to rank 1 and not to 0");
}

// Overlapping buffers are fine where their lifetimes do not meet.
TEST(ProgramCheck, BuffersMayTakeTurns) {
  Program program = test::tinyModel();
  Role &role = *program.mutable_roles(0);
  // x (instructions 2 to 7) and dx (8 to 9) have the same size.
  role.mutable_buffers(13)->set_offset(role.buffers(9).offset());
  EXPECT_EQ(reasonsOf(program), std::vector<std::string>());
}

// Several copies of one buffer, one a slot.
TEST(ProgramCheck, SlotsNeedRoomAndLimits) {
  Program program = test::tinyModel();
  Role &role = *program.mutable_roles(0);
  program::Buffer &lse = *role.mutable_buffers(12);
  uint64_t arena = role.memory().arena_bytes();
  lse.set_offset(arena);
  lse.set_slots(2);
  lse.set_slot_stride(64);
  role.mutable_memory()->set_arena_bytes(arena + 128);
  program.mutable_certificate()->mutable_peaks(0)->set_bytes(arena + 128);
  role.mutable_entries(0)->mutable_runs(1)->set_slot(1);
  EXPECT_EQ(reasonsOf(program), std::vector<std::string>());
  role.mutable_entries(0)->mutable_runs(1)->set_slot(2);
  ASSERT_FALSE(findProgramFaults(program).empty());
  EXPECT_EQ(reasonsOf(program).front(),
            "V30: rank 0, role 0 'all', entry 'train_step': a run uses slot 2 "
            "of buffer 12 'lse', which has 2");
}
