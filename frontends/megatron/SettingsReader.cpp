//===- SettingsReader.cpp - Settings into fields of a spec ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/megatron/SettingsReader.h"

#include "frontends/spec/text/FieldPath.h"

using namespace hocket;
using namespace hocket::megatron;
using spec::FieldReference;

Status SettingsReader::error(const std::string &name,
                             const std::string &what) const {
  return invalidArgument(from.path + ": args." + name + " " + what);
}

const Setting *SettingsReader::find(const std::string &name) const {
  auto found = from.settings.find(name);
  if (found == from.settings.end() ||
      std::holds_alternative<std::monostate>(found->second))
    return nullptr;
  return &found->second;
}

bool SettingsReader::isSet(const std::string &name) const {
  const Setting *found = find(name);
  if (!found)
    return false;
  if (const bool *value = std::get_if<bool>(found))
    return *value;
  if (const auto *value = std::get_if<int64_t>(found))
    return *value != 0;
  if (const auto *value = std::get_if<double>(found))
    return *value != 0;
  if (const auto *value = std::get_if<std::string>(found))
    return !value->empty();
  if (const auto *value = std::get_if<SettingList>(found))
    return !value->empty();
  return true;
}

bool SettingsReader::flag(const std::string &name) const {
  const Setting *found = find(name);
  const bool *value = found ? std::get_if<bool>(found) : nullptr;
  return value && *value;
}

std::string SettingsReader::text(const std::string &name,
                                 const std::string &absent) const {
  const Setting *found = find(name);
  const auto *value = found ? std::get_if<std::string>(found) : nullptr;
  return value ? *value : absent;
}

StatusOr<double> SettingsReader::real(const std::string &name,
                                      double absent) const {
  const Setting *found = find(name);
  if (!found)
    return absent;
  if (const auto *value = std::get_if<double>(found))
    return *value;
  if (const auto *value = std::get_if<int64_t>(found))
    return static_cast<double>(*value);
  return error(name, "is no number");
}

Status SettingsReader::assignSize(const std::string &name,
                                  const std::string &path) {
  const auto *value = std::get_if<int64_t>(find(name));
  if (!value)
    return error(name, "is no whole number");
  HOCKET_ASSIGN_OR_RETURN(FieldReference at, findForWriting(loaded.spec, path));
  at.message->GetReflection()->SetInt64(at.message, at.field, *value);
  loaded.locations.set(path, {from.path + ": args." + name, 0, 0});
  return okStatus();
}

Status SettingsReader::assignReal(const std::string &name,
                                  const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(double value, real(name, 0));
  HOCKET_ASSIGN_OR_RETURN(FieldReference at, findForWriting(loaded.spec, path));
  at.message->GetReflection()->SetDouble(at.message, at.field, value);
  loaded.locations.set(path, {from.path + ": args." + name, 0, 0});
  return okStatus();
}
