// Package format lays XDR text out in one way: four blanks of indentation, one
// declaration a line, names, values and comments of neighbouring lines in
// columns. It works on the raw pieces of the text, so that comments, lines for
// C and for the preprocessor, and the branches of an #if that are not taken
// stay as they are; an empty line stays an empty line, several become one.
//
// layout.go cuts the pieces into lines, cells.go the lines into columns,
// render.go writes them. Nothing is ever added, removed or put in another
// order: Source holds its output against its input, piece by piece.
package format
