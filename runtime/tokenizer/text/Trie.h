//===- Trie.h - The strings that a text begins with -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A set of strings with numbers, walked byte by byte.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_TEXT_TRIE_H
#define HOCKET_RUNTIME_TOKENIZER_TEXT_TRIE_H

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::tokenizer {

class Trie {
public:
  /// 12 bytes a node.
  static constexpr size_t mostNodes = size_t(1) << 22;

  /// Replaces the set. Of equal strings the one of the least value counts.
  /// False if there would be more than mostNodes nodes; the set is empty then.
  bool build(std::vector<std::pair<std::string_view, int32_t>> strings);

  bool empty() const { return nodes.size() <= 1; }

  using Node = uint32_t;
  static constexpr Node root = 0;
  static constexpr Node none = UINT32_MAX;

  /// Where `byte` leads from a node, or none.
  Node next(Node node, uint8_t byte) const {
    if (node == root)
      return rootNext.empty() ? none : rootNext[byte];
    uint32_t low = nodes[node].children;
    uint32_t high = low + nodes[node].childCount;
    while (high - low > 8) {
      uint32_t middle = low + (high - low) / 2;
      (nodes[middle].byte <= byte ? low : high) = middle;
    }
    for (; low < high; ++low)
      if (nodes[low].byte == byte)
        return low;
    return none;
  }

  /// The number of the string that ends at a node, or -1.
  int32_t value(Node node) const { return nodes[node].value; }

  struct Match {
    int32_t value = -1;
    size_t size = 0;
  };
  /// The longest string that `text` begins with; size 0 if none.
  Match longest(std::string_view text) const;

private:
  struct Entry {
    uint32_t children = 0; ///< The first, of those in order of their bytes.
    int32_t value = -1;
    uint16_t childCount = 0;
    uint8_t byte = 0;
  };
  std::vector<Entry> nodes;
  std::vector<Node> rootNext;
};

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_TEXT_TRIE_H
