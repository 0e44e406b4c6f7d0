//go:build !linux || !(amd64 || arm64)

package lib

import (
	"errors"
	"fmt"
	"runtime"
)

// Open fails: the layouts of package abi, and the calls, are those of Linux on amd64 and arm64.
func Open() (Lib, error) {
	return nil, fmt.Errorf("this program is for %s/%s, and libibverbs is supported on linux/amd64 and linux/arm64: %w",
		runtime.GOOS, runtime.GOARCH, errors.ErrUnsupported)
}
