//===- PickleGlobals.cpp - Names that checkpoints have --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/megatron/Pickle.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::megatron;

/// Of Python and what Megatron-LM saves beside weights: settings, random
/// states, paths. None is called; they are what a sound file may mention.
static constexpr std::string_view kGlobals[] = {
    "__builtin__ bytearray",
    "__builtin__ bytes",
    "__builtin__ complex",
    "__builtin__ dict",
    "__builtin__ frozenset",
    "__builtin__ getattr", // How Python 3.11 says a value of an enum.
    "__builtin__ list",
    "__builtin__ object",
    "__builtin__ set",
    "_codecs encode",
    "_io BytesIO",
    "argparse Namespace",
    "builtins bytearray",
    "builtins bytes",
    "builtins complex",
    "builtins dict",
    "builtins frozenset",
    "builtins getattr",
    "builtins list",
    "builtins object",
    "builtins set",
    "collections OrderedDict",
    "collections defaultdict",
    "collections deque",
    "copy_reg _reconstructor",
    "copyreg _reconstructor",
    "io BytesIO",
    "numpy dtype",
    "numpy ndarray",
    "numpy._core.multiarray _reconstruct",
    "numpy._core.multiarray scalar",
    "numpy._core.numeric _frombuffer",
    "numpy.core.multiarray _reconstruct",
    "numpy.core.multiarray scalar",
    "numpy.core.numeric _frombuffer",
    "pathlib Path",
    "pathlib PosixPath",
    "signal Signals",
    "torch BFloat16Storage",
    "torch BoolStorage",
    "torch ByteStorage",
    "torch CharStorage",
    "torch DoubleStorage",
    "torch FloatStorage",
    "torch HalfStorage",
    "torch IntStorage",
    "torch LongStorage",
    "torch ShortStorage",
    "torch Size",
    "torch Tensor",
    "torch bfloat16",
    "torch bool",
    "torch device",
    "torch float16",
    "torch float32",
    "torch float64",
    "torch float8_e4m3fn",
    "torch float8_e5m2",
    "torch int16",
    "torch int32",
    "torch int64",
    "torch int8",
    "torch uint8",
    "torch._tensor _rebuild_from_type_v2",
    "torch._utils _rebuild_parameter",
    "torch._utils _rebuild_parameter_with_state",
    "torch._utils _rebuild_tensor_v2",
    "torch.distributed.checkpoint.filesystem _StorageInfo",
    "torch.distributed.checkpoint.metadata BytesStorageMetadata",
    "torch.distributed.checkpoint.metadata ChunkStorageMetadata",
    "torch.distributed.checkpoint.metadata Metadata",
    "torch.distributed.checkpoint.metadata MetadataIndex",
    "torch.distributed.checkpoint.metadata StorageMeta",
    "torch.distributed.checkpoint.metadata TensorProperties",
    "torch.distributed.checkpoint.metadata TensorStorageMetadata",
    "torch.distributed.checkpoint.metadata _MEM_FORMAT_ENCODING",
    "torch.nn.parameter Parameter",
    "torch.serialization _get_layout",
    "torch.storage UntypedStorage",
    "torch.torch_version TorchVersion",
};

/// Settings of type enum, of these packages.
static constexpr std::string_view kPackages[] = {"megatron.",
                                                 "transformer_engine."};

bool megatron::isKnownGlobal(std::string_view global) {
  for (std::string_view package : kPackages)
    if (global.starts_with(package))
      return true;
  return std::binary_search(std::begin(kGlobals), std::end(kGlobals), global);
}
