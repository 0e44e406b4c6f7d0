//go:build arm64 && !linux && !purego

package crc

import "runtime"

// hasPMULL reports whether the system runs on Apple's processors, which all have PMULL.
// Detection on other systems is not worth its code.
func hasPMULL() bool { return runtime.GOOS == "darwin" || runtime.GOOS == "ios" }
