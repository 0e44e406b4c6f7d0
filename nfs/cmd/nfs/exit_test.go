package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Each kind of failure has its exit code and its word, over a server and on this side.
func TestExitCodes(t *testing.T) {
	f := serve(t, "tcp")
	write(t, filepath.Join(f.dir, "a"), 10)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	check(t, closed.Close())
	blocked := filepath.Join(f.base, "blocked")
	check(t, os.MkdirAll(filepath.Join(blocked, "a"), 0o755)) // has the name of a file to copy
	for _, test := range []struct {
		args []string
		code int
		word string
	}{
		{[]string{"ls", target}, 0, ""},
		{[]string{"get", target + "/a", filepath.Join(blocked, "a", "..")}, 1, "failed"},
		{[]string{"ls", "-no"}, 2, "usage"},
		{[]string{"get", "-r", target, blocked}, 3, "partial"},
		{[]string{"put", "main.go", target + "/" + strings.Repeat("a", 300)}, 4, "NFS3ERR_NAMETOOLONG"},
		{[]string{"ls", "-timeout", "100ms", "-mountport", port(silent.Addr().String()), target}, 5, "timeout"},
		{[]string{"ls", "-mountport", port(closed.Addr().String()), target}, 6, "network"},
		{[]string{"ls", "host.invalid:/export"}, 6, "network"},
		{[]string{"ls", target + "/none"}, 7, "NFS3ERR_NOENT"},
		{[]string{"ls", "127.0.0.1:/other"}, 7, "MNT3ERR_NOENT"},
		{[]string{"put", filepath.Join(f.base, "none"), target}, 7, "not_found"},
	} {
		args := append([]string{"-json"}, test.args[1:]...)
		out, errs, code := f.run(t.Context(), test.args[0], args...)
		var last struct {
			Code string
			Exit int
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		check(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
		if test.word == "usage" { // -json was not read
			last.Code, last.Exit = "usage", 2
		}
		if code != test.code || last.Exit != code || last.Code != test.word {
			t.Errorf("%q: exit code %d, %s%s, expected %d %s", test.args, code, out, errs, test.code, test.word)
		}
	}
}

// Errors that a test has no server for are told apart by their types.
func TestExitCodesOfErrors(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
		word string
	}{
		{&interrupted{os.Interrupt}, 130, "interrupted"},
		{&interrupted{syscall.SIGTERM}, 143, "interrupted"},
		{&client.StatusError{Status: nfs3.StatusAcces}, 8, "NFS3ERR_ACCES"},
		{&client.StatusError{Status: nfs3.StatusNospc}, 4, "NFS3ERR_NOSPC"},
		{&unreachable{&client.MountError{Status: mount3.StatusAcces}}, 8, "MNT3ERR_ACCES"},
		{&client.ProtocolError{}, 4, "protocol"},
		{&unreachable{&oncrpc.ReplyError{Reply: oncrpc.Denied, Reject: oncrpc.AuthError}}, 8, "rpc"},
		{&oncrpc.ReplyError{Accept: oncrpc.ProcUnavail}, 4, "rpc"},
		{fmt.Errorf("x: %w", &oncrpc.CallError{Err: net.ErrClosed, MayHaveRun: true}), 6, "network"},
		{os.ErrPermission, 8, "permission"},
		{syscall.ENOSPC, 1, "failed"},
	} {
		if word, code := exitOf(test.err); word != test.word || code != test.code {
			t.Errorf("%v: %s %d, expected %s %d", test.err, word, code, test.word, test.code)
		}
	}
}

// The help and docs/nfs.md list the same codes, each once.
func TestExitCodesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/nfs.md")
	check(t, err)
	for _, code := range []int{exitDone, exitFailed, exitUsage, exitPartial, exitServer, exitTimeout, exitNetwork, exitNotFound, exitDenied, 130} {
		if n := len(regexp.MustCompile(`(?m)^  `+strconv.Itoa(code)+`\b`).FindAllString(helpExit, -1)); n != 1 {
			t.Errorf("nfs help exit-codes has code %d %d times", code, n)
		}
		if n := len(regexp.MustCompile(`(?m)^\| `+strconv.Itoa(code)+`\b`).FindAllString(string(page), -1)); n != 1 {
			t.Errorf("docs/nfs.md has code %d %d times", code, n)
		}
	}
}
