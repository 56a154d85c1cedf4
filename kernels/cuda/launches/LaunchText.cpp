//===- LaunchText.cpp - Writes a kernel and its launch --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/launches/LaunchText.h"

#include <cctype>
#include <cstdio>

namespace hocket::kernels::library {

using Kind = CudaArgument::Kind;

std::string cudaType(int64_t dtype) {
  switch (static_cast<DType>(dtype)) {
  case DType::F32:
    return "float";
  case DType::BF16:
    return "bf16";
  case DType::F16:
    return "f16";
  case DType::I32:
    return "int";
  case DType::F64:
    return "double";
  case DType::F8E4M3:
    return "e4m3";
  case DType::F8E5M2:
    return "e5m2";
  }
  return "unsigned char";
}

std::string cudaWord(int64_t dtype) {
  switch (bytesOf(static_cast<DType>(dtype))) {
  case 1:
    return "unsigned char";
  case 2:
    return "unsigned short";
  case 4:
    return "unsigned";
  default:
    return "Integer";
  }
}

static std::string joined(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

LaunchText::LaunchText(const char *header, const char *function,
                       const std::vector<std::string> &types)
    : header(std::string("kernels/cuda/") + header), function(function),
      types(joined(types)) {}

LaunchText &LaunchText::pass(const std::string &expression) {
  passed += (passed.empty() ? "" : ", ") + expression;
  return *this;
}

LaunchText &LaunchText::parameter(const std::string &type,
                                  const std::string &name,
                                  CudaArgument argument) {
  std::string space = type.back() == '*' ? "" : " ";
  parameters += (parameters.empty() ? "" : ", ") + type + space + name;
  arguments.push_back(argument);
  return *this;
}

LaunchText &LaunchText::add(const std::string &type, const std::string &name,
                            CudaArgument argument) {
  return parameter(type, name, argument).pass(name);
}

LaunchText &LaunchText::in(const char *name, const std::string &type,
                           size_t buffer) {
  return add("const " + type + " *", name,
             {Kind::Buffer, static_cast<uint32_t>(buffer)});
}
LaunchText &LaunchText::out(const char *name, const std::string &type,
                            size_t buffer) {
  return add(type + " *", name, {Kind::Buffer, static_cast<uint32_t>(buffer)});
}
LaunchText &LaunchText::workspace(const char *name, const std::string &type,
                                  int64_t offset) {
  return add(type + " *", name, {Kind::Workspace, 0, offset});
}
LaunchText &LaunchText::size(const char *name, int64_t value) {
  return add("Integer", name, {Kind::I64, 0, value});
}
LaunchText &LaunchText::real(const char *name, double value) {
  return add("double", name, {Kind::F64, 0, 0, value});
}
LaunchText &LaunchText::scalar(const char *name, size_t index) {
  return add("Integer", name, {Kind::Scalar, static_cast<uint32_t>(index)});
}
LaunchText &LaunchText::accumulate() {
  return add("int", "add", {Kind::Accumulate});
}
LaunchText &LaunchText::fault() {
  return add("unsigned *", "fault", {Kind::Fault});
}

LaunchText &LaunchText::tensor(const char *name, const CudaTensor &tensor) {
  tensors.push_back(tensor);
  return add("const __grid_constant__ TensorMap", name,
             {Kind::Tensor, static_cast<uint32_t>(tensors.size() - 1)});
}

LaunchText &LaunchText::oneBlock() {
  hasOneBlock = true;
  return *this;
}

LaunchText &LaunchText::persistent() {
  isPersistent = true;
  return oneBlock();
}

LaunchText &LaunchText::declare(const std::string &text) {
  declarations += text;
  return *this;
}

LaunchText &LaunchText::onlyIf(const std::string &holds) {
  condition = holds;
  return *this;
}

ShapeText::ShapeText(int64_t dtype)
    : members("struct $_shape {\n  using T = " + cudaType(dtype) + ";\n") {}

ShapeText &ShapeText::constant(const char *type, const char *name,
                               const std::string &value) {
  members += std::string("  static constexpr ") + type + " " + name + " = " +
             value + ";\n";
  return *this;
}

ShapeText &ShapeText::number(const char *type, const char *name,
                             int64_t value) {
  return constant(type, name, std::to_string(value));
}

ShapeText &ShapeText::real(const char *name, float value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%af", static_cast<double>(value));
  return constant("float", name, text);
}

/// FNV-1a, 64 bits, in hexadecimal.
static std::string hashOf(const std::string &text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3u;
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4)
    digits += "0123456789abcdef"[hash >> shift & 15];
  return digits;
}

/// The words of `types` with underlines between them, where that is a name.
static std::string nameOfTypes(const std::string &types) {
  if (types.find('$') != std::string::npos)
    return "";
  std::string name;
  for (char c : types)
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  return name.empty() ? name : "_" + name;
}

static std::string replaceSymbol(const std::string &text,
                                 const std::string &symbol) {
  std::string result;
  for (char c : text)
    result += c == '$' ? symbol : std::string(1, c);
  return result;
}

CudaLaunch LaunchText::launch(std::array<int64_t, 3> grid, uint32_t threads,
                              int64_t sharedBytes) const {
  std::string shared = sharedBytes > 0 ? ", shared" : "";
  std::string list = types.empty() ? "" : "<" + types + ">";
  std::string text = declarations +
                     "extern \"C\" __global__ void __launch_bounds__(" +
                     std::to_string(threads) + (hasOneBlock ? ", 1" : "") +
                     ")\n$(" + parameters + ") {\n";
  if (sharedBytes > 0)
    text += "  HOCKET_DYNAMIC_SHARED(shared);\n";
  text += "  " + function + list + "(" + passed + shared + ");\n}\n";
  if (!condition.empty())
    text = "#if " + condition + "\n" + text + "#endif\n";

  CudaLaunch launch;
  launch.symbol =
      "hocket_" + function + nameOfTypes(types) + "_" + hashOf(header + text);
  launch.header = header;
  launch.text = replaceSymbol(text, launch.symbol);
  for (size_t i = 0; i < 3; ++i)
    launch.grid[i] = static_cast<uint32_t>(grid[i]);
  launch.isPersistent = isPersistent;
  launch.threads = threads;
  launch.sharedBytes = static_cast<uint32_t>(sharedBytes);
  launch.arguments = arguments;
  launch.tensors = tensors;
  return launch;
}

} // namespace hocket::kernels::library
