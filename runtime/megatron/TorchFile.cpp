//===- TorchFile.cpp - What torch.save wrote ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/megatron/TorchFile.h"

#include "base/CheckedMath.h"

#include <optional>
#include <utility>

using namespace hocket;
using namespace hocket::megatron;
using checkpoint::ElementType;
using Kind = PickleValue::Kind;

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

/// All members lie in one folder, whose name is the file's when it was made.
static std::string prefixOf(const StoredZip &zip) {
  constexpr std::string_view program = "/data.pkl";
  for (const auto &[name, range] : zip.members())
    if (name.ends_with(program))
      return name.substr(0, name.size() - program.size() + 1);
  return "";
}

static Status checkByteOrder(const StoredZip &zip, const std::string &prefix) {
  auto found = zip.members().find(prefix + "byteorder");
  if (found == zip.members().end()) // PyTorch before 2.1 does not say.
    return okStatus();
  HOCKET_ASSIGN_OR_RETURN(std::string order, found->second.readAll(64));
  if (order == "little")
    return okStatus();
  return invalidArgument(zip.path() + ": the numbers are stored as '" + order +
                         "' endian; save it on a little-endian machine");
}

StatusOr<TorchFile> TorchFile::open(const FileRange &range) {
  HOCKET_ASSIGN_OR_RETURN(StoredZip zip, StoredZip::open(range));
  std::string prefix = prefixOf(zip);
  auto program = zip.members().find(prefix + "data.pkl");
  if (prefix.empty() || program == zip.members().end())
    return dataLoss(zip.path() + ": holds no data.pkl; expected a file as "
                                 "torch.save writes it");
  HOCKET_RETURN_IF_ERROR(checkByteOrder(zip, prefix));
  HOCKET_ASSIGN_OR_RETURN(std::string bytes,
                          program->second.readAll(Pickle::kMostBytes));
  auto pickle = Pickle::parse(bytes);
  if (!pickle.ok())
    return pickle.status().withContext(zip.path());
  return TorchFile(std::move(zip), *std::move(pickle), std::move(prefix));
}

//===----------------------------------------------------------------------===//
// A tensor
//===----------------------------------------------------------------------===//

std::optional<std::vector<uint64_t>>
megatron::sizesOf(const PickleValue &value) {
  if (value.calls("torch Size"))
    return value.arguments->items.size() == 1
               ? sizesOf(*value.arguments->items.front())
               : std::nullopt;
  if (!value.is(Kind::Tuple) && !value.is(Kind::List))
    return std::nullopt;
  std::vector<uint64_t> sizes;
  for (const PickleValue *item : value.items) {
    if (!item->is(Kind::Int) || item->integer < 0)
      return std::nullopt;
    sizes.push_back(uint64_t(item->integer));
  }
  return sizes;
}

static std::optional<ElementType> typeOfStorage(std::string_view global) {
  static constexpr std::pair<std::string_view, ElementType> types[] = {
      {"torch FloatStorage", ElementType::F32},
      {"torch HalfStorage", ElementType::F16},
      {"torch BFloat16Storage", ElementType::BF16},
      {"torch DoubleStorage", ElementType::F64},
      {"torch LongStorage", ElementType::I64},
      {"torch IntStorage", ElementType::I32},
      {"torch ShortStorage", ElementType::I16},
      {"torch CharStorage", ElementType::I8},
      {"torch ByteStorage", ElementType::U8},
      {"torch BoolStorage", ElementType::Bool},
  };
  for (const auto &[name, type] : types)
    if (name == global)
      return type;
  return std::nullopt;
}

/// A parameter is a call with the tensor.
static const PickleValue *tensorIn(const PickleValue &value) {
  const PickleValue *tensor = &value;
  if ((value.calls("torch._utils _rebuild_parameter") ||
       value.calls("torch._utils _rebuild_parameter_with_state")) &&
      !value.arguments->items.empty())
    tensor = value.arguments->items.front();
  return tensor->calls("torch._utils _rebuild_tensor_v2") ? tensor : nullptr;
}

bool TorchFile::isTensor(const PickleValue &value) {
  return tensorIn(value) != nullptr;
}

/// Whether elements lie in the order of the shape, without gaps. The stride of
/// a dim of one element says nothing.
static bool isDense(const std::vector<uint64_t> &shape,
                    const std::vector<uint64_t> &strides) {
  uint64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] > 1 && strides[i] != expected)
      return false;
    expected *= shape[i]; // The product is known to be in range.
  }
  return true;
}

/// ('storage', torch.FloatStorage, '0', 'cpu', 6)
static bool isStorage(const PickleValue &value) {
  if (!value.is(Kind::Persistent) || !value.arguments->is(Kind::Tuple))
    return false;
  const auto &said = value.arguments->items;
  return said.size() == 5 && said[0]->text == "storage" &&
         said[1]->is(Kind::Global) && said[2]->is(Kind::String);
}

namespace {
/// What a tensor says of itself: where in which storage it is.
struct Layout {
  ElementType type = ElementType::F32;
  std::vector<uint64_t> shape, strides;
  uint64_t offset = 0, bytes = 0;
  std::string storage; ///< "0"
};
} // namespace

/// A message begins with `place`.
static StatusOr<Layout> layoutOf(const PickleValue &value,
                                 const std::string &place) {
  const PickleValue *call = tensorIn(value);
  if (!call || call->arguments->items.size() < 4 ||
      !isStorage(*call->arguments->items[0]))
    return dataLoss(place + "expected a tensor, found " + describe(value));
  const auto &said = call->arguments->items;
  const auto &storage = said[0]->arguments->items;
  auto shape = sizesOf(*said[2]), strides = sizesOf(*said[3]);
  if (!shape || !strides || shape->size() != strides->size() ||
      !said[1]->is(Kind::Int) || said[1]->integer < 0)
    return dataLoss(place + "its shape, strides and offset are damaged");
  auto type = typeOfStorage(storage[1]->text);
  if (!type)
    return invalidArgument(place + "stored as " + describe(*storage[1]) +
                           ", which is not supported; save the weights as "
                           "float32, bfloat16 or float16");
  auto bytes = checkpoint::tensorBytes(*shape, *type);
  auto offset = checkedMultiply(uint64_t(said[1]->integer),
                                checkpoint::elementBytes(*type));
  if (!bytes || !offset)
    return dataLoss(place + "shape " + checkpoint::shapeText(*shape) +
                    " is too large");
  return Layout{*type,  *std::move(shape), *std::move(strides), *offset,
                *bytes, storage[2]->text};
}

StatusOr<TorchTensor> TorchFile::tensor(const PickleValue &value,
                                        const std::string &name) const {
  std::string place = path() + ": tensor '" + name + "': ";
  HOCKET_ASSIGN_OR_RETURN(Layout layout, layoutOf(value, place));
  auto found = zip.members().find(prefix + "data/" + layout.storage);
  if (found == zip.members().end())
    return dataLoss(place + "its storage '" + layout.storage + "' is missing");
  std::string shape = checkpoint::shapeText(layout.shape);
  auto end = checkedAdd(layout.offset, layout.bytes);
  if (!end || *end > found->second.bytes)
    return dataLoss(place + "shape " + shape + " at byte " +
                    std::to_string(layout.offset) + " needs more than the " +
                    std::to_string(found->second.bytes) +
                    " bytes of its storage; the file is damaged");
  if (!isDense(layout.shape, layout.strides))
    return invalidArgument(place + "strides " +
                           checkpoint::shapeText(layout.strides) +
                           " of shape " + shape +
                           " are not those of rows in their order; save it "
                           "after .contiguous()");
  HOCKET_ASSIGN_OR_RETURN(FileRange range,
                          found->second.part(layout.offset, layout.bytes));
  return TorchTensor{layout.type, std::move(layout.shape), std::move(range)};
}
