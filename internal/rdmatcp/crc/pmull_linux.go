//go:build arm64 && !purego

package crc

import (
	"encoding/binary"
	"os"
)

// hasPMULL reports whether all processors of the machine have PMULL, according to the
// kernel's auxiliary vector. It returns false if there is no /proc.
func hasPMULL() bool {
	auxv, err := os.ReadFile("/proc/self/auxv")
	return err == nil && pmullIn(auxv)
}

// pmullIn reports whether AT_HWCAP in an auxiliary vector has the bit HWCAP_PMULL (Linux,
// include/uapi/linux/auxvec.h and arch/arm64/include/uapi/asm/hwcap.h).
func pmullIn(auxv []byte) bool {
	const (
		hwcap = 16
		pmull = 1 << 4
	)
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.NativeEndian.Uint64(auxv) == hwcap {
			return binary.NativeEndian.Uint64(auxv[8:])&pmull != 0
		}
	}
	return false
}
