// Command release builds the files of a release: for each system an archive of the commands, with
// their manual pages, completions for shells, licences and bills of materials; packages for Debian;
// and the sums of all of them. docs/release.md explains it.
//
//	go run ./tools/release -version v0.1.0 -o dist
//
// The bytes depend on the tree, the version, the time and the Go version alone: not on the folder,
// the machine or the clock.
package main
