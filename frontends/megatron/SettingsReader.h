//===- SettingsReader.h - Settings into fields of a spec --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What ReadSettings.cpp, Experts.cpp and Hybrid.cpp share.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_MEGATRON_SETTINGSREADER_H
#define HOCKET_FRONTENDS_MEGATRON_SETTINGSREADER_H

#include "frontends/spec/LoadSpec.h"
#include "frontends/spec/model/ListedLayers.h"
#include "runtime/megatron/Model.h"

#include <string>
#include <vector>

namespace hocket::megatron {

class SettingsReader {
public:
  explicit SettingsReader(const Model &from)
      : from(from), loaded{spec::Spec(), spec::FieldLocations(from.path)} {}

  StatusOr<spec::LoadedSpec> read();

private:
  Status refuseUnsupported() const;
  Status readSizes();
  Status readReals();
  Status readLayers();
  /// Tokens of a window, 0 for none.
  StatusOr<int64_t> readWindow();
  Status readPositions();
  /// Attention to latents, with its rope (LatentAttention.cpp).
  Status readLatentAttention();
  Status readYarn();
  /// Of a model whose layers are of several kinds, each with one branch.
  Status readHybrid();
  Status readLetters(const std::string &name);
  Status readStateSpace();
  Status readExperts();
  Status readRouter();
  Status readBalancing();
  Status readSinkhorn();
  /// Layer by layer, whether setting `name` marks it: each of `absent` where
  /// it is not there, the list's ones, or every n-th layer, of which the first
  /// is `first`.
  StatusOr<std::vector<bool>> marks(const std::string &name, bool absent,
                                    int64_t first) const;
  Status readDifferences();
  /// Of Retro, whose layers attend to neighbours.
  Status readRetrieval();

  spec::Model &model() { return *loaded.spec.mutable_model(); }
  spec::Moe &moe() { return *model().mutable_moe(); }

  Status error(const std::string &name, const std::string &what) const;
  /// nullptr where it is None or not there.
  const Setting *find(const std::string &name) const;
  /// Whether it is other than None, False, 0, empty and not there.
  bool isSet(const std::string &name) const;
  bool flag(const std::string &name) const;
  std::string text(const std::string &name, const std::string &absent) const;
  StatusOr<double> real(const std::string &name, double absent) const;
  /// Whether the model has as many layers as S4 allows.
  bool hasSoundLayers() const {
    int64_t layers = loaded.spec.model().layers();
    return layers >= 1 && layers <= 1 << 16;
  }
  /// Sets the field `path`, and where it came from.
  Status assignSize(const std::string &name, const std::string &path);
  Status assignReal(const std::string &name, const std::string &path);

  const Model &from;
  spec::LoadedSpec loaded;
  std::string letters; ///< Of a hybrid's layers; "": it is none.
};

} // namespace hocket::megatron

#endif // HOCKET_FRONTENDS_MEGATRON_SETTINGSREADER_H
