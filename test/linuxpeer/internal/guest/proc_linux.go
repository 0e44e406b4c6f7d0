package guest

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startBound starts cmd so that the kernel kills it when this process ends, however it does. It
// closes exited when cmd has ended.
func startBound(cmd *exec.Cmd, exited chan<- struct{}) error {
	// Its own process group keeps it from the terminal's ^C: the harness ends it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The signal comes when the thread ends that started cmd: keep it until then.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the guest's console and messages say more
			close(exited)
		}
	}()
	return <-started
}
