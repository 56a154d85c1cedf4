//===- ConfigReader.h - A model from a config.json --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Shared by ReadConfig.cpp, ReadLatentAttention.cpp, ReadLayers.cpp,
/// ReadStateSpace.cpp, ReadTwoStacks.cpp and ReadVision.cpp; not for other
/// folders.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_HUGGINGFACE_CONFIGREADER_H
#define HOCKET_FRONTENDS_HUGGINGFACE_CONFIGREADER_H

#include "frontends/huggingface/ConfigJson.h"
#include "frontends/huggingface/Families.h"
#include "frontends/spec/LoadSpec.h"
#include "frontends/spec/model/ListedLayers.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hocket::huggingface {

/// Has the encoder of `spec`, with what it is trained on, tell classes in the
/// place of tokens; how many is up to the caller. The padding stays.
void turnIntoClassifier(spec::Spec &spec);

/// Reads the fields of one model; each knows the key that it came from.
class ConfigReader {
public:
  ConfigReader(const ConfigJson &config, const Family &family)
      : config(config), family(family),
        loaded{spec::Spec(), spec::FieldLocations(config.fileName())} {}

  StatusOr<spec::LoadedSpec> read();

private:
  Status readRow(const Row &row);
  Status readActivation();
  Status readRopes();
  Status readLocalRope();
  Status readRotaryDim();
  /// `within` is the rope that is set, in `loaded`: "model.rope.".
  Status readRope(const std::string &key, const std::string &within);
  Status readScaling(const std::string &key, const std::string &type,
                     const std::string &within);
  Status readLayers();
  Status readWindows();
  Status readLayerTypes();
  Status readMixedRope();
  Status readExpertLayers();
  Status readSharedExpert();
  Status readLatentAttention(); ///< ReadLatentAttention.cpp
  Status readTopkMethod();
  /// What YaRN makes of the scale of scores, where latents are attended to;
  /// `key` is the rope.
  Status readScoreScale(const std::string &key);
  Status readStateSpace();
  Status readInnerWidth();
  Status readStepLimit();
  Status refuseOtherStateSpaces() const;
  Status refuseOtherInitialSteps() const;
  Status refuseOtherHybrids() const;
  Status refuseOtherLetters() const;
  /// The layers that words or letters tell of; the model then has as many.
  Status readLetters();
  /// Refuses the key where it is there and is not this number.
  Status expectNumber(const std::string &key, double number) const;
  Status readAttentionLayers();
  Status readScales();
  Status readEncoder();
  StatusOr<int64_t> classCount();
  Status readClasses(const std::string &key, bool areChoices);
  Status readTwoStacks();
  /// What corrupted spans are made with.
  Status readSpanTokens();
  Status readSharedHead();
  StatusOr<spec::LoadedSpec> readWithVision(); ///< ReadVision.cpp
  Status refuseOtherTowers() const;
  Status readTower();
  Status expectName(const std::string &key, const std::string &wanted) const;
  StatusOr<spec::Model::Activation>
  activationAt(const std::string &key, spec::Model::Activation absent) const;
  Status refuseOtherStacks() const;
  Status refuseOtherActivation() const;
  Status readBranches();
  Status readFalconHeads();
  Status refuseUnsupported();
  Status refusePartialRotary();
  /// The whole numbers of the list `key`, or nothing where it is absent.
  StatusOr<const IntegerList *> integers(const std::string &key) const;
  /// Refuses a list of another length than the model has layers.
  Status checkLength(const std::string &key, size_t length) const;

  /// Sets the field `path` to the value of `key`, which is there.
  Status assign(const std::string &key, const std::string &path);

  Status error(int constraint, const std::string &key,
               const std::string &text) const {
    return invalidArgument(config.place(key).str() + ": H" +
                           std::to_string(constraint) + ": " + text);
  }
  Status wrongType(const std::string &key, const std::string &expected) const {
    return error(3, key,
                 key + " is " + describe(*config.find(key)) + "; write " +
                     expected);
  }
  /// Whether `key` is `true`; an error where it is no boolean.
  StatusOr<bool> flag(const std::string &key, bool absent) const;
  /// The names of `architectures`; none where it is absent.
  StatusOr<StringList> architectures() const;
  /// Refuses what says of an encoder that it decodes.
  Status refuseDecoder() const;

  /// Whether there are as many layers as S4 allows, so that they can be listed.
  bool hasSoundLayers() const {
    return loaded.spec.model().layers() >= 1 &&
           loaded.spec.model().layers() <= mostLayers;
  }

  static constexpr int64_t mostLayers = 1 << 16; ///< S4.

  const ConfigJson &config;
  const Family &family;
  spec::LoadedSpec loaded;
  std::vector<spec::ListedLayer> layers;
  std::string letters;   ///< Of the layers, with LayerLetters.
  int64_t window = 0;    ///< Of layers that have one; 0: there is none.
  spec::Rope localRope;  ///< Of the same, with LocalRope.
  std::string differing; ///< The key that says how layers differ.
};

} // namespace hocket::huggingface

#endif // HOCKET_FRONTENDS_HUGGINGFACE_CONFIGREADER_H
