//go:build !linux

package filetimes

import (
	"errors"
	"time"
)

// Set returns errors.ErrUnsupported.
func Set(int, string, time.Time, time.Time) error { return errors.ErrUnsupported }
