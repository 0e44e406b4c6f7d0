//go:build !linux

package machine

import "io/fs"

// ofSystem knows no limit.
func ofSystem(fs.FS) int64 { return unknown }

// addressSpace knows no limit.
func addressSpace() int64 { return unknown }
