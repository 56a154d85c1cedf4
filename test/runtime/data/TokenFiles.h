//===- TokenFiles.h - Token files for the tests -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A folder that is removed with the test, and token files in it that are put
/// together byte by byte, without the code under test.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_RUNTIME_DATA_TOKENFILES_H
#define HOCKET_TEST_RUNTIME_DATA_TOKENFILES_H

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace hocket::test {

class ScratchFolder {
public:
  ScratchFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "hocket-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~ScratchFolder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string &name) const {
    return path + "/" + name;
  }
  /// Names of everything inside, sorted.
  std::vector<std::string> list() const {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(path))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string path;
};

inline void writeBytes(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string readBytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// "0a ff" without the space -> two bytes.
inline std::string fromHex(const std::string &text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(char(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

template <typename T> void appendBytes(std::string &to, T value) {
  to.append(reinterpret_cast<const char *>(&value), sizeof(T));
}

/// The .idx and .bin of u16 tokens, one sequence a document; token k of the
/// whole file is k mod `modulus`.
struct TokenFile {
  std::string index, bin;
};
inline TokenFile makeTokenFile(const std::vector<int32_t> &lengths,
                               unsigned modulus) {
  TokenFile file;
  file.index.assign("MMIDIDX\0\0", 9);
  appendBytes<uint64_t>(file.index, 1);
  appendBytes<uint8_t>(file.index, 8);
  appendBytes<uint64_t>(file.index, lengths.size());
  appendBytes<uint64_t>(file.index, lengths.size() + 1);
  for (int32_t length : lengths)
    appendBytes(file.index, length);
  uint64_t token = 0;
  for (int32_t length : lengths) {
    appendBytes<int64_t>(file.index, int64_t(file.bin.size()));
    for (int32_t i = 0; i < length; ++i)
      appendBytes<uint16_t>(file.bin, uint16_t(token++ % modulus));
  }
  for (size_t i = 0; i <= lengths.size(); ++i)
    appendBytes<int64_t>(file.index, int64_t(i));
  return file;
}

inline void writeTokenFile(const std::string &prefix, const TokenFile &file) {
  writeBytes(prefix + ".idx", file.index);
  writeBytes(prefix + ".bin", file.bin);
}

/// The lines of a golden file: a word and numbers.
struct GoldenLine {
  std::string word;
  std::vector<int64_t> numbers;
};
inline std::vector<GoldenLine> readGolden(const std::string &path) {
  std::vector<GoldenLine> lines;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    std::istringstream stream(text);
    GoldenLine line;
    stream >> line.word;
    for (int64_t number; stream >> number;)
      line.numbers.push_back(number);
    lines.push_back(line);
  }
  return lines;
}

} // namespace hocket::test

#endif // HOCKET_TEST_RUNTIME_DATA_TOKENFILES_H
