// Package trial puts generated packages to the test: it writes them into a Go
// module of their own in a temporary folder, vets them, runs the tests that
// were generated with them, and sorts what the go command says by package.
package trial
