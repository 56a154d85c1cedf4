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

/// Whether an entry goes on with the sequences of a cache, or sees images for
/// them: the batch that it takes in is of single tokens, or images.
inline bool isServingEntry(std::string_view entry) {
  return entry == "encode" || entry == "prefill" || entry == "decode";
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

/// Patches of an image, of sizes that need not be checked.
inline uint64_t patchesOf(const program::TrainingInfo::Images &images) {
  uint64_t each = images.patch_size();
  uint64_t side = images.image_size() / (each > 0 ? each : 1);
  return side * side;
}

/// Rows that an image has in a text.
inline uint64_t rowsInText(const program::TrainingInfo::Images &images) {
  return patchesOf(images) + (images.class_row() ? 1 : 0);
}

/// Numbers of a sequence in "pixels", which has a row of the class before the
/// patches of each image; 0 of a program that takes in no images.
inline uint64_t pixelsOf(const program::TrainingInfo::Images &images) {
  uint64_t side = images.patch_size();
  return images.images() * (patchesOf(images) + 1) * 3 * side * side;
}

/// Tokens of a sequence in "neighbors", of sizes that need not be checked; 0 of
/// a program that takes in none.
inline uint64_t neighborTokensOf(const program::Program &program) {
  const program::TrainingInfo::Retrieval &retrieval =
      program.training().retrieval();
  uint64_t chunk = retrieval.chunk_length();
  return chunk == 0 ? 0
                    : program.model().sequence_length() / chunk *
                          retrieval.neighbors() * retrieval.retrieved_length();
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
