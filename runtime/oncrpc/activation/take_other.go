//go:build !linux

package activation

import (
	"errors"
	"os"
)

// take returns an error: only systemd passes sockets in this way, which is a program of Linux.
func take(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }

func isStream(*os.File) bool { return false }

func isDatagram(*os.File) bool { return false }
