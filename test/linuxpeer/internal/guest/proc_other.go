//go:build !linux

package guest

import (
	"errors"
	"os/exec"
)

func startBound(*exec.Cmd, chan<- struct{}) error {
	return errors.New("guests run on Linux only")
}
