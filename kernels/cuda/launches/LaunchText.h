//===- LaunchText.h - Writes a kernel and its launch ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel of the library is one call of a template in a header of this
/// folder. Its parameters and what they get are named together, in order:
///
///   LaunchText text("Rope.cuh", "rope", {cudaType(dtype), "false"});
///   text.in("x", cudaType(dtype), 0).in("table", "float", 1);
///   text.out("y", cudaType(dtype), 2).size("rows", rows);
///   call.launches.push_back(text.launch({blocks, 1, 1}, 256));
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_LAUNCHES_LAUNCHTEXT_H
#define HOCKET_KERNELS_CUDA_LAUNCHES_LAUNCHTEXT_H

#include "kernels/cuda/Geometry.cuh"
#include "kernels/cuda/launches/Library.h"

namespace hocket::kernels::library {

/// A type of CUDA C++ by the integer that stands for it in calls: "float".
std::string cudaType(int64_t dtype);
/// A type of the size of its elements for code that only moves them.
std::string cudaWord(int64_t dtype);

class LaunchText {
public:
  /// Of `function<types...>` in kernels/cuda/`header`.
  LaunchText(const char *header, const char *function,
             const std::vector<std::string> &types = {});

  // Each adds a parameter, which `function` gets in the same order.
  /// A buffer that is only read, or one that is written, of `type`.
  LaunchText &in(const char *name, const std::string &type, size_t buffer);
  LaunchText &out(const char *name, const std::string &type, size_t buffer);
  /// The workspace, `offset` bytes in.
  LaunchText &workspace(const char *name, const std::string &type,
                        int64_t offset = 0);
  LaunchText &size(const char *name, int64_t value);
  LaunchText &real(const char *name, double value);
  LaunchText &scalar(const char *name, size_t index);
  LaunchText &accumulate();
  LaunchText &fault();
  /// A TensorMap.
  LaunchText &tensor(const char *name, const CudaTensor &tensor);

  /// An argument of `function` that is no parameter of the kernel, and a
  /// parameter of the kernel that is no argument of `function`.
  LaunchText &pass(const std::string &expression);
  LaunchText &parameter(const std::string &type, const std::string &name,
                        CudaArgument argument);
  /// Text before the kernel; `$` in it stands for the kernel's symbol, as it
  /// does in types (which the symbol is not named for then).
  LaunchText &declare(const std::string &text);

  /// For a multiprocessor that has one block at a time: registers of its
  /// warpgroups may change hands.
  LaunchText &oneBlock();

  /// The same, of a kernel whose blocks take all work along x by turns.
  LaunchText &persistent();

  /// Where the preprocessor finds that to hold alone.
  LaunchText &onlyIf(const std::string &condition);

  /// With dynamic shared memory, `function` gets a pointer to it last.
  CudaLaunch launch(std::array<int64_t, 3> grid, uint32_t threads,
                    int64_t sharedBytes = 0) const;

private:
  LaunchText &add(const std::string &type, const std::string &name,
                  CudaArgument argument);

  std::string header, function, types, declarations, parameters, passed;
  std::string condition;
  bool hasOneBlock = false, isPersistent = false;
  std::vector<CudaArgument> arguments;
  std::vector<CudaTensor> tensors;
};

/// The text of `$_shape`, a struct of what a kernel is compiled for:
///
///   text.declare(ShapeText(dtype).number("int", "dim", dim).text());
class ShapeText {
public:
  /// With the type T of `dtype`.
  explicit ShapeText(int64_t dtype);
  ShapeText &constant(const char *type, const char *name,
                      const std::string &value);
  ShapeText &number(const char *type, const char *name, int64_t value);
  /// A float, to the bit.
  ShapeText &real(const char *name, float value);
  std::string text() const { return members + "};\n"; }

private:
  std::string members;
};

/// Blocks of `each` that cover `count`.
constexpr int64_t blocksOf(int64_t count, int64_t each) {
  return (count + each - 1) / each;
}

} // namespace hocket::kernels::library

#endif // HOCKET_KERNELS_CUDA_LAUNCHES_LAUNCHTEXT_H
