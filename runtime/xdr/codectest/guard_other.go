//go:build !darwin && !linux

package codectest

import "bytes"

// readOnly is a copy of b; package syscall has no Mprotect here, so nothing guards it.
func readOnly(b []byte) (guarded []byte, free func(), err error) {
	return bytes.Clone(b), func() {}, nil
}
