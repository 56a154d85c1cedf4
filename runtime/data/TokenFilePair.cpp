//===- TokenFilePair.cpp - The two files while they are written -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/TokenFilePair.h"

#include <cstdio>

using namespace hocket;
using namespace hocket::data;

StatusOr<TokenFilePair> TokenFilePair::create(const std::string &prefix) {
  HOCKET_ASSIGN_OR_RETURN(AtomicFile bin, AtomicFile::create(prefix + ".bin"));
  HOCKET_ASSIGN_OR_RETURN(AtomicFile index,
                          AtomicFile::create(prefix + ".idx"));
  return TokenFilePair(prefix, std::move(bin), std::move(index));
}

Status TokenFilePair::flush() {
  Status status = index.append(pending);
  pending.clear();
  return status;
}

Status TokenFilePair::putHeader(TokenType type, uint64_t sequences,
                                uint64_t documents) {
  HOCKET_RETURN_IF_ERROR(index.append(std::string_view("MMIDIDX\0\0", 9)));
  HOCKET_RETURN_IF_ERROR(put(uint64_t(1)));
  HOCKET_RETURN_IF_ERROR(put(uint8_t(type)));
  HOCKET_RETURN_IF_ERROR(put(sequences));
  return put(documents + 1);
}

Status TokenFilePair::finish() {
  HOCKET_RETURN_IF_ERROR(flush());
  // An old index must never stand beside the new tokens.
  std::remove((prefix + ".idx").c_str());
  HOCKET_RETURN_IF_ERROR(bin.commit());
  Status status = index.commit();
  if (!status.ok())
    std::remove((prefix + ".bin").c_str());
  return status;
}
