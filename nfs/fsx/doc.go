// Package fsx tests a file system against a model of it, with random operations: reads, writes,
// truncations, renames, links, removals. The same seed repeats the same operations.
//
// Each byte that is written depends on the seed, on the step and on its offset, so that a wrong
// byte says which step wrote it: a write that was lost, was late, or went to another place.
//
//	err := fsx.Run(ctx, fsx.OS("/mnt"), fsx.Config{Seed: 7})
//
// The file system is an FS: OS is a directory of this machine, which may be a mount. One Tester
// works alone: several at once need directories of their own.
package fsx
