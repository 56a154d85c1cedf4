//===- CheckBatch.cpp - Checks of what ranks take in together -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The global microbatch is [global batch size / microbatches, sequence]. Ranks
/// hold boxes of it; different ones do not overlap, and together they are all
/// of it. So a batch size that nothing computes with is found. What they tell
/// of each label is of such boxes too, not always of those that they took in.
/// Entries that write have batches of their own: [tokens, 1], and the table of
/// pages, whatever their sizes; images, one at a time, and the rows of images
/// that are kept.
///
//===----------------------------------------------------------------------===//

#include "base/CheckedMath.h"
#include "base/Format.h"
#include "base/SpanLengths.h"
#include "runtime/program/Entries.h"
#include "runtime/program/FaultList.h"
#include "runtime/program/HostNames.h"
#include "runtime/program/RankPlace.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

using namespace hocket;
using program::Host;
using program::Role;

namespace {

/// Sequences [row, row + rows) of the microbatch, and positions likewise.
struct BatchBox {
  int64_t row, column;
  uint64_t rows, columns;
  auto operator<=>(const BatchBox &) const = default;
};

/// What an entry takes in or gives under one name.
struct BatchPart {
  std::string entry, name;
  bool isInput;
  /// Of rows of logits: those from here on, so many. One of anything else.
  int64_t firstColumn = 0;
  uint64_t columns = 1;

  auto operator<=>(const BatchPart &) const = default;
  const char *verb() const { return isInput ? "take in" : "give"; }
};

uint64_t elementsOf(const Role &role, const Host &host) {
  return checkedProduct(role.buffers(int(host.buffer())).shape()).value_or(0);
}

bool isBatch(const Host &host) {
  return host.direction() == Host::INPUT && isBatchInput(host.name());
}

class BatchChecker {
public:
  BatchChecker(const program::Program &program, FaultList &faults)
      : program(program), faults(faults), places(program),
        batch(globalMicrobatchOf(program.training())),
        sequence(program.model().sequence_length()) {}

  void run() {
    for (int role = 0; role < program.roles_size() && !faults.full(); ++role)
      for (const program::Entry &entry : program.roles(role).entries())
        collect(role, entry);
    uint64_t column = 0; // Of rows of numbers, whose parts are in order.
    checkTokens();
    checkSteps();
    checkReruns();
    if (!faults.full()) // Else nobody has looked at all that it walks over.
      checkDocuments(), checkMaskedLm(), checkPrefixes(), checkClassification(),
          checkSpans(), checkImages(), checkRetrieval();
    for (auto part = boxes.begin(); part != boxes.end(); ++part) {
      const BatchPart &of = part->first;
      std::string fault = coverFault(of, part->second);
      if (fault.empty() && isRowOfEachLabel(of.name))
        fault = columnFault(part, column);
      if (!fault.empty())
        faults.add(ProgramRule::Batch,
                   "entry '" + of.entry + "', " +
                       (of.isInput ? "input '" : "output '") + of.name + "'",
                   fault);
    }
  }

private:
  /// Who trains has a step for each size of the batch, and no other.
  void checkSteps() {
    uint64_t most = program.training().microbatches();
    std::set<std::string> wanted;
    BatchSizes sizes = batchSizesOf(program.training());
    for (const BatchSize &size : sizes.sizes())
      wanted.insert(
          trainEntryName(size.size / std::max<uint64_t>(1, batch), most));
    for (int role = 0; role < program.roles_size(); ++role) {
      std::set<std::string> found;
      for (const program::Entry &entry : program.roles(role).entries())
        if (isTrainEntry(entry.name()))
          found.insert(entry.name());
      if (found.empty() || found == wanted)
        continue;
      std::vector<std::string> odd;
      std::ranges::set_symmetric_difference(found, wanted,
                                            std::back_inserter(odd));
      faults.add(ProgramRule::Batch, ProgramPlace{program, role}.text(),
                 found.contains(odd.front())
                     ? "has an entry '" + odd.front() +
                           "', which is a step of none of the batch's sizes"
                     : "has no entry '" + odd.front() +
                           "', a step that the batch grows through");
    }
  }

  /// What can be run again are all entries that train or evaluate, or none.
  void checkReruns() {
    for (int role = 0; role < program.roles_size(); ++role) {
      std::set<std::string> wanted, found;
      for (const program::Entry &entry : program.roles(role).entries()) {
        std::string repeated(repeatedEntryOf(entry.name()));
        if (repeated != entry.name())
          found.insert(repeated);
        else if (isTrainEntry(repeated) || repeated == "eval_step")
          wanted.insert(repeated);
      }
      std::vector<std::string> odd;
      std::ranges::set_symmetric_difference(found, wanted,
                                            std::back_inserter(odd));
      if (!found.empty() && !odd.empty())
        faults.add(ProgramRule::Batch, ProgramPlace{program, role}.text(),
                   found.contains(odd.front())
                       ? "has an entry '" + rerunEntryName(odd.front()) +
                             "', which runs none again that trains or evaluates"
                       : "has no entry '" + rerunEntryName(odd.front()) +
                             "', and runs others again");
    }
  }

  /// What entries that do not write take in.
  std::set<std::string> inputsOfTraining() const {
    std::set<std::string> named;
    for (const program::Role &role : program.roles())
      for (const program::Entry &entry : role.entries())
        if (!isServingEntry(entry.name()))
          for (const Host *host : hostsOf(role, entry))
            if (host->direction() == Host::INPUT)
              named.insert(host->name());
    return named;
  }

  /// Positions are of documents, whose end is a token, and the host counts
  /// labels where, and only where, some are masked.
  void checkDocuments() {
    const program::TrainingInfo &training = program.training();
    const auto &documents = training.documents();
    auto add = [&](const std::string &text) {
      faults.add(ProgramRule::Batch, "training.documents", text);
    };
    if (training.has_documents() &&
        documents.eod_token() >= program.model().vocab_size())
      add(formatText("token %llu ends a document, of a vocabulary of %llu",
                     wide(documents.eod_token()),
                     wide(program.model().vocab_size())));
    std::set<std::string> named = inputsOfTraining();
    if (named.contains("positions") && !training.has_documents())
      add("is not there, and says no end of the documents that 'positions' are "
          "of");
    bool masks = documents.mask_loss() || training.has_masked_lm() ||
                 training.has_span_corruption() ||
                 training.has_classification() || training.has_prefix_lm() ||
                 training.has_images();
    if (named.contains("label_count") != masks)
      add(masks ? "masks labels, of which no entry takes in how many are left"
                : "masks no labels, and an entry takes in how many are left");
  }

  /// What masked samples are made with are tokens, and who takes in what is of
  /// such samples alone says how they are made.
  void checkMaskedLm() {
    const program::TrainingInfo &training = program.training();
    const auto &masked = training.masked_lm();
    auto add = [&](const std::string &text) {
      faults.add(ProgramRule::Batch, "training.masked_lm", text);
    };
    for (uint32_t token : {masked.cls_token(), masked.sep_token(),
                           masked.mask_token(), masked.pad_token()})
      if (training.has_masked_lm() && token >= program.model().vocab_size())
        add(formatText("samples are made with token %u, of a vocabulary of "
                       "%llu",
                       token, wide(program.model().vocab_size())));
    auto isShare = [](double share) { return share >= 0 && share <= 1; };
    if (training.has_masked_lm() &&
        !(masked.probability() > 0 && isShare(masked.probability()) &&
          isShare(masked.mask_share()) && isShare(masked.random_share()) &&
          isShare(masked.mask_share() + masked.random_share()) &&
          isShare(masked.short_sequence_probability())))
      add("has a share that is not between 0 and 1");
    if (training.has_masked_lm() && program.model().sequence_length() < 8)
      add("a sequence is shorter than 8 tokens");
    std::set<std::string> named = inputsOfTraining();
    bool isFramed = training.has_masked_lm() || training.has_classification();
    for (const char *input : {"token_types", "key_counts", "sentence_labels"})
      if (named.contains(input) && !isFramed &&
          !(training.has_prefix_lm() && input == std::string("key_counts")))
        add(std::string("is not there, and an entry takes in '") + input + "'");
    if (named.contains("sentence_labels") != masked.sentence_order())
      add(masked.sentence_order()
              ? "has texts swapped, of which no entry takes in the labels"
              : "swaps no texts, and an entry takes in the labels");
  }

  /// Prefixes are shares of a sequence, of which an entry takes in how many
  /// tokens each sees.
  void checkPrefixes() {
    const program::TrainingInfo &training = program.training();
    const auto &prefix = training.prefix_lm();
    auto add = [&](const std::string &text) {
      faults.add(ProgramRule::Batch, "training.prefix_lm", text);
    };
    if (!training.has_prefix_lm())
      return;
    if (!(0 <= prefix.least_share() &&
          prefix.least_share() <= prefix.most_share() &&
          prefix.most_share() <= 1))
      add("has shares that are not between 0 and 1, the least one first");
    if (!inputsOfTraining().contains("key_counts"))
      add("has prefixes, of which no entry takes in the 'key_counts'");
    if (training.has_masked_lm() || training.has_span_corruption() ||
        training.has_classification())
      add("is there, and so are samples of another kind");
  }

  /// What labelled texts are framed with are tokens.
  void checkClassification() {
    const program::TrainingInfo &training = program.training();
    const auto &classes = training.classification();
    auto add = [&](const std::string &text) {
      faults.add(ProgramRule::Batch, "training.classification", text);
    };
    if (!training.has_classification())
      return;
    if (training.has_masked_lm() || training.has_span_corruption())
      add("is there, and so are samples of another kind");
    for (uint32_t token :
         {classes.cls_token(), classes.sep_token(), classes.pad_token()})
      if (token >= program.model().vocab_size())
        add(formatText("samples are made with token %u, of a vocabulary of "
                       "%llu",
                       token, wide(program.model().vocab_size())));
    if (classes.classes() < 2 || classes.classes() > 65536)
      add("has fewer than two classes, or too many");
    if (classes.sequences() != 1 && classes.sequences() != classes.classes())
      return add("a question has neither one sequence nor one for each choice");
    if (training.micro_batch_size() % classes.sequences() != 0)
      add("a microbatch is not of whole questions");
    if (program.model().sequence_length() < 8)
      add("a sequence is shorter than 8 tokens");
  }

  /// What corrupted spans are made with are tokens, and who takes in what an
  /// encoder sees says how samples are made.
  void checkSpans() {
    const program::TrainingInfo &training = program.training();
    const auto &spans = training.span_corruption();
    auto add = [&](const std::string &text) {
      faults.add(ProgramRule::Batch, "training.span_corruption", text);
    };
    if (inputsOfTraining().contains("encoder_tokens") !=
        training.has_span_corruption())
      return add(training.has_span_corruption()
                     ? "is of an encoder, whose tokens no entry takes in"
                     : "is not there, and an entry takes in 'encoder_tokens'");
    if (!training.has_span_corruption())
      return;
    for (uint32_t token :
         {spans.end_token(), spans.pad_token(), spans.first_sentinel()})
      if (token >= program.model().vocab_size())
        add(formatText("samples are made with token %u, of a vocabulary of "
                       "%llu",
                       token, wide(program.model().vocab_size())));
    if (!(spans.noise_density() > 0 && spans.noise_density() < 1 &&
          spans.mean_span_length() >= 1))
      return add("has a share of noise that is not between 0 and 1, or spans "
                 "of less than a token");
    uint64_t length = spans.encoder_sequence_length();
    if (length < 4 || length > uint64_t(1) << 30)
      return add("has an encoder of fewer than 4 tokens, or too many");
    SpanLengths lengths = SpanLengths::fitting(length, spans.noise_density(),
                                               spans.mean_span_length());
    if (lengths.labels() > program.model().sequence_length() ||
        lengths.spans > spans.sentinels() ||
        lengths.spans > uint64_t(spans.first_sentinel()) + 1)
      add("has more labels than a sequence, or more spans than sentinels");
  }

  /// Who takes in images says what they are like, and which token they are of.
  void checkImages() {
    const program::TrainingInfo &training = program.training();
    const auto &images = training.images();
    auto add = [&](const std::string &text) {
      faults.add(ProgramRule::Batch, "training.images", text);
    };
    std::set<std::string> named = inputsOfTraining();
    for (const char *name : {"pixels", "image_rows"})
      if (named.contains(name) != training.has_images())
        return add(
            training.has_images()
                ? formatText("is there, and no entry takes in '%s'", name)
                : formatText("is not there, and an entry takes in '%s'", name));
    if (!training.has_images())
      return;
    if (training.has_masked_lm() || training.has_span_corruption() ||
        training.has_classification())
      add("is there, and so are samples of another kind");
    if (images.image_token() >= program.model().vocab_size())
      add(formatText("images stand for token %u, of a vocabulary of %llu",
                     images.image_token(), wide(program.model().vocab_size())));
    if (images.images() < 1 || images.images() > 1024)
      return add("a sequence has no images, or too many");
    if (images.patch_size() < 1 || images.image_size() > 16384 ||
        images.image_size() < images.patch_size() ||
        images.image_size() % images.patch_size() != 0)
      return add("an image has no patches, or not whole ones");
    if (images.images() * rowsInText(images) >=
        program.model().sequence_length())
      add("has more rows of images than a sequence");
  }

  /// Who takes in what was retrieved says for what, and how much.
  void checkRetrieval() {
    const program::TrainingInfo &training = program.training();
    const auto &retrieval = training.retrieval();
    auto add = [&](const std::string &text) {
      faults.add(ProgramRule::Batch, "training.retrieval", text);
    };
    if (inputsOfTraining().contains("neighbors") != training.has_retrieval())
      return add(training.has_retrieval()
                     ? "is there, and no entry takes in 'neighbors'"
                     : "is not there, and an entry takes in 'neighbors'");
    if (!training.has_retrieval())
      return;
    if (training.has_masked_lm() || training.has_span_corruption() ||
        training.has_classification() || training.has_images())
      add("is there, and so are samples of another kind");
    for (auto [size, most] :
         {std::pair{retrieval.chunk_length(), uint64_t(1) << 20},
          {retrieval.neighbors(), uint64_t(1) << 10},
          {retrieval.retrieved_length(), uint64_t(1) << 20}})
      if (size < 1 || size > most)
        return add(
            "has chunks or neighbours of no size, or of too large a one");
    if (sequence % retrieval.chunk_length() != 0)
      add("a sequence is not of whole chunks");
  }

  /// What is of each token of an entry that writes is of as many.
  /// One of each, but of texts that an encoder reads.
  uint64_t columnsOfServing(const BatchPart &part) const {
    const program::TrainingInfo &training = program.training();
    if (part.entry == "encode" && part.name == "pixels")
      return numbersOfImage();
    bool reads = part.entry == "prefill" && training.has_span_corruption();
    return reads ? training.span_corruption().encoder_sequence_length() : 1;
  }

  /// Numbers of one image; 0 of a program that sees none.
  uint64_t numbersOfImage() const {
    const auto &images = program.training().images();
    return images.images() > 0 ? pixelsOf(images) / images.images() : 0;
  }

  /// Rows of images are kept for texts, of each as many as its images have.
  bool keepsImages(uint64_t columns) const {
    const auto &images = program.training().images();
    uint64_t ofText = images.images() * rowsInText(images);
    return ofText > 0 && columns > 0 && columns % ofText == 0;
  }

  void checkTokens() {
    std::map<std::string, uint64_t> tokens;
    for (const auto &[part, found] : boxes) {
      if (!isServingEntry(part.entry) || !part.isInput || part.name == "table")
        continue;
      auto [rows, columns] = extentOf(part);
      bool isKept = part.entry == "encode" && part.name == "image_rows";
      // Those of a run's tokens stand side by side.
      if (part.name == "image_rows" && !isKept)
        rows = checkedMultiply(rows, std::exchange(columns, 1)).value_or(0);
      if (tokens.try_emplace(part.entry, rows).first->second != rows ||
          !(isKept ? keepsImages(columns) : columns == columnsOfServing(part)))
        faults.add(ProgramRule::Batch, "entry '" + part.entry + "'",
                   formatText("takes in %llu x %llu of '%s', and %llu of "
                              "another input of each token",
                              wide(rows), wide(columns), part.name.c_str(),
                              wide(tokens.at(part.entry))));
    }
  }

  void collect(int role, const program::Entry &entry) {
    const Role &r = program.roles(role);
    std::map<uint32_t, std::vector<uint32_t>> microbatches; // by sequence
    for (const program::Entry::Run &run : entry.runs())
      microbatches[run.sequence()].push_back(run.microbatch());
    for (const auto &[index, runs] : microbatches) {
      bool takesIn = false;
      std::vector<std::string> ofLabels;
      for (const program::Instruction &instruction :
           r.sequences(int(index)).instructions()) {
        const Host &host = instruction.host();
        if (instruction.has_host() && isBatch(host)) {
          takesIn = true;
          addBoxes(role, entry.name(), host);
        } else if (instruction.has_host() && isOfEachLabel(host.name())) {
          addBoxes(role, entry.name(), host);
          if (isNumberOfEachLabel(host.name()))
            ofLabels.push_back(placesOf(host));
        }
      }
      ProgramPlace place{program, role, int(index)};
      if (takesIn && isTrainEntry(repeatedEntryOf(entry.name())))
        checkMicrobatches(place, entry.name(), runs);
      if (std::set(ofLabels.begin(), ofLabels.end()).size() > 1)
        faults.add(ProgramRule::Batch, place.text(),
                   "gives 'lse' of other labels than 'picked'");
    }
  }

  /// Comparable with that of another output.
  static std::string placesOf(const Host &host) {
    Host places;
    *places.mutable_shards() = host.shards();
    return places.SerializeAsString();
  }

  /// Each once, the first ones.
  void checkMicrobatches(const ProgramPlace &place, const std::string &entry,
                         const std::vector<uint32_t> &runs) {
    std::set<uint32_t> distinct(runs.begin(), runs.end());
    uint64_t wanted = microbatchesOfEntry(repeatedEntryOf(entry),
                                          program.training().microbatches())
                          .value_or(0);
    if (distinct.size() != runs.size() || runs.size() != wanted ||
        *distinct.rbegin() >= wanted)
      faults.add(ProgramRule::Batch, place.text(),
                 formatText("takes in %zu microbatches in %zu runs of a step "
                            "of %llu (entry '%s')",
                            distinct.size(), runs.size(), wide(wanted),
                            entry.c_str()));
  }

  /// Sequences and positions of what an entry takes in or gives.
  struct Extent {
    uint64_t rows, columns;
  };

  /// Of entries that write, those of the host instruction of this name that
  /// reaches farthest.
  Extent extentOf(const BatchPart &part) const {
    if (!isServingEntry(part.entry) && part.name == "encoder_tokens")
      return {batch,
              program.training().span_corruption().encoder_sequence_length()};
    if (!isServingEntry(part.entry) && part.name == "pixels")
      return {batch, pixelsOf(program.training().images())};
    if (!isServingEntry(part.entry) && part.name == "neighbors")
      return {batch, neighborTokensOf(program)};
    if (!isServingEntry(part.entry))
      return {batch, sequence};
    Extent extent{0, 0};
    std::string name = part.isInput ? part.name : "tokens";
    for (const Role &role : program.roles())
      for (const program::Entry &entry : role.entries())
        if (entry.name() == part.entry)
          for (const Host *host : hostsOf(role, entry))
            if (isBatch(*host) && host->name() == name)
              include(role, *host, extent);
    return extent;
  }

  void include(const Role &role, const Host &host, Extent &extent) const {
    const auto &shape = role.buffers(int(host.buffer())).shape();
    if (host.shards().empty() && shape.size() == 2)
      extent = {std::max(extent.rows, shape[0]),
                std::max(extent.columns, shape[1])};
    for (uint32_t rank : role.ranks())
      for (const Host::Shard &shard : host.shards())
        extent = {std::max(extent.rows, endOf(shard, 0, rank)),
                  std::max(extent.columns, endOf(shard, 1, rank))};
  }

  uint64_t endOf(const Host::Shard &shard, int dim, uint32_t rank) const {
    int64_t start = std::max<int64_t>(placeOf(shard.start(dim), rank), 0);
    return checkedAdd(uint64_t(start), shard.size(dim)).value_or(0);
  }

  void addBoxes(int role, const std::string &entry, const Host &host) {
    bool isRows = isRowOfEachLabel(host.name());
    BatchPart part{entry, host.name(), host.direction() == Host::INPUT};
    if (host.shards().empty()) {
      uint64_t elements = elementsOf(program.roles(role), host);
      auto [rows, columns] = extentOf(part);
      uint64_t places = checkedMultiply(rows, columns).value_or(0);
      if (isRows && places > 0)
        part.columns = elements / places;
      if (checkedMultiply(places, part.columns) == elements)
        boxes[part].insert({0, 0, rows, columns});
      else
        addNotWhole(role, host, part);
      return;
    }
    if (part.isInput)
      checkOrder(role, host);
    for (uint32_t rank : program.roles(role).ranks())
      for (const Host::Shard &shard : host.shards()) {
        if (isRows) {
          part.firstColumn = placeOf(shard.start(2), rank);
          part.columns = shard.size(2);
        }
        boxes[part].insert({placeOf(shard.start(0), rank),
                            placeOf(shard.start(1), rank), shard.size(0),
                            shard.size(1)});
      }
  }

  /// A rank takes in its shards from the first place to the last: tokens and
  /// labels then stand side by side whatever the shards.
  void checkOrder(int role, const Host &host) {
    for (uint32_t rank : program.roles(role).ranks()) {
      std::vector<std::pair<int64_t, int64_t>> starts;
      for (const Host::Shard &shard : host.shards())
        starts.emplace_back(placeOf(shard.start(0), rank),
                            placeOf(shard.start(1), rank));
      if (!std::ranges::is_sorted(starts))
        return faults.add(
            ProgramRule::Batch, ProgramPlace{program, role}.text(),
            "takes in shards of '" + host.name() + "' out of order");
    }
  }

  /// Without shards a rank has the whole microbatch.
  void addNotWhole(int role, const Host &host, const BatchPart &part) {
    faults.add(
        ProgramRule::Batch, ProgramPlace{program, role}.text(),
        formatText("%s '%s' whole, of %llu elements; the global microbatch is "
                   "%llu x %llu",
                   part.isInput ? "takes in" : "gives", host.name().c_str(),
                   wide(elementsOf(program.roles(role), host)), wide(batch),
                   wide(sequence)));
  }

  /// Sound scalars (V24) of a rank; -1, which is in no batch, for overflow.
  int64_t placeOf(const program::Scalar &scalar, uint32_t rank) const {
    return places.scalar(scalar, rank).value_or(-1);
  }

  /// The boxes stand in rows of boxes, each of which fills the sequence; the
  /// rows of boxes fill the batch.
  std::string coverFault(const BatchPart &part,
                         const std::set<BatchBox> &found) const {
    const char *verb = part.verb();
    bool serves = isServingEntry(part.entry);
    auto [batch, sequence] = extentOf(part);
    std::map<std::pair<int64_t, uint64_t>, std::map<int64_t, uint64_t>> bands;
    for (const BatchBox &box : found) {
      if (part.isInput && !serves &&
          box.rows != program.training().micro_batch_size())
        return formatText("a rank takes in %llu sequences, its micro batch "
                          "size is %llu",
                          wide(box.rows),
                          wide(program.training().micro_batch_size()));
      if (!bands[{box.row, box.rows}].emplace(box.column, box.columns).second)
        return formatText("two ranks %s parts of different sizes from one "
                          "place on",
                          verb);
    }
    uint64_t row = 0;
    for (const auto &[band, columns] : bands) {
      if (band.first < 0 || uint64_t(band.first) != row)
        return formatText("no rank %ss%s sequence %llu, or two do",
                          part.isInput ? "take" : "give",
                          part.isInput ? " in" : "", wide(row));
      row += band.second;
      uint64_t column = 0;
      for (auto [at, size] : columns) {
        if (at < 0 || uint64_t(at) != column)
          return formatText("no rank %ss%s position %llu, or two do",
                            part.isInput ? "take" : "give",
                            part.isInput ? " in" : "", wide(column));
        column += size;
      }
      if (column != sequence)
        return formatText("ranks %s %llu positions of a sequence of %llu", verb,
                          wide(column), wide(sequence));
    }
    return row == batch ? ""
                        : formatText("ranks %s %llu sequences of a global "
                                     "microbatch of %llu",
                                     verb, wide(row), wide(batch));
  }

  using Boxes = std::map<BatchPart, std::set<BatchBox>>;

  /// That shards of rows of numbers, which come in the order of their columns,
  /// have each column once, and logits those of the vocabulary. Behind it there
  /// may be padding.
  std::string columnFault(Boxes::const_iterator part, uint64_t &column) const {
    const BatchPart &of = part->first;
    if (of.firstColumn < 0 || uint64_t(of.firstColumn) != column)
      return formatText("no rank gives column %llu, or two do", wide(column));
    column += of.columns;
    auto next = std::next(part);
    if (next != boxes.end() && next->first.name == of.name &&
        next->first.entry == of.entry)
      return "";
    uint64_t all = std::exchange(column, 0);
    // How wide a layer is nothing else says.
    uint64_t wanted = of.name == "logits" ? labelValuesOf(program) : 1;
    return all >= wanted
               ? ""
               : formatText("ranks give %llu columns of %s %llu", wide(all),
                            program.training().has_classification()
                                ? "so many classes:"
                                : "a vocabulary of",
                            wide(wanted));
  }

  const program::Program &program;
  FaultList &faults;
  RankPlaces places;
  uint64_t batch, sequence;
  Boxes boxes;
};

//===----------------------------------------------------------------------===//
// The vocabulary
//===----------------------------------------------------------------------===//

/// What is wrong with how a sound call sees the vocabulary, or "".
std::string vocabularyFault(const program::Library &library,
                            const program::Program &program) {
  const std::string &op = library.op();
  uint64_t values = labelValuesOf(program);
  // Of the order of two texts there are two classes.
  bool isOfOrder = program.training().masked_lm().sentence_order() &&
                   op.starts_with("cross_entropy_") && library.integers(3) == 2;
  if (op.starts_with("cross_entropy_") && !isOfOrder &&
      uint64_t(library.integers(3)) != values)
    return formatText("'%s' counts %llu columns, %s %llu", op.c_str(),
                      wide(uint64_t(library.integers(3))),
                      program.training().has_classification()
                          ? "and the classes are"
                          : "the vocabulary has",
                      wide(values));
  return "";
}

void checkVocabulary(const program::Program &program, FaultList &faults) {
  for (int role = 0; role < program.roles_size(); ++role)
    forEachInstruction(
        program, role, faults,
        [&](const ProgramPlace &place,
            const program::Instruction &instruction) {
          if (!instruction.has_library())
            return;
          std::string fault = vocabularyFault(instruction.library(), program);
          if (!fault.empty())
            faults.add(ProgramRule::Vocabulary, place.text(), fault);
        });
}

} // namespace

void hocket::checkBatch(const program::Program &program, FaultList &faults) {
  BatchChecker(program, faults).run();
  checkVocabulary(program, faults);
}
