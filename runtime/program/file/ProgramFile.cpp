//===- ProgramFile.cpp - The executable file ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/file/ProgramFile.h"

#include "base/File.h"
#include "base/Format.h"
#include "base/Sha256.h"
#include "runtime/program/PayloadSize.h"
#include "runtime/program/ProgramRules.h"
#include "runtime/program/check/ProgramCheck.h"

#include <cstring>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <limits>

using namespace hocket;

static constexpr char magic[8] = {'H', 'O', 'C', 'K',
                                  'E', 'T', 0,   char(programVersion)};

/// protobuf counts bytes in an int.
static constexpr uint64_t payloadLimit = std::numeric_limits<int>::max();

static void appendLength(std::string &bytes, uint64_t value) {
  for (int i = 0; i < 8; ++i)
    bytes += char(value >> (8 * i));
}

static uint64_t loadLength(std::string_view bytes) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i)
    value |= uint64_t(uint8_t(bytes[i])) << (8 * i);
  return value;
}

static std::string_view asBytes(const Sha256::Digest &digest) {
  return {reinterpret_cast<const char *>(digest.data()), digest.size()};
}

StatusOr<std::string>
hocket::serializeProgram(const program::Program &program) {
  size_t size = program.ByteSizeLong();
  if (size > payloadLimit)
    return resourceExhausted("the executable has " + formatBytes(size) +
                             ", at most " + formatBytes(payloadLimit) +
                             " can be written");
  std::string payload;
  {
    google::protobuf::io::StringOutputStream stream(&payload);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    if (!program.SerializeToCodedStream(&coded))
      return internalError("the executable cannot be serialized");
  }
  std::string bytes(magic, sizeof(magic));
  appendLength(bytes, payload.size());
  bytes += asBytes(Sha256::of(payload));
  bytes += payload;
  return bytes;
}

Status hocket::writeProgram(const program::Program &program,
                            const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(std::string bytes, serializeProgram(program));
  return writeFileAtomically(path, bytes);
}

/// Checks everything that is known before the payload is decoded.
static Status checkHeader(std::string_view bytes) {
  if (bytes.size() < sizeof(magic) ||
      std::memcmp(bytes.data(), magic, sizeof(magic) - 1) != 0)
    return dataLoss("is not a Hocket executable: it does not start with "
                    "\"HOCKET\"");
  if (bytes[7] != magic[7])
    return dataLoss(formatText("has format version %u, this program reads "
                               "version %u; compile the model again",
                               unsigned(uint8_t(bytes[7])),
                               unsigned(uint8_t(magic[7]))));
  if (bytes.size() < programHeaderBytes)
    return dataLoss(formatText("is truncated: it has %zu bytes, the header "
                               "alone takes %zu",
                               bytes.size(), programHeaderBytes));
  uint64_t promised = loadLength(bytes.substr(8));
  uint64_t present = bytes.size() - programHeaderBytes;
  if (promised > payloadLimit)
    return dataLoss(formatText("is damaged: its header promises %llu bytes, "
                               "more than any executable has",
                               (unsigned long long)promised));
  if (promised > present)
    return dataLoss(formatText("is truncated: its header promises %llu bytes, "
                               "%llu follow",
                               (unsigned long long)promised,
                               (unsigned long long)present));
  if (promised < present)
    return dataLoss(formatText("is damaged: %llu bytes follow its end",
                               (unsigned long long)(present - promised)));
  return okStatus();
}

StatusOr<program::Program> hocket::parseProgram(std::string_view bytes,
                                                const std::string &name) {
  if (Status header = checkHeader(bytes); !header.ok())
    return header.withContext(name);
  std::string_view payload = bytes.substr(programHeaderBytes);
  if (asBytes(Sha256::of(payload)) != bytes.substr(16, 32))
    return dataLoss(name + ": is damaged: its content does not match its "
                           "SHA-256");
  if (Status size = checkPayloadSize(payload); !size.ok())
    return dataLoss(name + ": " + size.message());
  google::protobuf::io::CodedInputStream coded(
      reinterpret_cast<const uint8_t *>(payload.data()), int(payload.size()));
  coded.SetRecursionLimit(16);
  // What is wrong is said in the Status, not on standard error.
  google::protobuf::LogSilencer silence;
  program::Program program;
  if (!program.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage())
    return dataLoss(name + ": is damaged: its content is not a serialized "
                           "program");
  return program;
}

StatusOr<program::Program>
hocket::readProgramUnchecked(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(
      std::string bytes,
      readFile(path, payloadLimit + uint64_t(programHeaderBytes)));
  return parseProgram(bytes, path);
}

StatusOr<program::Program> hocket::readProgram(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(program::Program program, readProgramUnchecked(path));
  if (Status sound = checkProgram(program); !sound.ok())
    return sound.withContext(path);
  return program;
}
