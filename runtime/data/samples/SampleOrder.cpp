//===- SampleOrder.cpp - The sample index, kept or looked up --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/SampleOrder.h"

#include "base/Sha256.h"

#include <algorithm>
#include <sys/stat.h>

using namespace hocket;
using namespace hocket::data;

namespace {

/// The beginning of the table.
struct OrderHeader {
  uint64_t epochs, samples, documents, separate, together, tokensPerEpoch;

  uint64_t documentsBegin() const {
    return keptHeaderBytes + sizeof(OrderHeader);
  }
  uint64_t startsBegin() const { return documentsBegin() + 4 * documents; }
  uint64_t shuffleBegin() const { return startsBegin() + 8 * (samples + 1); }
  uint64_t end() const { return shuffleBegin() + 4 * samples; }
};

} // namespace

//===----------------------------------------------------------------------===//
// What an order is of
//===----------------------------------------------------------------------===//

/// The first and the last bytes of a file, its size and when it was written.
static StatusOr<std::string> fileIdentity(const std::string &path) {
  constexpr uint64_t most = 1 << 16;
  HOCKET_ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::open(path));
  struct stat about = {};
  if (::stat(path.c_str(), &about) != 0)
    return notFound(path + ": " + errnoMessage(errno));
  uint64_t size = std::min(most, file.size());
  std::string bytes(2 * size, 0);
  HOCKET_RETURN_IF_ERROR(file.read(0, bytes.data(), size));
  HOCKET_RETURN_IF_ERROR(
      file.read(file.size() - size, bytes.data() + size, size));
  return std::to_string(file.size()) + " " +
         std::to_string(about.st_mtim.tv_sec) + " " +
         std::to_string(about.st_mtim.tv_nsec) + " " +
         toHex(Sha256::of(bytes)) + "\n";
}

static std::string requestText(const SampleIndexRequest &request) {
  std::string text;
  for (uint64_t number : {request.begin, request.end, request.samples,
                          request.sequenceLength, uint64_t(request.seed)})
    text += std::to_string(number) + " ";
  return text + "\n";
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static Status writeOrder(const SampleIndex &index, PagedFileWriter &file) {
  OrderHeader header = {};
  header.epochs = index.plan.epochs;
  header.samples = index.plan.samples;
  header.documents = index.documents.size();
  header.separate = index.plan.separateFinalEpoch;
  header.together = index.plan.shuffledTogether;
  header.tokensPerEpoch = index.plan.tokensPerEpoch;
  HOCKET_RETURN_IF_ERROR(file.append(&header, sizeof(header)));
  HOCKET_RETURN_IF_ERROR(
      file.append(index.documents.data(), 4 * index.documents.size()));
  HOCKET_RETURN_IF_ERROR(
      file.append(index.starts.data(), 8 * index.starts.size()));
  return file.append(index.shuffle.data(), 4 * index.shuffle.size());
}

static StatusOr<OrderHeader> headerOf(const PagedFile &file) {
  OrderHeader header = {};
  HOCKET_RETURN_IF_ERROR(file.read(keptHeaderBytes, &header, sizeof(header)));
  constexpr uint64_t limit = UINT32_MAX;
  if (header.samples == 0 || header.samples >= limit ||
      header.documents >= limit || file.size() < header.end())
    return dataLoss(file.path() + ": its sizes cannot be");
  return header;
}

Status SampleOrder::readHeader() {
  HOCKET_ASSIGN_OR_RETURN(OrderHeader header, headerOf(*file));
  documentCount = header.documents;
  epochs = {header.tokensPerEpoch, header.epochs, header.samples,
            header.separate != 0, header.together};
  return okStatus();
}

Status SampleOrder::damaged(const std::string &what) const {
  return dataLoss(file->path() + ": " + what +
                  "; remove it, and it is made again");
}

StatusOr<SampleStart> SampleOrder::startOf(uint64_t sample) const {
  if (memory)
    return memory->starts[memory->shuffle[sample]];
  OrderHeader header = {};
  header.documents = documentCount;
  header.samples = epochs.samples;
  uint32_t row = 0;
  HOCKET_RETURN_IF_ERROR(
      file->read(header.shuffleBegin() + 4 * sample, &row, sizeof(row)));
  if (row >= epochs.samples)
    return damaged("sample " + std::to_string(sample) + " is to be the " +
                   std::to_string(row) + "th of " +
                   std::to_string(epochs.samples));
  SampleStart start = {};
  HOCKET_RETURN_IF_ERROR(
      file->read(header.startsBegin() + 8 * uint64_t(row), &start, 8));
  return start;
}

StatusOr<size_t> SampleOrder::documentsAt(uint64_t position,
                                          std::span<int32_t> out) const {
  if (position >= documentCount)
    return file ? damaged("a sample goes on behind the last document")
                : internalError("a sample goes on behind the last document");
  size_t count = std::min<uint64_t>(out.size(), documentCount - position);
  if (memory)
    std::copy_n(memory->documents.begin() + long(position), count, out.begin());
  else
    HOCKET_RETURN_IF_ERROR(file->read(
        OrderHeader().documentsBegin() + 4 * position, out.data(), 4 * count));
  return count;
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

/// Bytes of the index, as far as can be said before it is made.
static StatusOr<uint64_t> bytesOf(const IndexedDataset &data,
                                  const SampleIndexRequest &request) {
  uint64_t tokens = 0;
  HOCKET_RETURN_IF_ERROR(data.eachLength(request.begin, request.end,
                                         [&](uint64_t, uint64_t length) {
                                           tokens += length;
                                           return okStatus();
                                         }));
  HOCKET_ASSIGN_OR_RETURN(EpochPlan plan, planEpochs(tokens, request.samples,
                                                     request.sequenceLength));
  // Far beyond what an index holds no exact number is needed.
  double documents = double(plan.epochs) * double(request.end - request.begin);
  return uint64_t(std::min(0x1p62, 4 * documents + 12 * double(plan.samples)));
}

StatusOr<SampleOrder> SampleOrder::open(const IndexedDataset &data,
                                        SampleIndexRequest request,
                                        const OrderCache &cache) {
  HOCKET_ASSIGN_OR_RETURN(uint64_t bytes, bytesOf(data, request));
  auto build = [&]() -> StatusOr<SampleIndex> {
    std::vector<int32_t> lengths(data.sequences());
    HOCKET_RETURN_IF_ERROR(data.lengths(0, lengths));
    request.lengths = lengths;
    return buildSampleIndex(request);
  };
  auto inMemory = [&]() -> StatusOr<SampleOrder> {
    HOCKET_ASSIGN_OR_RETURN(SampleIndex index, build());
    return SampleOrder(std::move(index));
  };
  if (bytes <= cache.inMemoryBytes)
    return inMemory();
  KeptTable table;
  table.prefix = data.prefix();
  table.kind = "samples";
  table.what = "sample index";
  table.request = requestText(request);
  table.bytes = bytes;
  for (const char *ending : {".idx", ".bin"}) {
    HOCKET_ASSIGN_OR_RETURN(std::string identity,
                            fileIdentity(data.prefix() + ending));
    table.contents += identity;
  }
  auto file = openKept(
      table, cache,
      [](const PagedFile &found) { return headerOf(found).status(); },
      [&](PagedFileWriter &writer) -> Status {
        HOCKET_ASSIGN_OR_RETURN(SampleIndex index, build());
        return writeOrder(index, writer);
      });
  if (!file.ok())
    return inMemory();
  SampleOrder order;
  order.file = *std::move(file);
  HOCKET_RETURN_IF_ERROR(order.readHeader());
  return order;
}
