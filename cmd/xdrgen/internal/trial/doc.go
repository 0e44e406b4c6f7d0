// Package trial vets and tests generated packages. It writes them into a Go module of their own
// in a temporary folder, runs the go command there and assigns its output to packages.
package trial
