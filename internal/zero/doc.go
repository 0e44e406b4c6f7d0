// Package zero is generated from zero.x, for tests: its procedure 0 is not the null procedure,
// which RFC 5531 §12.1 wants there and the language does not enforce.
package zero
