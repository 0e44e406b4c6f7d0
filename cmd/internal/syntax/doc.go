// Package syntax parses a .x file into a syntax tree with positions. It accepts
// the language of RFC 4506 §6.3 and RFC 5531 §12.2, and extensions that real
// files use: C type names, // comments, % and # lines, trailing commas.
//
// There are four stages. The lexer also acts as the C preprocessor (lex.go,
// directive.go, condition.go). The splitter divides the tokens into definitions;
// it reports missing braces and semicolons and inserts them (split.go). A
// participle grammar parses one definition (grammar.go), and the converter turns
// the result into the tree (convert.go). A fault in one definition does not
// affect the others. No input makes the parser panic or loop.
package syntax
