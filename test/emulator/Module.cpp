//===- Module.cpp - Kernels compiled for the emulator ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/Module.h"

using namespace hocket;
using namespace hocket::emulator;

std::unique_ptr<Module> Module::load(const std::string &image,
                                     std::string &error) {
  auto object = hal::SharedObject::load("kernels", image);
  if (object.ok())
    return std::unique_ptr<Module>(new Module(*std::move(object)));
  error = object.status().message();
  return nullptr;
}

std::unique_ptr<Module> Module::compile(const std::string &source,
                                        std::string &error) {
  auto image = compileForHost(source, Watch::Nothing, error);
  return image ? load(*image, error) : nullptr;
}

bool Module::has(const std::string &symbol) const {
  return find<void>(symbol + "_emulated") != nullptr;
}

std::vector<unsigned> Module::argumentSizes(const std::string &symbol) const {
  auto *sizes = find<const unsigned *()>(symbol + "_sizes");
  if (!sizes)
    return {};
  const unsigned *list = sizes();
  return {list + 1, list + 1 + list[0]};
}

size_t Module::sharedBytes() const {
  return *find<std::byte *>("hocket_shared_end") -
         *find<std::byte *>("hocket_shared_begin");
}

void Module::setWatcher(bool (*watcher)(const void *, unsigned long, bool)) {
  find<Calls>("hocket_emulator")->access = watcher;
}

std::string Module::run(const std::string &symbol, const Launch &launch,
                        std::vector<void *> arguments) {
  auto *kernel = find<void(void **)>(symbol + "_emulated");
  if (!kernel)
    return "there is no kernel " + symbol;
  auto *begin = *find<std::byte *>("hocket_shared_begin");
  auto *end = *find<std::byte *>("hocket_shared_end");
  return runBlocks(launch, *find<Calls>("hocket_emulator"), {begin, end},
                   [&] { kernel(arguments.data()); });
}
