//===- CommandLine.cpp - What every command shares ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/CommandLine.h"

#include <iostream>
#include <new>

using namespace hocket;

int hocket::runCommandLine(CLI::App &app, int argc, char **argv,
                           const Status &result) {
  std::string name = app.get_name();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &help) {
    return app.exit(help);
  } catch (const CLI::ParseError &error) {
    app.exit(error);
    return 2;
  } catch (const std::bad_alloc &) {
    std::cerr << name << ": out of memory\n";
    return 1;
  }
  // In one piece: other ranks may be writing to the same terminal.
  if (!result.ok())
    std::cerr << name + ": " + result.message() + "\n";
  return exitStatusOf(result);
}
