//===- ProgramRules.cpp - What a sound executable obeys -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/ProgramRules.h"

#include "base/Format.h"

#include <algorithm>

using namespace hocket;

static constexpr char compileAgain[] =
    "the file is not what the compiler writes: compile the model again";

static constexpr ProgramRuleText rules[] = {
    {ProgramRule::Ranks,
     "The version is 2, the target known; every rank of the mesh has exactly "
     "one role.",
     compileAgain},
    {ProgramRule::Training,
     "Batch sizes are positive and divide each other; learning rate and loss "
     "scale are finite.",
     "correct the training section of the specification and compile again"},
    {ProgramRule::Parameters,
     "Parameters and their slots have distinct names, element types, shapes "
     "(a slot its parameter's) and initializers, and a frozen one has no "
     "slots; "
     "the model says how many there are.",
     compileAgain},
    {ProgramRule::Kernels,
     "Every kernel names a module, a symbol and its tasks; a module has "
     "variants, all for processors or all for GPUs, whose kernels name their "
     "threads.",
     compileAgain},
    {ProgramRule::Groups,
     "The lists of a group have one size and name ranks of the mesh, none "
     "twice.",
     "list each rank of the group once"},
    {ProgramRule::GroupNames,
     "A group has a name of its own, of mesh axes; its lists are the ranks "
     "that differ along these alone, row-major.",
     "list the ranks in the order of the mesh"},
    {ProgramRule::Explanation,
     "What explains the program names texts and axes that exist, and has as "
     "many dims as the tensor.",
     "compile the program again: nothing that runs depends on it"},
    {ProgramRule::KernelSpaces,
     "A kernel's tasks are those that its iteration space is cut into; each of "
     "its operands has an access, an element type and as many elements as "
     "follow the space.",
     compileAgain},
    {ProgramRule::NativeObjects,
     "A shared object runs nothing when it is loaded, imports nothing and "
     "needs "
     "no other library. (This makes its code no more trustworthy.)",
     "load nothing of whoever made this file: the compiler makes no such "
     "object"},
    {ProgramRule::Buffers,
     "A buffer is aligned, large enough for its shape, and inside the arena "
     "with all its slots; one within another has its copies, and lies and "
     "lives inside them.",
     "give the buffer an aligned range of its size inside the arena"},
    {ProgramRule::Lifetimes,
     "Buffers that share bytes do not live at the same time, unless both are "
     "within one buffer; every use lies within the lifetime.",
     "give one of them other bytes, or a lifetime that holds its uses and "
     "does not meet the other's"},
    {ProgramRule::Peak,
     "The arena, the bytes of each kind at the peak and the certificate's "
     "peaks are those that follow from the buffers.",
     "state the number that follows from the buffers"},
    {ProgramRule::Names,
     "Buffers, kernels, library ops, groups, streams and events that an "
     "instruction names exist; it computes on stream 0 only.",
     "name one that exists, or add it to its table"},
    {ProgramRule::Operands,
     "Operands have the types and exactly the sizes that the instruction "
     "needs; what a kernel or `slice_shard` only reads may be the first rows "
     "of a larger buffer.",
     "give it operands of the right size and type"},
    {ProgramRule::CollectiveSizes,
     "A collective's operands have one type that can travel, and sizes that "
     "go with the group's.",
     "give it buffers whose sizes differ by the size of the group"},
    {ProgramRule::TransferParts,
     "A transfer has parts with peers in the group; no buffer is received "
     "twice or sent while received; a group's peers are all absolute or all "
     "relative.",
     "give every part a peer of the group and a buffer of its own"},
    {ProgramRule::Inputs,
     "Shards of what the host gives or takes have one number of sequences "
     "and fill the buffer.",
     "give shards that fill the buffer together"},
    {ProgramRule::Batch,
     "In every entry the ranks together take in each token and each label of "
     "the global microbatch, tell of each label what they tell of any, and a "
     "step takes in every microbatch once. A rank takes in its shards in their "
     "order. Who trains has a step for each size of the batch, and no other. "
     "What can be run again (`rerun.` before its name) are all entries that "
     "train or evaluate, or none. "
     "Who takes in positions knows a token that ends documents; who masks "
     "labels, and nobody else, takes in how many are left.",
     "correct the batch sizes, or the shards that ranks take in"},
    {ProgramRule::Vocabulary, "Losses count the vocabulary's columns.",
     "state one vocabulary in the model and in what uses it"},
    {ProgramRule::Entries,
     "An entry has a name of its own; its runs name sequences, microbatches "
     "and slots that exist.",
     "name one that exists"},
    {ProgramRule::ReadsWritten,
     "In every entry nothing is read that was not written, was overwritten "
     "since, or is another microbatch's.",
     "write it before, or give what overwrites it other bytes"},
    {ProgramRule::SumsSetOnce,
     "In every entry a sum over microbatches is set before anything is added "
     "to "
     "it, and once.",
     "have the sequence that runs first set it, and the others add to it"},
    {ProgramRule::Writers,
     "Every operand finds the value that the instruction says: that of the "
     "instruction that wrote its buffer last, in the order of the file.",
     "put instructions back into the order in which they write and read"},
    {ProgramRule::AllRun, "Every sequence is run by an entry.",
     "run it where its results are wanted, or drop it"},
    {ProgramRule::Slices,
     "A slice has the parameter's dims and a persistent buffer of its own that "
     "holds it.",
     "give the slice a start, a size and a buffer of its own"},
    {ProgramRule::Cover,
     "The slices of every parameter state cover its shape without overlap.",
     "shift or resize the slices so that each element is in one of them"},
    {ProgramRule::Replicas,
     "The ranks that hold one slice are those that differ along its replica "
     "groups; one of them saves it.",
     "list in `replicas` the groups along which the slice is the same, and no "
     "others"},
    {ProgramRule::Matched,
     "Every send has a receive on its peer, with the same group and tag, and "
     "every receive a send.",
     "add the missing half on the peer, or remove this one"},
    {ProgramRule::MatchedSize,
     "A send and its receive have the same number of elements and type.",
     "make both buffers of one shape and type, or put sends and receives of a "
     "tag into one order"},
    {ProgramRule::MatchedOrder,
     "Sends (and receives) of one peer and tag are ordered by their stream or "
     "by events.",
     "put both on one stream, order them with an event, or give them tags of "
     "their own"},
    {ProgramRule::CollectiveOrder,
     "All members of a group issue the same collectives on a stream in the "
     "same order, with the same sizes and types.",
     "issue the same collectives on every member"},
    {ProgramRule::Progress, "No ranks or streams wait for each other for ever.",
     "let one of them issue what the next waits for earlier"},
    {ProgramRule::EventRecorded,
     "An event is recorded in the entry before it is waited for.",
     "record the event before this wait, or remove the wait"},
    {ProgramRule::Race,
     "Two instructions on different streams that use the same bytes, one of "
     "them writing, are ordered by events.",
     "record an event behind the first and wait for it before the second"},
    {ProgramRule::MatchedMicrobatch,
     "A send and its receive are of runs of one microbatch.",
     "send and receive what goes by one tag in the same order of "
     "microbatches"},
};

std::span<const ProgramRuleText> hocket::programRules() { return rules; }

const ProgramRuleText &hocket::textOf(ProgramRule rule) {
  return *std::find_if(
      std::begin(rules), std::end(rules) - 1,
      [&](const ProgramRuleText &row) { return row.rule == rule; });
}

std::string ProgramFault::text() const {
  return formatText("V%u: ", unsigned(rule)) +
         (place.empty() ? what : place + ": " + what) + "; " +
         textOf(rule).advice;
}
