//===- PickleTest.cpp - Opcodes into values -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/megatron/Pickle.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::megatron;
using Kind = PickleValue::Kind;

namespace {

/// Bytes that may be zero.
template <size_t N> std::string text(const char (&bytes)[N]) {
  return std::string(bytes, N - 1);
}

StatusOr<Pickle> parse(const std::string &program) {
  return Pickle::parse("\x80\x04" + program + ".");
}

TEST(PickleTest, Scalars) {
  struct {
    std::string program, described;
  } rows[] = {
      {"N", "None"},
      {"\x88", "True"},
      {"\x89", "False"},
      {"K\xff", "255"},
      {"M\xff\xff", "65535"},
      {"J\xfe\xff\xff\xff", "-2"},
      {text("\x8a\x00"), "0"},
      {text("\x8a\x01\x80"), "-128"},
      {text("\x8a\x02\x80\x00"), "128"},
      {"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", "9223372036854775807"},
      {text("\x8a\x09") + "123456789", "a number of more than 64 bits"},
      {text("\x8b\x01\x00\x00\x00\x07"), "7"},
      {text("G\x3f\xe0\x00\x00\x00\x00\x00\x00"), "0.500000"},
      {"\x8c\x02hi", "'hi'"},
      {text("X\x02\x00\x00\x00hi"), "'hi'"},
      {text("\x8d\x02\x00\x00\x00\x00\x00\x00\x00hi"), "'hi'"},
      {"U\x02hi", "'hi'"},
      {"C\x02hi", "bytes"},
      {text("B\x02\x00\x00\x00hi"), "bytes"},
      {"]", "a list"},
      {")", "a tuple"},
      {"}", "a dict"},
      {"\x8f", "a set"},
      {"N\x85", "a tuple"},
      {"(NNt", "a tuple"},
      {"ctorch\nfloat32\n", "the name 'torch float32'"},
      {"cargparse\nNamespace\n)\x81", "an object of 'argparse Namespace'"},
      {"NQ", "a storage"},
  };
  for (const auto &[program, described] : rows) {
    auto pickle = parse(program);
    ASSERT_TRUE(pickle.ok()) << described << pickle.status().message();
    EXPECT_EQ(describe(pickle->root()), described);
  }
}

TEST(PickleTest, MapsAndAttributes) {
  auto pickle = parse("ccollections\nOrderedDict\n)R(\x8c\x01\x61K\x07u");
  ASSERT_TRUE(pickle.ok()) << pickle.status().message();
  ASSERT_NE(pickle->root().find("a"), nullptr);
  EXPECT_EQ(pickle->root().find("a")->integer, 7);
  EXPECT_EQ(pickle->root().find("b"), nullptr);
  EXPECT_EQ(pickle->root().attribute("a"), nullptr);

  auto object = parse("cargparse\nNamespace\n)\x81}\x8c\x01xK\x05sb");
  ASSERT_TRUE(object.ok()) << object.status().message();
  EXPECT_EQ(object->root().attribute("x")->integer, 5);
  EXPECT_EQ(object->root().find("x"), nullptr);
}

/// 2^40 paths through 40 lists are 41 values, and their depth is known.
TEST(PickleTest, SharedValuesAreOneNode) {
  std::string program = "]";
  for (int i = 0; i < 40; ++i) {
    program += "\x94"; // MEMOIZE
    program += std::string("0](h") + char(i) + "h" + char(i) + "e";
  }
  auto pickle = parse(program);
  ASSERT_TRUE(pickle.ok()) << pickle.status().message();
  EXPECT_EQ(pickle->root().levels, 41);
  EXPECT_EQ(pickle->root().items[0], pickle->root().items[1]);
}

TEST(PickleTest, DepthHasALimit) {
  auto nested = [](int levels) {
    return parse(std::string(size_t(levels), ']') +
                 std::string(size_t(levels - 1), 'a'));
  };
  EXPECT_TRUE(nested(Pickle::kMostDepth).ok());
  auto deep = nested(Pickle::kMostDepth + 1);
  ASSERT_FALSE(deep.ok());
  EXPECT_EQ(deep.status().message(),
            "the pickle is nested deeper than 200 levels");
}

TEST(PickleTest, NamesOfCodeAreRefused) {
  for (const char *name : {"os system", "builtins eval", "builtins exec",
                           "torch load", "subprocess Popen", "megatron x"})
    EXPECT_FALSE(isKnownGlobal(name)) << name;
  for (const char *name :
       {"argparse Namespace", "torch BFloat16Storage",
        "torch._utils _rebuild_tensor_v2", "megatron.core.enums ModelType"})
    EXPECT_TRUE(isKnownGlobal(name)) << name;
}

TEST(PickleTest, EveryPrefixIsRefused) {
  std::string whole =
      text("\x80\x04\x95\x20\x00\x00\x00\x00\x00\x00\x00}(\x8c\x01"
           "aK\x07\x8c\x01"
           "b]\x94(K\x01K\x02\x65u.");
  ASSERT_TRUE(Pickle::parse(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(Pickle::parse(whole.substr(0, size)).ok()) << size;
}

} // namespace
