package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"

	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// The exit codes. Those up to 6 mean the same in all commands of this repository.
const (
	exitDone     = 0
	exitFailed   = 1 // on this side, or anything that has no other code
	exitUsage    = 2
	exitPartial  = 3 // some files of a tree were not copied
	exitServer   = 4 // the server answered with an error, or broke a rule
	exitTimeout  = 5 // no answer in time
	exitNetwork  = 6 // no connection, or it was lost: a change may have been made
	exitNotFound = 7
	exitDenied   = 8
	exitSignal   = 128 // and the number of the signal
)

// errUsage is the error of a command line.
var errUsage = errors.New("usage")

// interrupted is the error of a command that was stopped by a signal.
type interrupted struct{ signal os.Signal }

// Error returns the name of the signal.
func (i *interrupted) Error() string { return "ended by signal: " + i.signal.String() }

// partial is the error of a copy without some files, whose errors were reported before.
type partial struct{ failed int }

// Error returns the number of files, and what to do.
func (p *partial) Error() string {
	return fmt.Sprintf("files that were not copied: %d; see above, and try again with -resume", p.failed)
}

// unreachable is an error of the first calls to a server.
type unreachable struct{ error }

// Unwrap returns the reason.
func (u *unreachable) Unwrap() error { return u.error }

// exitOf returns the word for an error in JSON, and the exit code.
func exitOf(err error) (name string, code int) {
	var signal *interrupted
	if errors.As(err, &signal) {
		number, _ := signal.signal.(syscall.Signal)
		return "interrupted", exitSignal + int(number)
	}
	if errors.Is(err, errUsage) {
		return "usage", exitUsage
	}
	if missing := (*partial)(nil); errors.As(err, &missing) {
		return "partial", exitPartial
	}
	if name, ok := refusal(err); ok {
		if code := fileExit(err); code != exitFailed {
			return name, code
		}
		return name, exitServer
	}
	if timeout := net.Error(nil); errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return "timeout", exitTimeout
	}
	first, lost := (*unreachable)(nil), (*oncrpc.CallError)(nil)
	if errors.As(err, &first) || errors.As(err, &lost) {
		return "network", exitNetwork
	}
	code = fileExit(err)
	return map[int]string{exitFailed: "failed", exitNotFound: "not_found", exitDenied: "permission"}[code], code
}

// refusal returns the word for an answer of the server that is an error.
func refusal(err error) (name string, ok bool) {
	var file *client.StatusError
	var mount *client.MountError
	var refused *nfs4.StatusError
	var lied *nfs4.ProtocolError
	var call *oncrpc.ReplyError
	var broken *client.ProtocolError
	switch {
	case errors.As(err, &file):
		return file.Status.String(), true
	case errors.As(err, &refused):
		return refused.Status.String(), true
	case errors.As(err, &lied):
		return "protocol", true
	case errors.As(err, &mount):
		return mount.Status.String(), true
	case errors.As(err, &call):
		return "rpc", true
	case errors.As(err, &broken):
		return "protocol", true
	}
	return "", false
}

// fileExit returns the exit code of an error about a file, here or on the server.
func fileExit(err error) int {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return exitNotFound
	case errors.Is(err, fs.ErrPermission), errors.Is(err, oncrpc.ErrAuth):
		return exitDenied
	}
	return exitFailed
}
