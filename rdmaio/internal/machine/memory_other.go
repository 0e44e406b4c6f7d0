//go:build !linux

package machine

import "io/fs"

func ofSystem(fs.FS) int64 { return unknown }

func addressSpace() int64 { return unknown }
