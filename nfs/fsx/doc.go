// Package fsx tests a file system with random operations: reads, writes, truncations, renames,
// links, removals. It compares the results with a model in memory. The same seed repeats the same
// operations.
//
// Each byte written depends on the seed, the step and its offset. So a wrong byte says which step
// wrote it, for example because a write was lost, was late, or went to another place.
//
//	err := fsx.Run(ctx, fsx.OS("/mnt"), fsx.Config{Seed: 7})
//
// The file system is an FS: OS is a directory of this machine, which may be a mount. Testers that
// run at the same time need separate directories, because each expects to be alone.
package fsx
