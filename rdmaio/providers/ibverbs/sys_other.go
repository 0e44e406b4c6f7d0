//go:build !linux

package ibverbs

import (
	"errors"
	"os"
)

func mapMemory(int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmapMemory([]byte) error { return errors.ErrUnsupported }

func pollable(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }
