//===- SentencePieceModel.cpp - Reads tokenizer.model ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/SentencePieceModel.h"

#include "base/json/JsonDefect.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace hocket;
using namespace hocket::tokenizer;

//===----------------------------------------------------------------------===//
// The wire format
//===----------------------------------------------------------------------===//

namespace {

struct Field {
  uint32_t number = 0;
  enum Kind { Varint, Bytes, Fixed } kind = Varint;
  uint64_t value = 0;     ///< Of a varint, or the bits of 4 or 8 bytes.
  std::string_view bytes; ///< Of a message, string or packed list.
};

/// The fields of one message, in turn. Messages within it are read by another
/// reader, as deep as the schema is.
class Fields {
public:
  Fields(const SourceText &file, std::string_view bytes)
      : file(file), rest(bytes) {}

  bool atEnd() const { return rest.empty(); }
  StatusOr<Field> next();

  Status wrong(const std::string &what) const {
    return invalidArgument(
        file.path + ": byte " + std::to_string(rest.data() - file.text.data()) +
        ": " + what + "; expected the model of a SentencePiece tokenizer");
  }

private:
  bool readVarint(uint64_t &value);
  bool take(size_t size, std::string_view &bytes);

  const SourceText &file;
  std::string_view rest;
};

} // namespace

bool Fields::readVarint(uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    auto byte = uint8_t(rest[0]);
    rest.remove_prefix(1);
    value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return false;
}

bool Fields::take(size_t size, std::string_view &bytes) {
  if (size > rest.size())
    return false;
  bytes = rest.substr(0, size);
  rest.remove_prefix(size);
  return true;
}

StatusOr<Field> Fields::next() {
  Fields before = *this;
  Field field;
  uint64_t tag = 0, size = 0;
  bool good = readVarint(tag) && tag >> 3 > 0 && tag >> 3 < 1u << 29;
  field.number = uint32_t(tag >> 3);
  switch (tag & 7) {
  case 0:
    good = good && readVarint(field.value);
    break;
  case 1:
  case 5:
    field.kind = Field::Fixed;
    good = good && take((tag & 7) == 1 ? 8 : 4, field.bytes);
    if (good)
      std::memcpy(&field.value, field.bytes.data(), field.bytes.size());
    break;
  case 2:
    field.kind = Field::Bytes;
    good = good && readVarint(size) && take(size_t(size), field.bytes);
    break;
  default:
    good = false;
  }
  if (!good)
    return before.wrong("a field is cut short or of no known kind");
  return field;
}

//===----------------------------------------------------------------------===//
// The schema
//===----------------------------------------------------------------------===//

/// One piece: its text, score and type.
static Status readPiece(const SourceText &file, std::string_view bytes,
                        SentencePieceModel &model) {
  Fields fields(file, bytes), begin = fields;
  std::string_view text;
  float score = 0;
  uint64_t type = 1;
  while (!fields.atEnd()) {
    HOCKET_ASSIGN_OR_RETURN(Field field, fields.next());
    if (field.number == 1 && field.kind == Field::Bytes)
      text = field.bytes;
    else if (field.number == 2 && field.kind == Field::Fixed)
      std::memcpy(&score, &field.value, sizeof(score));
    else if (field.number == 3 && field.kind == Field::Varint)
      type = field.value;
  }
  auto id = int32_t(model.types.size());
  if (id == int32_t(mostTokens))
    return begin.wrong("more than " + std::to_string(mostTokens) + " pieces");
  if (text.empty() || findInvalidUtf8(text) != text.size())
    return begin.wrong("piece " + std::to_string(id) + " is empty or no UTF-8");
  if (type < 1 || type > 6 || !std::isfinite(score))
    return begin.wrong("piece " + std::to_string(id) + ", " + inQuotes(text) +
                       ", has no type or score that there is");
  if (!model.pieces.insert(text, id))
    return begin.wrong("the piece " + inQuotes(text) + " appears twice");
  model.scores.push_back(score);
  model.types.push_back(PieceType(type));
  return okStatus();
}

static Status readTrainer(const SourceText &file, std::string_view bytes,
                          SentencePieceModel &model) {
  Fields fields(file, bytes), begin = fields;
  uint64_t type = 1;
  while (!fields.atEnd()) {
    HOCKET_ASSIGN_OR_RETURN(Field field, fields.next());
    bool isNumber = field.kind == Field::Varint;
    if (field.number == 3 && isNumber)
      type = field.value;
    else if (field.number == 24 && isNumber)
      model.spaceIsSuffix = field.value != 0;
    else if (field.number == 35 && isNumber)
      model.hasByteFallback = field.value != 0;
    else if (field.number == 44 && field.kind == Field::Bytes)
      model.unknownSurface = field.bytes;
  }
  if (type != 1 && type != 2)
    return begin.wrong("the model is of words or characters, where unigram and "
                       "BPE are supported");
  model.isUnigram = type == 1;
  return okStatus();
}

static Status readNormalizer(const SourceText &file, std::string_view bytes,
                             SentencePieceModel &model) {
  Fields fields(file, bytes), begin = fields;
  while (!fields.atEnd()) {
    HOCKET_ASSIGN_OR_RETURN(Field field, fields.next());
    bool isNumber = field.kind == Field::Varint;
    if (field.number == 2 && field.kind == Field::Bytes) {
      if (!model.map.read(field.bytes))
        return begin.wrong("the sizes of the normalization map are wrong");
    } else if (field.number == 3 && isNumber) {
      model.addDummyPrefix = field.value != 0;
    } else if (field.number == 4 && isNumber) {
      model.removeExtraSpaces = field.value != 0;
    } else if (field.number == 5 && isNumber) {
      model.escapeSpaces = field.value != 0;
    }
  }
  return okStatus();
}

StatusOr<SentencePieceModel>
tokenizer::readSentencePieceModel(const SourceText &file) {
  SentencePieceModel model;
  Fields fields(file, file.text);
  while (!fields.atEnd()) {
    HOCKET_ASSIGN_OR_RETURN(Field field, fields.next());
    if (field.kind != Field::Bytes)
      continue;
    if (field.number == 1)
      HOCKET_RETURN_IF_ERROR(readPiece(file, field.bytes, model));
    else if (field.number == 2)
      HOCKET_RETURN_IF_ERROR(readTrainer(file, field.bytes, model));
    else if (field.number == 3)
      HOCKET_RETURN_IF_ERROR(readNormalizer(file, field.bytes, model));
  }
  if (model.types.empty())
    return fields.wrong("there are no pieces");
  return model;
}
