//===- Entries.h - What a program can be asked to do ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_ENTRIES_H
#define HOCKET_RUNTIME_PROGRAM_ENTRIES_H

#include "base/BatchSizes.h"
#include "runtime/program/program.pb.h"

#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// Whether an entry goes on with the sequences of a cache: the batch that it
/// takes in is of single tokens.
inline bool isServingEntry(std::string_view entry) {
  return entry == "prefill" || entry == "decode";
}

/// The entry that does what `entry` does, with room for all the rows that
/// tokens can choose experts for: "rerun.train_step" of "train_step".
std::string rerunEntryName(std::string_view entry);
/// The entry that `entry` does again; `entry` itself if it does none.
std::string_view repeatedEntryOf(std::string_view entry);

/// Sequences of a microbatch over all ranks, in a checked program.
inline uint64_t globalMicrobatchOf(const program::TrainingInfo &training) {
  return training.global_batch_size() / training.microbatches();
}

/// Of how many things a label is one: tokens of the vocabulary, or classes.
inline uint64_t labelValuesOf(const program::Program &program) {
  return program.training().has_classification()
             ? program.training().classification().classes()
             : program.model().vocab_size();
}

/// The sizes of the global batch of a checked program.
BatchSizes batchSizesOf(const program::TrainingInfo &training);

/// The names of all entries, each once, in the order of the roles.
std::vector<std::string> entriesOf(const program::Program &program);

/// What `entry` of `role` has the host give and take, in the order of its
/// instructions; a sequence that runs for several microbatches counts once.
std::vector<const program::Host *> hostsOf(const program::Role &role,
                                           const program::Entry &entry);

/// What is shown of a program if nobody says: its training step, or else a step
/// of writing, or the evaluation of a microbatch.
std::string mainEntryOf(const program::Program &program);

/// "the program has no entry 'train_step': it has eval_step and decode".
std::string missingEntryText(const program::Program &program,
                             const std::string &entry);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_ENTRIES_H
