//===- PayloadSize.cpp - What a payload would take in memory --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/PayloadSize.h"

#include "base/Format.h"
#include "runtime/program/program.pb.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <unordered_map>

using namespace hocket;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MessageFactory;
using WireFormat = google::protobuf::internal::WireFormatLite;

/// Deepest message in a message of the schema, with room.
static constexpr int deepest = 16;
/// A pointer in a list that has grown.
static constexpr uint64_t pointerBytes = 16;
static constexpr uint64_t stringBytes = 48;

namespace {

class PayloadWalker {
public:
  explicit PayloadWalker(std::string_view payload)
      : stream(reinterpret_cast<const uint8_t *>(payload.data()),
               int(payload.size())),
        // Of honest programs messages take some five times their bytes in the
        // file; images, which are most of a large one, take none.
        limit((uint64_t(256) << 20) + 2 * payload.size()) {}

  Status walk() {
    Status result = walkMessage(program::Program::descriptor(), 0);
    if (result.ok() && !stream.ConsumedEntireMessage())
      return notSerialized();
    return result;
  }

private:
  static Status notSerialized() {
    return dataLoss("is damaged: its content is not a serialized program");
  }

  Status take(uint64_t bytes) {
    taken += bytes;
    if (taken <= limit)
      return okStatus();
    return dataLoss("is no executable of the compiler's: its messages would "
                    "take more than " +
                    formatBytes(limit) + " of memory");
  }

  uint64_t sizeOf(const Descriptor *type) {
    auto [entry, isNew] = sizes.try_emplace(type);
    if (isNew)
      entry->second = pointerBytes + MessageFactory::generated_factory()
                                         ->GetPrototype(type)
                                         ->SpaceUsedLong();
    return entry->second;
  }

  Status walkMessage(const Descriptor *type, int depth) {
    if (depth > deepest)
      return notSerialized();
    while (uint32_t tag = stream.ReadTag()) {
      const FieldDescriptor *field =
          type->FindFieldByNumber(WireFormat::GetTagFieldNumber(tag));
      if (!field)
        return notSerialized();
      HOCKET_RETURN_IF_ERROR(
          walkField(*field, WireFormat::GetTagWireType(tag), depth));
    }
    return okStatus();
  }

  Status walkField(const FieldDescriptor &field, WireFormat::WireType type,
                   int depth) {
    uint64_t wide = 0;
    uint32_t narrow = 0;
    bool read = false;
    switch (type) {
    case WireFormat::WIRETYPE_VARINT:
      read = stream.ReadVarint64(&wide);
      break;
    case WireFormat::WIRETYPE_FIXED64:
      read = stream.ReadLittleEndian64(&wide);
      break;
    case WireFormat::WIRETYPE_FIXED32:
      read = stream.ReadLittleEndian32(&narrow);
      break;
    case WireFormat::WIRETYPE_LENGTH_DELIMITED:
      return walkBytes(field, depth);
    default:
      break; // Groups, which the schema has none of.
    }
    bool number = field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE &&
                  field.cpp_type() != FieldDescriptor::CPPTYPE_STRING;
    if (!read || !number)
      return notSerialized();
    return field.is_repeated() ? take(pointerBytes) : okStatus();
  }

  Status walkBytes(const FieldDescriptor &field, int depth) {
    int size = 0;
    if (!stream.ReadVarintSizeAsInt(&size))
      return notSerialized();
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      // Packed numbers of a byte each become words.
      bool text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
      if (!text && !field.is_repeated())
        return notSerialized();
      HOCKET_RETURN_IF_ERROR(take(text ? stringBytes : 8 * uint64_t(size)));
      return stream.Skip(size) ? okStatus() : notSerialized();
    }
    HOCKET_RETURN_IF_ERROR(take(sizeOf(field.message_type())));
    auto before = stream.PushLimit(size);
    HOCKET_RETURN_IF_ERROR(walkMessage(field.message_type(), depth + 1));
    if (!stream.ConsumedEntireMessage())
      return notSerialized();
    stream.PopLimit(before);
    return okStatus();
  }

  google::protobuf::io::CodedInputStream stream;
  uint64_t limit, taken = 0;
  std::unordered_map<const Descriptor *, uint64_t> sizes;
};

} // namespace

Status hocket::checkPayloadSize(std::string_view payload) {
  return PayloadWalker(payload).walk();
}
