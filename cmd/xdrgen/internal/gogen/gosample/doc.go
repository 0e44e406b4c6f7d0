// Package gosample makes valid encodings of random values, for generated tests and for tests of the
// compiler.
package gosample
