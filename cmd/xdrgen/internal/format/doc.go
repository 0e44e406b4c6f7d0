// Package format formats XDR files in one style: an indent of four spaces, one
// declaration per line, and names, values and comments of neighbouring lines
// aligned in columns. It works on the raw pieces of the text. Comments, lines for
// C and for the preprocessor, and excluded branches of an #if therefore stay as
// they are. Several empty lines become one.
//
// layout.go divides the pieces into lines, cells.go divides lines into columns,
// and render.go writes them. Formatting never adds, removes or reorders text:
// Source compares its output with its input, piece by piece.
package format
