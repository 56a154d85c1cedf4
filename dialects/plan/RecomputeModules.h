//===- RecomputeModules.h - Parts of a layer made again ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What selective recompute computes again, by the names that Megatron gives
/// to `--recompute-modules`, and two of our own: `activation`, which is
/// Megatron's moe_act for every MLP, and `pointwise`. The compiler, the prices
/// and the text forms all read this one table; what each module holds is said
/// in frontends/spec/spec.proto.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_PLAN_RECOMPUTEMODULES_H
#define HOCKET_DIALECTS_PLAN_RECOMPUTEMODULES_H

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace hocket::plan {

/// In the order of spec.proto's enum of the same name.
enum class RecomputeModule : uint8_t {
  CoreAttention,
  LayerNorm,
  Mlp,
  SharedExperts,
  Moe,
  MoeActivation,
  Activation,
  Pointwise,
};

inline constexpr int kRecomputeModules = 8;

/// "core_attn".
std::string_view spelled(RecomputeModule module);
std::optional<RecomputeModule> recomputeModuleNamed(std::string_view name);

/// A set of modules.
class RecomputeModules {
public:
  constexpr RecomputeModules() = default;
  constexpr RecomputeModules(std::initializer_list<RecomputeModule> modules) {
    for (RecomputeModule module : modules)
      add(module);
  }

  constexpr void add(RecomputeModule module) {
    bits |= uint8_t(1U << unsigned(module));
  }
  constexpr bool has(RecomputeModule module) const {
    return bits >> unsigned(module) & 1;
  }
  constexpr bool empty() const { return bits == 0; }
  constexpr bool intersects(RecomputeModules other) const {
    return (bits & other.bits) != 0;
  }
  bool operator==(const RecomputeModules &) const = default;
  auto operator<=>(const RecomputeModules &) const = default;

private:
  uint8_t bits = 0;
};

/// What a program computes again where none are named: nothing that costs a
/// GEMM, attention or a lookup.
inline constexpr RecomputeModules kDefaultModules = {
    RecomputeModule::LayerNorm, RecomputeModule::Activation,
    RecomputeModule::Pointwise};

/// Megatron's default, which published systems have.
inline constexpr RecomputeModules kMegatronModules = {
    RecomputeModule::CoreAttention};

/// "core_attn/mlp".
std::string printModules(RecomputeModules modules);

} // namespace hocket::plan

#endif // HOCKET_DIALECTS_PLAN_RECOMPUTEMODULES_H
