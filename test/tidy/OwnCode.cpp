//===- OwnCode.cpp - Keeps clang-tidy to the code of this tree
//-------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
// A module that `clang-tidy --load` adds. clang-tidy reports nothing about
// headers of the system, yet its checks walk them: most of a run's time, for a
// source that includes MLIR. `hocket-only-own-code` takes them out of the walk.
//
//===----------------------------------------------------------------------===//

#include "clang-tidy/ClangTidyCheck.h"
#include "clang-tidy/ClangTidyModule.h"
#include "clang-tidy/ClangTidyModuleRegistry.h"
#include "clang/AST/ASTContext.h"
#include "clang/ASTMatchers/ASTMatchFinder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Regex.h"

#include <string>
#include <vector>

namespace {

using clang::ast_matchers::MatchFinder;

/// Reports nothing: limits the traversal scope of a translation unit to the
/// declarations at its top that are written neither in a header of the system
/// nor in a file whose path matches the option `Exclude`, a regular expression.
///
/// The unit itself is matched before what is in it, by the matchers in the
/// order of their checks, which is that of a hash table of their names. This
/// check's name stands before readability-identifier-naming, which walks the
/// unit when it meets it; to the others the order is all the same.
class OnlyOwnCode : public clang::tidy::ClangTidyCheck {
public:
  OnlyOwnCode(llvm::StringRef name, clang::tidy::ClangTidyContext *context)
      : ClangTidyCheck(name, context),
        excludePattern(Options.get("Exclude", "").str()),
        exclude(excludePattern) {}

  void registerMatchers(MatchFinder *finder) override {
    finder->addMatcher(clang::ast_matchers::translationUnitDecl(), this);
  }

  void check(const MatchFinder::MatchResult &result) override {
    clang::ASTContext &context = *result.Context;
    std::vector<clang::Decl *> own;
    for (clang::Decl *decl : context.getTranslationUnitDecl()->decls())
      if (isOwn(decl->getLocation(), *result.SourceManager))
        own.push_back(decl);
    context.setTraversalScope(own);
  }

  void
  storeOptions(clang::tidy::ClangTidyOptions::OptionMap &options) override {
    Options.store(options, "Exclude", excludePattern);
  }

private:
  bool isOwn(clang::SourceLocation place, const clang::SourceManager &sources) {
    if (place.isInvalid() || sources.isInSystemHeader(place))
      return false;
    clang::FileID file = sources.getFileID(sources.getExpansionLoc(place));
    auto [entry, isNew] = ownFiles.try_emplace(file, true);
    auto name = sources.getFileEntryRefForID(file);
    if (isNew && name && !excludePattern.empty())
      entry->second = !exclude.match(name->getName());
    return entry->second;
  }

  std::string excludePattern;
  llvm::Regex exclude;
  llvm::DenseMap<clang::FileID, bool> ownFiles;
};

class OwnCodeModule : public clang::tidy::ClangTidyModule {
public:
  void
  addCheckFactories(clang::tidy::ClangTidyCheckFactories &factories) override {
    factories.registerCheck<OnlyOwnCode>("hocket-only-own-code");
  }
};

clang::tidy::ClangTidyModuleRegistry::Add<OwnCodeModule>
    registered("hocket", "What the sources of Hocket need.");

} // namespace
