package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// runShell connects the terminal to a shell in the guest.
func (h *harness) runShell(ctx context.Context, g *guest.Guest) error {
	fmt.Fprintln(h.stderr, "linuxpeer: a shell in the guest; it has the tools of busybox, rdma-core and nfs-utils. exit ends it.")
	cmd := guest.Command{Argv: []string{"sh", "-l"}, Env: []string{"PS1=guest:\\w# "}, Dir: "/root", Stdin: os.Stdin, Stdout: h.stdout, Stderr: h.stderr}
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		cmd.TTY = true
		restore, err := rawTerminal()
		if err != nil {
			return err
		}
		defer restore()
	}
	_, err := g.Do(ctx, cmd)
	if exit := (*guest.ExitError)(nil); errors.As(err, &exit) {
		return nil // the code of the shell's last command
	}
	return err
}

// rawTerminal passes keys on as they are typed: the guest's terminal handles them.
func rawTerminal() (restore func(), err error) {
	stty := func(args ...string) error {
		cmd := exec.Command("stty", args...)
		cmd.Stdin = os.Stdin
		return cmd.Run()
	}
	if err := stty("raw", "-echo"); err != nil {
		return nil, fmt.Errorf("stty raw: %w", err)
	}
	return func() { _ = stty("sane") }, nil
}
