//===- CacheHost.cpp - Tokens for sequences that a cache keeps ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/inference/CacheHost.h"

#include "runtime/program/Entries.h"
#include "runtime/program/RankPlace.h"

#include <algorithm>
#include <utility>

using namespace hocket;
using namespace hocket::inference;
using program::Host;

namespace {

/// The first dim of an input, of all ranks and of each; the second.
struct InputShape {
  uint64_t whole = 0, own = 0, columns = 0;
};

void include(const program::Program &program, const program::Role &role,
             const Host &host, InputShape &shape) {
  const auto &dims = role.buffers(int(host.buffer())).shape();
  shape.own = dims[0];
  shape.columns = dims[1];
  shape.whole = std::max(shape.whole, dims[0]);
  RankPlaces at(program);
  for (uint32_t rank : role.ranks())
    for (const Host::Shard &shard : host.shards())
      shape.whole = std::max(
          shape.whole, uint64_t(at.scalar(shard.start(0), rank).value_or(0)) +
                           shard.size(0));
}

InputShape shapeOf(const program::Program &program, const std::string &entry,
                   const std::string &input) {
  InputShape shape;
  for (const program::Role &role : program.roles())
    for (const program::Entry &each : role.entries())
      if (each.name() == entry)
        for (const Host *host : hostsOf(role, each))
          if (host->direction() == Host::INPUT && host->name() == input)
            include(program, role, *host, shape);
  return shape;
}

} // namespace

StatusOr<std::optional<CacheShape>>
CacheShape::of(const program::Program &program) {
  InputShape table = shapeOf(program, "decode", "table");
  InputShape tokens = shapeOf(program, "decode", "tokens");
  bool encodes = program.training().has_span_corruption();
  InputShape prompt =
      shapeOf(program, "prefill", encodes ? "encoder_tokens" : "tokens");
  if (tokens.own == 0 || prompt.own == 0)
    return std::optional<CacheShape>();
  // Without attention there are no pages, and nobody asks for the table.
  bool hasPages = table.own > 0;
  CacheShape shape{tokens.whole, tokens.whole / tokens.own, table.columns};
  if ((hasPages && (tokens.whole != table.whole || tokens.own != table.own)) ||
      prompt.own * shape.groups != prompt.whole ||
      tokens.own * shape.groups != tokens.whole)
    return invalidArgument("the program's ranks share out the tokens of "
                           "'decode' and 'prefill' otherwise than its rows");
  return std::optional(shape);
}

uint64_t inference::tokensOf(const program::Program &program,
                             const std::string &entry) {
  return shapeOf(program, entry, "tokens").whole;
}

CacheHost::CacheHost(const program::Program &program, unsigned rank,
                     std::string entry, const CacheShape &shape)
    : ScoreHost(program, rank, entry, tokensOf(program, entry)),
      name(std::move(entry)), shape(shape),
      standsInRow(program.training().has_span_corruption()),
      imageRowsOfText(program.training().images().images() *
                      rowsInText(program.training().images())),
      labels(rows(), -1) {
  uint64_t ownRows = shape.rows / shape.groups;
  table.resize(shape.rows * shape.tablePages);
  for (uint64_t i = 0; i < table.size(); ++i)
    table[i] = int32_t(i % (ownRows * shape.tablePages));
  clear();
}

void CacheHost::clear() {
  tokens.assign(rows(), 0);
  positions.assign(rows(), 0);
  tokenRows.assign(rows(), -1);
  keyCounts.assign(rows(), 1);
  imageRows.assign(rows(), -1);
  used.assign(shape.groups, 0);
}

uint64_t CacheHost::room(uint64_t row) const {
  return rows() / shape.groups - used[shape.groupOf(row)];
}

LabelPlace CacheHost::add(uint64_t row, uint64_t position, int32_t token,
                          uint64_t keys, std::optional<uint64_t> imageRow) {
  uint64_t group = shape.groupOf(row);
  uint64_t next = group * (rows() / shape.groups) + used[group]++;
  uint64_t at = standsInRow ? row : next;
  keyCounts[at] = int32_t(keys);
  tokens[at] = token;
  positions[at] = int32_t(position);
  uint64_t own = row % (shape.rows / shape.groups);
  tokenRows[at] = int32_t(own);
  if (imageRow)
    imageRows[at] = int32_t(own * imageRowsOfText + *imageRow);
  return {at, 0};
}

Status CacheHost::provide(const HostInput &input, std::span<std::byte> data) {
  if (input.name == "table")
    return provideRows(input, table, shape.tablePages, data);
  if (input.name == "image_rows")
    return provideRows(input, std::span(std::as_const(imageRows)),
                       rows() / shape.groups, data);
  const std::vector<int32_t> *from = input.name == "tokens"       ? &tokens
                                     : input.name == "labels"     ? &labels
                                     : input.name == "positions"  ? &positions
                                     : input.name == "rows"       ? &tokenRows
                                     : input.name == "key_counts" ? &keyCounts
                                                                  : nullptr;
  return from ? provideRows(input, *from, 1, data)
              : StepHost::provide(input, data);
}

EncoderHost::EncoderHost(const program::Program &program, unsigned rank,
                         uint64_t rows, uint64_t length)
    : ScoreHost(program, rank, "prefill", rows), length(length),
      tokens(rows * length, 0), keyCounts(rows * length, 1) {}

void EncoderHost::set(uint64_t row, std::span<const int32_t> text) {
  auto first = ptrdiff_t(row * length);
  auto end = std::ranges::copy(text, tokens.begin() + first).out;
  std::fill(end, tokens.begin() + first + ptrdiff_t(length), 0);
  std::fill_n(keyCounts.begin() + first, length, int32_t(text.size()));
}

Status EncoderHost::provide(const HostInput &input, std::span<std::byte> data) {
  bool isTokens = input.name == "encoder_tokens";
  if (!isTokens && input.name != "key_counts")
    return StepHost::provide(input, data);
  return provideRows(input, isTokens ? tokens : keyCounts, length, data);
}

ImageHost::ImageHost(const program::Program &program, unsigned rank,
                     const CacheShape &shape)
    : ScoreHost(program, rank, "encode", shape.groups), shape(shape),
      images(program.training().images()) {
  clear();
}

void ImageHost::clear() {
  taken.assign(shape.groups, false);
  pixels.assign(shape.groups * pixelsOf(images) / images.images(), 0.0f);
  imageRows.assign(shape.rows * images.images() * rowsInText(images), -1);
}

void ImageHost::set(uint64_t row, uint64_t number, const TowerImage &image) {
  uint64_t group = shape.groupOf(row), each = rowsInText(images);
  taken[group] = true;
  std::ranges::copy(*image, pixels.begin() + ptrdiff_t(group * image->size()));
  uint64_t first = (row * images.images() + number) * each;
  for (uint64_t i = 0; i < each; ++i)
    imageRows[first + i] = towerRowOf(images, i);
}

Status ImageHost::provide(const HostInput &input, std::span<std::byte> data) {
  if (input.name == "pixels")
    return provideRows(input, std::span(std::as_const(pixels)),
                       pixels.size() / shape.groups, data);
  if (input.name == "image_rows")
    return provideRows(input, std::span(std::as_const(imageRows)),
                       imageRows.size() / shape.groups, data);
  return StepHost::provide(input, data);
}
