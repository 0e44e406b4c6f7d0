//go:build unix

package main

import (
	"os/exec"
	"syscall"
	"time"
)

// interruptible gives a command a process group, which gets an interrupt at the end of the context:
// then test programs end, and the go command removes its files. After three seconds the group is
// killed.
func interruptible(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		time.AfterFunc(3*time.Second, func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // fails if it has ended
		})
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
	}
}
