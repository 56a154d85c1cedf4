# Part of Hocket, under the Apache License v2.0.
"""Rules that the sources keep.

A rule is a function of a `tree.Tree` that yields one line per violation; the
first line of its doc is its name.
"""

from lint import attributes, descriptions, documents, files, includes, words

RULES = (
    files.banners,
    files.lengths,
    files.names,
    files.unfinished,
    files.root_folders,
    files.formatted,
    includes.layers,
    includes.no_cycles,
    includes.runtime_free_of_mlir,
    includes.guards,
    includes.no_duplicates,
    includes.standard_headers,
    attributes.discardable_have_reasons,
    descriptions.dialects_have_a_rationale,
    descriptions.ops_are_described,
    descriptions.passes_are_described,
    descriptions.passes_are_tested,
    documents.generated_are_current,
    documents.links_lead_somewhere,
    documents.code_blocks_end,
    documents.constraints_are_tested,
    documents.constraints_are_documented,
    words.glossary_is_kept,
)
