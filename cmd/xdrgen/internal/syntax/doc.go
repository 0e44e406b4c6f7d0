// Package syntax turns the text of a .x file into a tree with places: the
// language of RFC 4506 §6.3 and RFC 5531 §12.2, and what real files hold
// beyond it (C names, // comments, % and # lines, trailing commas).
//
// The stages are a lexer that also does what the C preprocessor would (lex.go,
// directive.go, condition.go), a splitter that cuts the tokens into
// definitions and repairs missing braces and semicolons after reporting them
// (split.go), a participle grammar for one definition (grammar.go), and the
// conversion of what it parsed (convert.go). A fault in one definition leaves
// the others alone. No text makes it panic or run on.
package syntax
