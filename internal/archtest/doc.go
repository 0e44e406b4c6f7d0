// Package archtest checks the structure of the module: the imports that each package may have, and
// the habits of CONTRIBUTING.md that a program can check.
//
// The table in table.go lists the allowed imports. Every package of the module matches a row. A new
// package adds a row, and a further import needs a decision record in docs/adr. Rows apply to the
// files that users link. Test files may import any package of the module and go-cmp.
//
// Check also reports missing package comments, hand-written files that are too long, faulty headers
// of generated files, imports of unsafe and C, exported declarations of public packages that name
// internal ones, and types with too many methods or fields (size.go; size_table.go lists the types
// from before that limit), and tests whose name is one word (names.go; names_table.go). It reads
// source text only (every build tag, no type checking), and skips testdata and nested modules.
// CheckDocs reports broken links in the pages, and pages that the indexes of docs and docs/adr do
// not list.
//
// CheckLanguage reports odd wordings, wide lines, and accents: turns that are rare in plain
// English. TestLanguage allows a number of each for each package and page, in language.txt. The
// numbers only fall.
package archtest
