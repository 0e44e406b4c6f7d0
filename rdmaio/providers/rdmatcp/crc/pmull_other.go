//go:build arm64 && !linux && !purego

package crc

import "runtime"

// hasPMULL knows Apple's processors, which all have it. Other systems have no
// way to ask that is worth its code here.
func hasPMULL() bool { return runtime.GOOS == "darwin" || runtime.GOOS == "ios" }
