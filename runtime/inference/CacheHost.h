//===- CacheHost.h - Tokens for sequences that a cache keeps ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The host of an entry that goes on with sequences whose keys and values the
/// program keeps (`prefill`, `decode`). Rows of sequences are shared out over
/// groups of ranks, as many to each; so are the tokens of a run, and a group
/// computes only those of its own rows. A row has the same pages at all times.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_INFERENCE_CACHEHOST_H
#define HOCKET_RUNTIME_INFERENCE_CACHEHOST_H

#include "runtime/inference/PromptImages.h"
#include "runtime/train/step/ScoreHost.h"

#include <optional>
#include <vector>

namespace hocket::inference {

/// What a checked program's entries that write take in.
struct CacheShape {
  uint64_t rows = 0;       ///< Sequences that are written at a time.
  uint64_t groups = 0;     ///< Of ranks; they divide rows and tokens.
  uint64_t tablePages = 0; ///< Of a row.

  /// Nothing if the program has none. A program whose groups share out rows
  /// and tokens differently is InvalidArgument.
  static StatusOr<std::optional<CacheShape>>
  of(const program::Program &program);

  uint64_t groupOf(uint64_t row) const { return row / (rows / groups); }
};

/// Tokens of one run of an entry: `prefill` has many, `decode` one a row.
uint64_t tokensOf(const program::Program &program, const std::string &entry);

class CacheHost : public ScoreHost {
public:
  /// An entry that `shape` is of.
  CacheHost(const program::Program &program, unsigned rank, std::string entry,
            const CacheShape &shape);

  const std::string &entry() const { return name; }

  /// Forgets the tokens of the last run.
  void clear();
  /// How many tokens of `row` the next run can still take.
  uint64_t room(uint64_t row) const;
  /// Adds one, if there is room: the place that tells of it. `keys`: how many
  /// of an encoder's tokens it attends to, where there is one; `imageRow`:
  /// which row of its text's images stands in its place, if one does.
  LabelPlace add(uint64_t row, uint64_t position, int32_t token,
                 uint64_t keys = 1, std::optional<uint64_t> imageRow = {});

  Status provide(const HostInput &input, std::span<std::byte> data) override;

private:
  std::string name;
  CacheShape shape;
  /// Attention to an encoder is of rows, so that a token stands in its own.
  const bool standsInRow;
  const uint64_t imageRowsOfText; ///< That are kept; 0: it sees none.
  std::vector<int32_t> tokens, labels, positions, tokenRows, table, keyCounts,
      imageRows;
  std::vector<uint64_t> used; ///< Tokens of each group.
};

/// The host of `prefill` where that reads what an encoder is given: a text a
/// row, and how many tokens it has.
class EncoderHost : public ScoreHost {
public:
  /// `rows` texts of up to `length` tokens, at least one.
  EncoderHost(const program::Program &program, unsigned rank, uint64_t rows,
              uint64_t length);

  /// What stands in `row` from here on.
  void set(uint64_t row, std::span<const int32_t> text);

  Status provide(const HostInput &input, std::span<std::byte> data) override;

private:
  uint64_t length;
  std::vector<int32_t> tokens, keyCounts;
};

/// The host of `encode`, which makes rows of images and keeps them for
/// `prefill`: one image of each group at a time.
class ImageHost : public ScoreHost {
public:
  ImageHost(const program::Program &program, unsigned rank,
            const CacheShape &shape);

  /// Forgets the images of the last run.
  void clear();
  /// Whether the next run has an image of the group of `row` already.
  bool isTaken(uint64_t row) const { return taken[shape.groupOf(row)]; }
  /// Adds the image `number` of the text in `row`.
  void set(uint64_t row, uint64_t number, const TowerImage &image);

  Status provide(const HostInput &input, std::span<std::byte> data) override;

private:
  CacheShape shape;
  program::TrainingInfo::Images images;
  std::vector<bool> taken;        ///< By group.
  std::vector<float> pixels;      ///< [groups, numbers of an image]
  std::vector<int32_t> imageRows; ///< [groups, rows that are kept]
};

} // namespace hocket::inference

#endif // HOCKET_RUNTIME_INFERENCE_CACHEHOST_H
