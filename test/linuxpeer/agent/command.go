//go:build linux

package main

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/control"
)

// raiseLimits lifts the limit for locked memory, which siw applies to root too. Commands inherit
// it.
func raiseLimits() error {
	const memlock = 8 // RLIMIT_MEMLOCK
	const unlimited = ^uint64(0)
	return syscall.Setrlimit(memlock, &syscall.Rlimit{Cur: unlimited, Max: unlimited})
}

// handle runs the command of one connection.
func handle(conn net.Conn) error {
	in := control.NewReader(conn)
	var req control.Request
	if err := in.Read(&req); err != nil {
		return err
	}
	out := &sender{w: conn}
	if len(req.Argv) == 0 {
		return refuse(conn, out, control.Output{Done: true, Code: 126, Start: "no program in the request"})
	}
	cmd := exec.Command(req.Argv[0], req.Argv[1:]...)
	cmd.Dir = "/"
	if req.Dir != "" {
		cmd.Dir = req.Dir
	}
	cmd.Env = append([]string{"PATH=/usr/bin:/usr/sbin", "HOME=/root", "TERM=linux"}, req.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// A process that the command left behind may hold its output open.
	cmd.WaitDelay = 500 * time.Millisecond

	var stdin io.WriteCloser
	var err error
	var done func()
	if req.TTY {
		stdin, done, err = onTerminal(cmd, out)
	} else {
		stdin, done, err = onPipes(cmd, out, req.Input)
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return refuse(conn, out, control.Output{Done: true, Code: 127, Start: err.Error()})
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		feed(in, stdin)
		// The connection has ended, before the command or after it.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}()
	// The host closes the connection: closed here, with input unread, it would be reset, and the
	// last line lost.
	defer func() { <-ended }()
	err = cmd.Wait()
	done()
	code := cmd.ProcessState.ExitCode()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return out.send(control.Output{Done: true, Code: code, Start: err.Error()})
	}
	return out.send(control.Output{Done: true, Code: code})
}

// refuse sends the only line for a command that did not start, and waits for the host to close the
// connection.
func refuse(conn net.Conn, out *sender, o control.Output) error {
	if err := out.send(o); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, conn)
	return err
}

// feed passes input on to the command until the connection ends.
func feed(in *control.Reader, stdin io.WriteCloser) {
	for {
		var part control.Input
		if err := in.Read(&part); err != nil {
			return
		}
		if stdin == nil {
			continue
		}
		if _, err := stdin.Write(part.Data); err != nil || part.Close {
			stdin.Close() // the command reads no more, or the host sends no more
			stdin = nil
		}
	}
}

// onPipes connects the command's output, and its input if there is any.
func onPipes(cmd *exec.Cmd, out *sender, input bool) (io.WriteCloser, func(), error) {
	cmd.Stdout, cmd.Stderr = stream{out, false}, stream{out, true}
	if !input {
		return nil, func() {}, nil
	}
	stdin, err := cmd.StdinPipe()
	return stdin, func() {}, err
}

// sender sends lines from several goroutines.
type sender struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sender) send(o control.Output) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return control.Write(s.w, o)
}

// stream is the command's standard output or standard error.
type stream struct {
	out    *sender
	stderr bool
}

func (s stream) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		part := p[n:min(len(p), n+control.MaxData)]
		if err := s.out.send(control.Output{Data: part, Err: s.stderr}); err != nil {
			return n, err
		}
		n += len(part)
	}
	return len(p), nil
}

// onTerminal gives the command a new terminal (pseudo-terminal) as its controlling one.
func onTerminal(cmd *exec.Cmd, out *sender) (io.WriteCloser, func(), error) {
	master, slave, err := openTerminal()
	if err != nil {
		return nil, nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr.Setctty = true
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		// A read fails with EIO when the last process has closed the terminal.
		_, _ = io.Copy(stream{out, false}, master)
	}()
	return master, func() {
		slave.Close()
		select {
		case <-copied:
		case <-time.After(time.Second): // a process left behind has it open
		}
		master.Close()
	}, nil
}

func openTerminal() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	slave, err = openSlave(master)
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}
