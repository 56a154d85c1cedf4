//===- PrepareTest.cpp - Text files to token files ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/Prepare.h"
#include "runtime/data/WordFile.h"
#include "test/runtime/ChildProcess.h"
#include "test/runtime/data/TokenFiles.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::data;
using namespace hocket::test;

namespace {
class PrepareTest : public ::testing::Test {
protected:
  /// Prepares the file `name` with this content; "" or the error.
  std::string run(const std::string &name, const std::string &content) {
    writeBytes(folder / name, content);
    options.inputs = {folder / name};
    return run();
  }
  std::string run() {
    options.prefix = folder / "out";
    auto result = prepare(options);
    return result.ok() ? "" : result.status().message();
  }
  using Documents = std::vector<std::vector<std::vector<int>>>;

  /// The sequences of each document in out_text_LEVEL, read without the code
  /// under test.
  Documents sequences(const std::string &level) {
    std::string index = readBytes(folder / ("out_text_" + level + ".idx"));
    std::string bin = readBytes(folder / ("out_text_" + level + ".bin"));
    auto at = [&](size_t byte, size_t bytes) {
      uint64_t value = 0;
      for (size_t i = bytes; i-- > 0;)
        value = value << 8 | uint8_t(index[byte + i]);
      return value;
    };
    size_t s = at(18, 8), d = at(26, 8);
    EXPECT_EQ(index.size(), 34 + 12 * s + 8 * d);
    Documents result(d - 1);
    for (size_t i = 0; i + 1 < d; ++i)
      for (size_t k = at(34 + 12 * s + 8 * i, 8);
           k < at(42 + 12 * s + 8 * i, 8); ++k) {
        std::vector<int> &tokens = result[i].emplace_back();
        for (size_t t = 0; t < at(34 + 4 * k, 4); ++t) {
          size_t byte = at(34 + 4 * s + 8 * k, 8) + 2 * t;
          tokens.push_back(uint8_t(bin[byte]) | uint8_t(bin[byte + 1]) << 8);
        }
      }
    return result;
  }
  /// The documents in out_text_document.
  std::vector<std::vector<int>> documents() {
    std::vector<std::vector<int>> result;
    for (const auto &sequences : sequences("document")) {
      EXPECT_LE(sequences.size(), 1u);
      result.push_back(sequences.empty() ? std::vector<int>()
                                         : sequences.front());
    }
    return result;
  }
  static std::vector<int> bytesOf(const std::string &text, bool eod = false) {
    std::vector<int> tokens;
    for (char c : text)
      tokens.push_back(uint8_t(c));
    if (eod)
      tokens.push_back(256);
    return tokens;
  }

  ScratchFolder folder;
  PrepareOptions options;
};
} // namespace

TEST_F(PrepareTest, WritesTheGoldenBytes) {
  // Bytes 1 2 3, 4 5 and 6, each its own document.
  ASSERT_EQ(run("a.jsonl", "{\"text\": \"\\u0001\\u0002\\u0003\"}\n"
                           "{\"text\": \"\\u0004\\u0005\"}\n"
                           "{\"text\": \"\\u0006\"}\n"),
            "");
  EXPECT_EQ(readBytes(folder / "out_text_document.bin"),
            fromHex("010002000300040005000600"));
  EXPECT_EQ(readBytes(folder / "out_text_document.idx"),
            fromHex("4d4d49444944580000010000000000000008030000000000000004"
                    "00000000000000030000000200000001000000000000000000000006"
                    "000000000000000a0000000000000000000000000000000100000000"
                    "00000002000000000000000300000000000000"));
}

TEST_F(PrepareTest, ATextFileIsOneDocument) {
  std::string text = "caf\xc3\xa9\n\nnext\n";
  options.appendEndOfDocument = true;
  ASSERT_EQ(run("a.txt", text), "");
  EXPECT_EQ(documents(), (std::vector<std::vector<int>>{bytesOf(text, true)}));
}

TEST_F(PrepareTest, EmptyDocumentsHaveNoSequence) {
  options.appendEndOfDocument = true;
  ASSERT_EQ(run("a.jsonl", "{\"text\": \"\"}\n \r\n{\"text\": \"x\"}"), "");
  EXPECT_EQ(documents(), (std::vector<std::vector<int>>{{}, {'x', 256}}));
}

TEST_F(PrepareTest, FollowsTheOrderOfTheInputs) {
  writeBytes(folder / "1.txt", "one");
  writeBytes(folder / "2.jsonl", "{\"text\":\"two\"}\n{\"text\":\"three\"}\n");
  writeBytes(folder / "3.txt", "four");
  options.inputs = {folder / "3.txt", folder / "2.jsonl", folder / "1.txt"};
  ASSERT_EQ(run(), "");
  EXPECT_EQ(documents(),
            (std::vector<std::vector<int>>{bytesOf("four"), bytesOf("two"),
                                           bytesOf("three"), bytesOf("one")}));
}

// Whatever the threads and the chunks, the same bytes.
TEST_F(PrepareTest, DoesNotDependOnThreadsAndChunks) {
  std::string lines, text;
  std::vector<std::vector<int>> expected;
  for (int i = 0; i < 500; ++i) {
    std::string document;
    for (int k = 0; k < i % 37; ++k)
      document += (i * k) % 7 ? "a" : "\xe2\x82\xac\n";
    lines += nlohmann::json({{"id", i}, {"text", document}}).dump() + "\n";
    expected.push_back(bytesOf(document, !document.empty()));
    text += document;
  }
  writeBytes(folder / "a.jsonl", lines);
  writeBytes(folder / "b.txt", text);
  expected.push_back(bytesOf(text, true));
  options.inputs = {folder / "a.jsonl", folder / "b.txt"};
  options.appendEndOfDocument = true;
  std::string bin, index;
  for (unsigned threads : {1u, 2u, 5u})
    for (size_t chunk : {size_t(5), size_t(100), size_t(1) << 20}) {
      options.threads = threads;
      options.chunkBytes = chunk;
      ASSERT_EQ(run(), "");
      if (bin.empty()) {
        bin = readBytes(folder / "out_text_document.bin");
        index = readBytes(folder / "out_text_document.idx");
        EXPECT_EQ(documents(), expected);
      }
      EXPECT_EQ(readBytes(folder / "out_text_document.bin"), bin);
      EXPECT_EQ(readBytes(folder / "out_text_document.idx"), index);
    }
}

// One document is several sequences; the last one ends it.
TEST_F(PrepareTest, SentencesAreSequences) {
  options.sentences = SentenceSplit::Trimmed;
  options.appendEndOfDocument = true;
  ASSERT_EQ(run("a.jsonl", "{\"text\": \"One. Two!  \"}\n{\"text\": \" \"}\n"
                           "{\"text\": \"Dr. No\"}\n"),
            "");
  EXPECT_EQ(sequences("sentence"),
            (Documents{{bytesOf("One."), bytesOf("Two!", true)},
                       {},
                       {bytesOf("Dr. No", true)}}));
  options.sentences = SentenceSplit::WithSpace;
  ASSERT_EQ(run("a.jsonl", "{\"text\": \" One.\\nTwo! \"}\n"), "");
  EXPECT_EQ(sequences("sentence"),
            (Documents{{bytesOf(" One.\n"), bytesOf("Two! ", true)}}));
}

TEST_F(PrepareTest, SentencesDoNotDependOnThreadsAndChunks) {
  std::string text, lines;
  for (int i = 0; i < 400; ++i) {
    text += "Dr. No paid " + std::to_string(i) + ".5 marks";
    text += i % 3 ? ". " : i % 5 ? "!\n\n" : " etc. ";
    if (i % 7 == 0)
      lines += nlohmann::json({{"text", text.substr(i)}}).dump() + "\n";
  }
  writeBytes(folder / "a.txt", text);
  writeBytes(folder / "b.jsonl", lines);
  options.inputs = {folder / "a.txt", folder / "b.jsonl", folder / "a.txt"};
  options.appendEndOfDocument = true;
  for (auto split : {SentenceSplit::Trimmed, SentenceSplit::WithSpace}) {
    options.sentences = split;
    Documents expected;
    for (unsigned threads : {1u, 3u})
      for (size_t chunk : {size_t(1) << 20, size_t(5), size_t(100)}) {
        options.threads = threads;
        options.chunkBytes = chunk;
        ASSERT_EQ(run(), "");
        Documents found = sequences("sentence");
        if (expected.empty())
          expected = found;
        EXPECT_TRUE(found == expected) << threads << ' ' << chunk;
      }
    EXPECT_EQ(expected.size(), 60u);
    EXPECT_GT(expected.front().size(), 300u);
    EXPECT_EQ(expected.front(), expected.back());
    std::vector<int> whole;
    for (const std::vector<int> &sequence : expected.front())
      whole.insert(whole.end(), sequence.begin(), sequence.end());
    if (split == SentenceSplit::WithSpace)
      EXPECT_EQ(whole, bytesOf(text, true));
  }
}

// In a container both are process 1.
TEST_F(PrepareTest, SucceedsAfterItWasKilled) {
  writeBytes(folder / "a.txt", std::string(1000, 'x'));
  options.inputs = {folder / "a.txt"};
  options.chunkBytes = 100;
  options.threads = 1;
  options.prefix = folder / "out";
  for (int run = 0; run < 2; ++run) {
    auto reached = killedAsProcessOne([&] {
      auto stop = [](const PrepareProgress &progress) {
        if (progress.bytes >= 500)
          waitToBeKilled();
      };
      (void)prepare(options, stop);
      return false;
    });
    if (!reached)
      GTEST_SKIP() << "process namespaces are not allowed here";
    ASSERT_TRUE(*reached) << run;
    // The two halves that the last one left.
    EXPECT_EQ(folder.list().size(), 3u) << run;
  }
  ASSERT_EQ(run(), "");
  EXPECT_EQ(folder.list(),
            (std::vector<std::string>{"a.txt", "out_text_document.bin",
                                      "out_text_document.idx"}));
}

// A line as long as a book is a document; none is as long as a library.
TEST_F(PrepareTest, LongLinesTakeLittleMoreThanTheirBytes) {
  options.threads = 1;
  options.prefix = folder / "out";
  options.inputs = {folder / "a.jsonl"};
  std::string text(40 << 20, 'x');
  writeBytes(folder / "a.jsonl", "{\"text\": \"" + text + "\"}\n");
  uint64_t peak = peakBytesOf([&] { (void)prepare(options).ok(); });
  // The line, what is read ahead, its text, and two bytes for each token.
  EXPECT_LE(peak, 6 * text.size());
  ASSERT_EQ(run(), "");
  EXPECT_EQ(std::filesystem::file_size(folder / "out_text_document.bin"),
            2 * text.size());

  std::string values = "[0";
  for (int i = 0; i < 5'000'000; ++i)
    values += ",0";
  writeBytes(folder / "a.jsonl",
             "{\"text\":\"\"}\n{\"text\":\"\",\"ids\":" + values + "]}\n");
  EXPECT_EQ(run(), folder / "a.jsonl:2:1: expected at most 4194304 JSON values "
                            "in one line");

  text.resize(64 << 20, 'x');
  writeBytes(folder / "a.jsonl",
             "{\"text\":\"\"}\n{\"text\": \"" + text + "\"}\n{}\n");
  EXPECT_EQ(run(), folder / "a.jsonl:2:1: expected lines of at most 64.00 MiB, "
                            "found a longer one; cut it into several "
                            "documents");
}

TEST_F(PrepareTest, ReportsProgress) {
  writeBytes(folder / "a.txt", std::string(1000, 'x'));
  options.inputs = {folder / "a.txt"};
  options.prefix = folder / "out";
  options.chunkBytes = 100;
  std::vector<uint64_t> seen;
  auto result = prepare(options, [&](const PrepareProgress &progress) {
    EXPECT_EQ(progress.totalBytes, 1000u);
    EXPECT_EQ(progress.tokens, progress.bytes);
    EXPECT_EQ(progress.documents, 1u);
    seen.push_back(progress.bytes);
  });
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->files[0].tokens, 1000u);
  EXPECT_EQ(result->files[0].prefix, folder / "out_text_document");
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), 1000u);
  EXPECT_GE(seen.size(), 10u);
}

TEST_F(PrepareTest, NamesTheKey) {
  options.jsonKeys = {"body"};
  ASSERT_EQ(run("a.jsonl", "{\"text\": 1, \"body\": \"b\"}"), "");
  EXPECT_EQ(folder.list(),
            (std::vector<std::string>{"a.jsonl", "out_body_document.bin",
                                      "out_body_document.idx"}));
}

// Each key's files are those that it alone would make.
TEST_F(PrepareTest, SeveralKeysHaveFilesOfTheirOwn) {
  std::string lines;
  for (int i = 0; i < 300; ++i)
    lines += nlohmann::json({{"title", std::string(i % 5, 't')},
                             {"id", i},
                             {"text", "body " + std::to_string(i)}})
                 .dump() +
             (i % 50 == 9 ? "\n{\"text\": \"no title\"}\n" : "\n");
  writeBytes(folder / "a.jsonl", lines);
  options.inputs = {folder / "a.jsonl"};
  options.appendEndOfDocument = true;
  options.maxBadLines = 6;
  options.threads = 3;
  options.chunkBytes = 100;
  options.jsonKeys = {"text", "title"};
  options.prefix = folder / "both";
  auto both = prepare(options);
  ASSERT_TRUE(both.ok()) << both.status().message();
  EXPECT_EQ(both->badLines, 6u);
  EXPECT_EQ(both->documents, 300u);
  ASSERT_EQ(both->files.size(), 2u);
  EXPECT_EQ(both->files[1].prefix, folder / "both_title_document");
  EXPECT_EQ(both->files[1].tokens, 60u * (1 + 2 + 3 + 4) + 240);
  // Without the lines that lack one of the two.
  std::string whole;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);)
    whole += line.find("\"title\"") != line.npos ? line + "\n" : "";
  writeBytes(folder / "a.jsonl", whole);
  options.prefix = folder / "one";
  for (const char *key : {"text", "title"}) {
    options.jsonKeys = {key};
    ASSERT_TRUE(prepare(options).ok());
    for (const char *ending : {"_document.bin", "_document.idx"})
      EXPECT_TRUE(readBytes(folder / "both_" + key + ending) ==
                  readBytes(folder / "one_" + key + ending))
          << key << ending;
  }
}

TEST_F(PrepareTest, SaysWhatIsWrongWithKeys) {
  writeBytes(folder / "a.txt", "x");
  options.inputs = {folder / "a.txt"};
  options.jsonKeys = {"text", "title"};
  EXPECT_EQ(run(), folder / "a.txt: is plain text, which has no JSON keys; "
                            "prepare it by itself");
  std::string line = "{\"title\": \"\", \"text\": \"x\"}\n";
  EXPECT_EQ(run("a.jsonl", line), "the inputs hold no text under the key "
                                  "'title': 1 documents, 0 tokens");
  options.jsonKeys = {"text", "none"};
  EXPECT_EQ(run("a.jsonl", line),
            folder / "a.jsonl:1:1: expected an object with the key 'none'");
  options.jsonKeys = {"text", "title", "text"};
  EXPECT_EQ(run(), "the JSON key 'text' is named twice");
  options.jsonKeys = {};
  EXPECT_EQ(run(), "expected at least one JSON key");
  EXPECT_EQ(folder.list(), (std::vector<std::string>{"a.jsonl", "a.txt"}));
}

TEST_F(PrepareTest, SaysWhereJsonLinesAreWrong) {
  std::string good = "{\"text\": \"fine\"}\n";
  const std::pair<std::string, std::string> cases[] = {
      {good + "{\"text\": \"a\" \"b\": 1}\n", ":2:14: expected ',' or '}'"},
      {good + "{\"text\": \"a\n\"}", ":2:12: expected '\"' at the end of a "
                                     "string"},
      {good + good + "{\"text\": \"\xff\"}", ":3:11: expected valid UTF-8"},
      {good + "{\"text\": \"\\ud800\"}",
       ":2:11: expected both halves of a surrogate pair"},
      {good + "{\"body\": \"a\"}",
       ":2:1: expected an object with the key 'text'"},
      {good + "  {\"id\": 3, \"text\": [\"a\"]}",
       ":2:21: expected a string under the key 'text', found an array"},
      {"{\"text\": null}",
       ":1:10: expected a string under the key 'text', found null"},
      {"{\"text\": 12}",
       ":1:10: expected a string under the key 'text', found a number"},
      {"{\"text\": \"a\", \"text\": \"b\"}",
       ":1:23: the key 'text' appears twice"},
      {"[\"text\"]",
       ":1:1: expected an object with the key 'text', found an array"},
      {"\"text\"",
       ":1:1: expected an object with the key 'text', found a string"},
      {good + "{\"text\": \"a\"} {\"text\": \"b\"}",
       ":2:15: expected the end of the text"},
      {std::string(100000, '['), ":1:1025: expected at most 1024 levels"},
      {"text", ":1:1: expected a value"},
  };
  for (const auto &[content, message] : cases)
    for (unsigned threads : {1u, 3u}) {
      options.threads = threads;
      options.chunkBytes = 16;
      EXPECT_EQ(run("a.jsonl", content), folder / "a.jsonl" + message);
      EXPECT_EQ(folder.list(), std::vector<std::string>{"a.jsonl"});
    }
}

TEST_F(PrepareTest, SaysWhereTextIsNotUtf8) {
  for (size_t chunk : {size_t(4), size_t(1000)}) {
    options.chunkBytes = chunk;
    EXPECT_EQ(run("a.txt", "line one\nline two\xe2\x82 x\n"),
              folder / "a.txt:2:9: expected valid UTF-8");
    EXPECT_EQ(run("a.txt", "cut short\xe2\x82"),
              folder / "a.txt:1:10: expected valid UTF-8");
    EXPECT_EQ(run("a.txt", "\x80\x80\x80\x80\x80"),
              folder / "a.txt:1:1: expected valid UTF-8");
  }
  EXPECT_EQ(folder.list(), std::vector<std::string>{"a.txt"});
}

// Bad lines up to a number are left out, whatever the threads and the chunks.
TEST_F(PrepareTest, SkipsAndCountsBadLines) {
  std::string lines;
  std::vector<std::vector<int>> good;
  for (int i = 0; i < 300; ++i)
    if (i % 20 == 7) {
      lines += i % 40 == 7 ? "{\"text\": 1}\n" : "{\"text\"\n";
    } else {
      lines += "{\"text\": \"abc\"}\n";
      good.push_back(bytesOf("abc"));
    }
  writeBytes(folder / "a.jsonl", lines);
  options.inputs = {folder / "a.jsonl"};
  options.prefix = folder / "out";
  options.maxBadLines = 15;
  for (unsigned threads : {1u, 4u})
    for (size_t chunk : {size_t(20), size_t(500), size_t(1) << 20}) {
      options.threads = threads;
      options.chunkBytes = chunk;
      auto result = prepare(options);
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_EQ(result->badLines, 15u);
      EXPECT_EQ(result->documents, 285u);
      ASSERT_EQ(result->firstBadLines.size(), 10u);
      EXPECT_EQ(result->firstBadLines[0],
                folder / "a.jsonl:8:10: expected a string under the key "
                         "'text', found a number");
      EXPECT_EQ(result->firstBadLines[9], folder / "a.jsonl:188:8: expected "
                                                   "':'");
      EXPECT_EQ(documents(), good);
    }
  options.maxBadLines = 14;
  std::filesystem::remove(folder / "out_text_document.idx");
  EXPECT_EQ(run(), "more than 14 bad lines, which --max-bad-lines allows; the "
                   "first is " +
                       folder.path +
                       "/a.jsonl:8:10: expected a string under the key "
                       "'text', found a number");
  EXPECT_FALSE(std::filesystem::exists(folder / "out_text_document.idx"));
}

// Finding the place of each must not read all lines before it again.
TEST_F(PrepareTest, ManyBadLinesTakeNoLonger) {
  std::string lines = "{\"text\": \"abc\"}\n";
  for (int i = 0; i < 200000; ++i)
    lines += "{}\n";
  options.maxBadLines = 200000;
  options.threads = 1;
  options.chunkBytes = size_t(1) << 20;
  ASSERT_EQ(run("a.jsonl", lines), "");
  EXPECT_EQ(documents(), (std::vector<std::vector<int>>{bytesOf("abc")}));
}

// The first error in the inputs is the one that is reported.
TEST_F(PrepareTest, TheFirstErrorWins) {
  std::string lines;
  for (int i = 0; i < 300; ++i)
    lines += i == 120 || i >= 200 ? "{}\n" : "{\"text\": \"abc\"}\n";
  options.threads = 4;
  options.chunkBytes = 20;
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(run("a.jsonl", lines),
              folder / "a.jsonl:121:1: expected an object with the key 'text'");
}

TEST_F(PrepareTest, RefusesEmptyAndStrangeInputs) {
  EXPECT_EQ(run("a.txt", ""), folder / "a.txt: is empty");
  EXPECT_EQ(run("a.jsonl", "\n\n"),
            "the inputs hold no text: 0 documents, 0 tokens");
  EXPECT_EQ(run("a.jsonl", "{\"text\": \"\"}\n"),
            "the inputs hold no text: 1 documents, 0 tokens");
  options.inputs = {};
  EXPECT_EQ(run(), "expected at least one input file");
  options.inputs = {folder / "none.txt"};
  EXPECT_EQ(run(), folder / "none.txt: cannot read: No such file or directory");
  options.inputs = {folder.path};
  EXPECT_EQ(run(), folder.path + ": is a folder; name the files inside it");
  options.inputs = {"/dev/null"};
  EXPECT_EQ(run(), "/dev/null: is not a regular file");
  options.tokenizer = "gpt2";
  EXPECT_EQ(run(), "gpt2: there is no such file; expected the tokenizer byte, "
                   "or a folder, tokenizer.json, tokenizer.model, vocab.json "
                   "or vocab.txt");
  options.tokenizer = "byte";
  options.jsonKeys = {"a/b"};
  EXPECT_EQ(run(), "expected a JSON key without '/', found 'a/b'; it becomes "
                   "part of the file name");
}

TEST_F(PrepareTest, AFailureKeepsTheOldFiles) {
  ASSERT_EQ(run("a.jsonl", "{\"text\": \"old\"}"), "");
  EXPECT_NE(run("a.jsonl", "{\"text\": \"new\"}\n{"), "");
  EXPECT_EQ(documents(), (std::vector<std::vector<int>>{bytesOf("old")}));
  ASSERT_EQ(run("a.jsonl", "{\"text\": \"new\"}\n"), "");
  EXPECT_EQ(documents(), (std::vector<std::vector<int>>{bytesOf("new")}));
  EXPECT_EQ(folder.list().size(), 3u);
}

TEST_F(PrepareTest, AMissingFolderIsNamed) {
  writeBytes(folder / "a.txt", "x");
  options.inputs = {folder / "a.txt"};
  options.prefix = folder / "none/out";
  auto result = prepare(options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(
      result.status().message().rfind(folder / "none/out_text_document.bin", 0),
      0u)
      << result.status().message();
}

TEST_F(PrepareTest, TakesATokenizerOfFiles) {
  writeBytes(folder / "vocab.txt", "[UNK]\nhello\nyou\n##s\n[SEP]\n");
  options.tokenizer = folder / "vocab.txt";
  options.appendEndOfDocument = true;
  ASSERT_EQ(run("a.jsonl", "{\"text\": \"Hello yous\"}\n{\"text\": \"me\"}\n"),
            "");
  EXPECT_EQ(documents(), (std::vector<std::vector<int>>{{1, 2, 3, 4}, {0, 4}}));
  writeBytes(folder / "vocab.txt", "[UNK]\nhello\n");
  EXPECT_EQ(run(), folder /
                       "vocab.txt: has no token that ends a document, such "
                       "as <|endoftext|>; prepare the data without "
                       "--append-eod");
}

/// Of WordPiece it is said which tokens continue a word, and of nothing else.
TEST_F(PrepareTest, SaysWhichTokensContinueAWord) {
  writeBytes(folder / "vocab.txt", "[UNK]\nhello\n##\n##s\n#\nyou\n##ing\n");
  options.tokenizer = folder / "vocab.txt";
  ASSERT_EQ(run("a.jsonl", "{\"text\": \"hello yous\"}\n"), "");
  auto words = readWordFile(folder / "out_text_document", 3);
  ASSERT_TRUE(words.ok()) << words.status().message();
  EXPECT_EQ(*words,
            (WordContinuations{false, false, false, true, false, false, true}));
  options.tokenizer = "byte";
  ASSERT_EQ(run(), "");
  EXPECT_FALSE((*readWordFile(folder / "out_text_document", 10)).has_value());
}

/// A document's parts and threads leave no mark on its tokens.
TEST_F(PrepareTest, ATokenizerSeesThroughTheChunks) {
  options.tokenizer =
      HOCKET_SOURCE_DIR "/test/runtime/tokenizer/golden/bpe.model";
  std::string text;
  for (int i = 0; i < 400; ++i)
    text += "word" + std::to_string(i * 7919) + (i % 7 ? " " : "  and\n");
  options.chunkBytes = size_t(1) << 20;
  ASSERT_EQ(run("a.txt", text), "");
  auto whole = documents();
  options.chunkBytes = 64;
  options.threads = 3;
  ASSERT_EQ(run("a.txt", text), "");
  EXPECT_EQ(documents(), whole);
}
