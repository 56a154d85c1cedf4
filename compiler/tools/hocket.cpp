//===- hocket.cpp - The driver --------------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// One program for all commands. Exit status: 0 done, 1 failed, 2 the command
// line or an input was wrong.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/CompileCommand.h"
#include "runtime/tools/DataCommand.h"

#include <iostream>

using namespace hocket;

int main(int argc, char **argv) {
  CLI::App app("Hocket compiles a transformer's specification into one "
               "training executable per role in a cluster.");
  app.name("hocket");
  app.require_subcommand(1);
  Status result;
  registerCompile(app, result);
  CLI::App *data = app.add_subcommand("data", "Prepare and show token files");
  data->require_subcommand(1);
  registerDataPrepare(*data, result);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &help) {
    return app.exit(help);
  } catch (const CLI::ParseError &error) {
    app.exit(error);
    return 2;
  }
  if (result.ok())
    return 0;
  std::cerr << "hocket: " << result.message() << "\n";
  switch (result.code()) {
  case StatusCode::InvalidArgument:
  case StatusCode::DataLoss:
  case StatusCode::NotFound:
    return 2;
  default:
    return 1;
  }
}
