//===- CommandLineTest.cpp - What every command shares --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/HelpText.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/tools/command_line/OutputFile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace hocket;
using testing::HasSubstr;

namespace {

enum class Mode { Auto, On, Off };

/// A program with two commands, one of which has one of its own.
struct Program : testing::Test {
  Program() {
    app.name("prog");
    app.require_subcommand(1);
    CLI::App *train = addCommand(app, "train", "Train a model");
    train->add_option("INPUT", input, "What to train")->required();
    train->add_option("--data", data, "Token files")->type_name("PREFIX");
    wantWhole(train->add_option("--steps", steps, "How many"), 0);
    wantWhole(train->add_option("--ranks", ranks, "How many"), 1, 8);
    wantNumber(train->add_option("--timeout", timeout, "Seconds"), 0, 1e9);
    wantPositive(train->add_option("--flops", flops, "FLOP/s"), 1e30);
    wantPath(train->add_option("--save", save, "Where"))->type_name("DIR");
    wantText(train->add_option("--title", title, "Any text"));
    addChoice<Mode>(
        *train, "--mode", mode,
        {{"auto", Mode::Auto}, {"on", Mode::On}, {"off", Mode::Off}}, "Graphs");
    train->footer("Example:\n  prog train x");
    train->callback([this] { ran = true; });
    CLI::App *group = addCommand(app, "data", "Token files");
    group->require_subcommand(1);
    addCommand(*group, "prepare", "Make them")->callback([this] {
      ran = true;
    });
    addHelpAndVersion(app, result, "\nLIB 1");
  }

  int run(std::vector<std::string> words) {
    words.insert(words.begin(), "prog");
    std::vector<char *> pointers;
    for (std::string &word : words)
      pointers.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    int status =
        runCommandLine(app, int(pointers.size()), pointers.data(), result);
    out = testing::internal::GetCapturedStdout();
    err = testing::internal::GetCapturedStderr();
    return status;
  }

  /// The first line of standard error of a command line that is refused.
  std::string refused(std::vector<std::string> words) {
    EXPECT_EQ(run(std::move(words)), 2);
    EXPECT_FALSE(ran);
    EXPECT_EQ(out, "");
    return err.substr(0, err.find('\n'));
  }

  CLI::App app{"A program."};
  Status result;
  std::string input, data, save, title, out, err;
  uint64_t steps = 7;
  unsigned ranks = 1;
  double timeout = 0, flops = 1;
  Mode mode = Mode::Auto;
  bool ran = false;
};

TEST_F(Program, UnknownWordsAreAnsweredWithTheNearest) {
  EXPECT_EQ(refused({"trian", "S"}),
            "prog: there is no command 'trian'; did you mean train?");
  EXPECT_THAT(err, HasSubstr("Run 'prog --help'"));
  EXPECT_EQ(refused({"train", "S", "--dta", "D"}),
            "prog: there is no option --dta; did you mean --data?");
  EXPECT_THAT(err, HasSubstr("Run 'prog train --help'"));
  EXPECT_EQ(refused({"train", "S", "--dta=D"}),
            "prog: there is no option --dta; did you mean --data?");
  EXPECT_EQ(refused({"train", "--dta", "D"}),
            "prog: there is no option --dta; did you mean --data?");
  EXPECT_EQ(refused({"data", "prepaer"}),
            "prog: there is no command 'prepaer'; did you mean prepare?");
  EXPECT_EQ(refused({"train", "S", "T"}),
            "prog: there is nothing that 'T' could be");
  EXPECT_EQ(refused({"xyzzyqq"}), "prog: there is no command 'xyzzyqq'");
}

TEST_F(Program, NumbersAreNumbers) {
  EXPECT_EQ(refused({"train", "S", "--steps", "-5"}),
            "prog: --steps wants a whole number of at least 0, not '-5'");
  EXPECT_EQ(refused({"train", "S", "--steps", "many"}),
            "prog: --steps wants a whole number of at least 0, not 'many'");
  EXPECT_EQ(refused({"train", "S", "--steps", "1e3"}),
            "prog: --steps wants a whole number of at least 0, not '1e3'");
  EXPECT_EQ(refused({"train", "S", "--ranks", "9"}),
            "prog: --ranks wants a whole number from 1 to 8, not '9'");
  EXPECT_EQ(refused({"train", "S", "--timeout", "-1"}),
            "prog: --timeout wants a number from 0 to 1e+09, not '-1'");
  EXPECT_EQ(refused({"train", "S", "--timeout", "nan"}),
            "prog: --timeout wants a number from 0 to 1e+09, not 'nan'");
  EXPECT_EQ(refused({"train", "S", "--flops", "0"}),
            "prog: --flops wants a number above 0, up to 1e+30, not '0'");
  EXPECT_EQ(refused({"train", "S", "--steps"}),
            "prog: --steps wants a value: N");
  EXPECT_EQ(run({"train", "S", "--steps", "010", "--flops", "2e9"}), 0);
  EXPECT_EQ(steps, 10u);
  EXPECT_EQ(flops, 2e9);
}

TEST_F(Program, ChoicesAreListedByName) {
  EXPECT_EQ(refused({"train", "S", "--mode", "maybe"}),
            "prog: --mode wants auto, on or off, not 'maybe'");
  EXPECT_EQ(refused({"train", "S", "--mode", "2"}),
            "prog: --mode wants auto, on or off, not '2'");
  EXPECT_EQ(run({"train", "S", "--mode", "off"}), 0);
  EXPECT_EQ(mode, Mode::Off);
}

TEST_F(Program, AFolderIsNotStandardOutput) {
  EXPECT_EQ(refused({"train", "S", "--save", "-"}),
            "prog: --save wants a path; it cannot be written to standard "
            "output (-)");
}

TEST_F(Program, AnEmptyValueIsNotNone) {
  EXPECT_EQ(refused({"train", "S", "--data", ""}),
            "prog: --data wants a value, not ''");
  EXPECT_EQ(refused({"train", "S", "--data="}),
            "prog: --data wants a value: PREFIX");
  EXPECT_EQ(refused({"train", ""}), "prog: INPUT wants a value, not ''");
  EXPECT_EQ(refused({"train", "S", "--save", ""}),
            "prog: --save wants a path, not ''");
  EXPECT_EQ(run({"train", "S", "--title", ""}), 0);
}

TEST_F(Program, WithoutACommandHelpIsPrinted) {
  EXPECT_EQ(run({}), 2);
  EXPECT_THAT(err, HasSubstr("Usage: prog [OPTIONS] COMMAND"));
  EXPECT_THAT(err, HasSubstr("Train a model"));
  EXPECT_EQ(run({"data"}), 2);
  EXPECT_THAT(err, HasSubstr("Usage: prog data [OPTIONS] COMMAND"));
}

TEST_F(Program, HelpAndVersion) {
  EXPECT_EQ(run({"help", "data", "prepare"}), 0);
  EXPECT_THAT(out, HasSubstr("Usage: prog data prepare"));
  std::string help = out;
  EXPECT_EQ(run({"data", "prepare", "--help"}), 0);
  EXPECT_EQ(out, help);
  EXPECT_EQ(run({"help"}), 0);
  EXPECT_THAT(out, HasSubstr("Usage: prog [OPTIONS] COMMAND"));
  EXPECT_EQ(run({"help", "trian"}), 2);
  EXPECT_THAT(err, HasSubstr("did you mean train?"));
  result = okStatus();
  EXPECT_EQ(run({"--version"}), 0);
  EXPECT_THAT(out, testing::StartsWith("prog 0."));
  EXPECT_THAT(out, HasSubstr("\nLIB 1\n"));
}

TEST_F(Program, HelpSaysWhatValuesAre) {
  EXPECT_EQ(run({"train", "--help"}), 0);
  EXPECT_THAT(out, HasSubstr("Usage: prog train [OPTIONS] INPUT\n"));
  EXPECT_THAT(out, HasSubstr("  --data PREFIX             Token files\n"));
  EXPECT_THAT(out, HasSubstr("--steps N "));
  EXPECT_THAT(out, HasSubstr("--mode auto|on|off        Graphs (default: "
                             "auto)\n"));
  EXPECT_LT(out.find("Usage:"), out.find("Example:"));
}

TEST_F(Program, ErrorsShowTheirLine) {
  std::string file = testing::TempDir() + "command_line.textproto";
  std::ofstream(file) << "layers: x\n";
  result = invalidArgument(file + ":1:9: S1: no");
  EXPECT_EQ(run({"train", "S"}), 2);
  EXPECT_EQ(err, "prog: " + file +
                     ":1:9: S1: no\n    1 | layers: x\n      |         ^\n");
  std::filesystem::remove(file);
}

TEST(OutputFile, StandardOutputOrAFile) {
  testing::internal::CaptureStdout();
  EXPECT_TRUE(
      writeOutput("-", std::string("a\0b", 3), OutputKind::Binary).ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), std::string("a\0b", 3));
  std::string file = testing::TempDir() + "output_file";
  EXPECT_TRUE(writeOutput(file, "text").ok());
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_EQ(text.str(), "text");
  std::filesystem::remove(file);
}

} // namespace
