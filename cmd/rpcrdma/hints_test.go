package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// commandFlags returns the flags of a command.
func commandFlags(t *testing.T, command string) map[string]bool {
	t.Helper()
	parser, err := kong.New(new(commandLine), kong.Name("rpcrdma"), kong.NoDefaultHelp())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range parser.Model.Children {
		if c.Name == command {
			return flagsOf(c)
		}
	}
	t.Fatalf("no command %q", command)
	return nil
}

// Both are a second reading of a hint: its flags, and what it says of other commands.
var (
	wordWithDash = regexp.MustCompile(`(?:^|[ (])(-[a-zA-Z][a-z-]*)`)
	ofOther      = regexp.MustCompile(`rpcrdma (?:help )?[a-z]+[^,;:)]*`)
)

// Hints name only flags that the command has, whatever failed.
func TestHintsNameFlagsOfTheCommand(t *testing.T) {
	call := func(err error) error { return &oncrpc.CallError{Err: err} }
	failures := []error{
		errors.New("other"), context.DeadlineExceeded, io.ErrUnexpectedEOF, syscall.ECONNREFUSED, syscall.ECONNRESET, &net.DNSError{Name: "host"},
		tcp.ErrNoTLS, tcp.ErrTLS, tcp.ErrRecord, tcp.ErrMessage, tcp.ErrPeerClosed, tcp.ErrTimeout, tcp.ErrNotRPC, tcp.ErrFull,
		&xdr.Error{}, oncrpc.Refused(oncrpc.AuthStatTooWeak), oncrpc.Refused(oncrpc.AuthStatBadCred), rpcbind.ErrNotRegistered,
		&oncrpc.ReplyError{Accept: oncrpc.ProgUnavail}, &oncrpc.ReplyError{Accept: oncrpc.ProgMismatch}, &oncrpc.ReplyError{Accept: oncrpc.ProcUnavail},
		&oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}, &oncrpc.ReplyError{Accept: oncrpc.SystemErr},
		call(context.DeadlineExceeded), verbs.ErrConnectionRefused, verbs.ErrTLS, &verbs.RejectedError{}, verbs.ErrPeerDisconnected,
		verbs.ErrConnectionBroken, rdmaio.ErrNoVersion, rdmaio.ErrNoAnswer, verbs.ErrOtherProtocol, &rpc.Error{Err: errors.New("other")},
	}
	for code := range rdmaio.PeerErrSystem + 1 {
		failures = append(failures, &rdmaio.PeerError{Code: code})
	}
	hints := 0
	for _, by := range []struct {
		name    string
		explain func(error) *failure
		at      []string // commands
	}{
		{"explain", func(err error) *failure { return explain("connection", "host", err) }, []string{"ping", "perf", "nfsping"}},
		{"explainDial", func(err error) *failure {
			return explainDial(&deviceFlags{rdmaFlags: rdmaFlags{Provider: "rdmatcp"}, tlsFlags: tlsFlags{TLS: true}}, "host", err)
		}, []string{"ping", "perf", "nfsping"}},
		{"explain", func(err error) *failure { return explain("call", "host", err) }, []string{"ping", "perf", "nfsping"}},
		{"explainTCP", func(err error) *failure { return explainTCP("connection", "host", err) }, []string{"call"}},
		{"explainCall", func(err error) *failure { return explainCall("host", err) }, []string{"call"}},
		{"explainLookup", func(err error) *failure { return explainLookup("host", adviceNoLookup, err) }, []string{"call"}},
		{"explainLookup", func(err error) *failure { return explainLookup("host", adviceNoList, err) }, []string{"info"}},
	} {
		for _, command := range by.at {
			flags := commandFlags(t, command)
			for _, err := range failures {
				var out, errs bytes.Buffer
				report(environment{stdout: &out, stderr: &errs, flags: flags}, by.explain(fmt.Errorf("wrapped: %w", err)))
				_, hint, _ := strings.Cut(errs.String(), "\ntry: ")
				for _, m := range wordWithDash.FindAllStringSubmatch(ofOther.ReplaceAllString(hint, ""), -1) {
					if hints++; !flags[m[1]] {
						t.Errorf("%s, %s, %v (%v): %s is no flag of the command: %s", command, by.name, err, reflect.TypeOf(err), m[1], hint)
					}
				}
			}
		}
	}
	if hints < 20 {
		t.Errorf("%d flags in hints", hints)
	}
}

// A port of another protocol is named by call and info, with code 4 and a hint that suits both.
func TestPortOfAnotherProtocol(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 100))
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			_ = c.Close()
		}
	}()
	for _, args := range [][]string{
		{"call", notesFile, ln.Addr().String(), "NOTES.NOTES_V1.NOTES_NULL"}, {"info", ln.Addr().String()},
	} {
		code, _, stderr := try(t.Context(), args...)
		for _, want := range []string{`the peer speaks something else, beginning with "HTTP/1.1 400 Bad Request`, "try: check "} {
			if code != exitPeer || !strings.Contains(stderr, want) || strings.Contains(stderr, "may have executed") {
				t.Errorf("%s: code %d, %s, want %q", args[0], code, stderr, want)
			}
		}
	}
}

// A client of one provider at a server of the other gets the hint to use that one.
func TestHintProposesTheOtherProvider(t *testing.T) {
	for provider, other := range map[string]string{"rdmatcp": "iwarp", "iwarp": "rdmatcp"} {
		addr := serving(t, "-q", "-provider", other)
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"ping", "-c", "1", addr}, {"perf", "-t", "1ms", addr}, {"nfsping", "-c", "1", addr},
			{"call", "-carrier", "rdma", notesFile, addr, "NOTES.NOTES_V1.NOTES_NULL"},
		} {
			args = append([]string{args[0], "-provider", provider}, args[1:]...)
			code, stdout, stderr := try(t.Context(), args...)
			for _, want := range []string{"this side speaks " + provider + ": a server of " + other, "try: -provider " + other + ","} {
				if code != exitFailed || !strings.Contains(stderr, want) {
					t.Errorf("%q: code %d, %s%s, want %q", args, code, stdout, stderr, want)
				}
			}
			args[2] = other
			if _, stdout, stderr := try(t.Context(), args...); strings.Contains(stdout+stderr, "-provider") {
				t.Errorf("%q: %s%s, want no hint of the provider", args, stdout, stderr)
			}
		}
		// info has the error in its table.
		args := []string{"info", "-provider", provider, "-port", port, host}
		if _, stdout, stderr := try(t.Context(), args...); !strings.Contains(stdout, "a server of "+other+", or of ONC RPC over TCP, closes") {
			t.Errorf("%q: %s%s, want the other provider", args, stdout, stderr)
		}
	}
	for name, f := range map[string]*failure{
		"mem":       explainDial(&deviceFlags{rdmaFlags: rdmaFlags{Provider: "mem"}}, "host", verbs.ErrPeerDisconnected),
		"cancelled": explainDial(&deviceFlags{rdmaFlags: rdmaFlags{Provider: "iwarp"}}, "host", errors.Join(verbs.ErrPeerDisconnected, context.DeadlineExceeded)),
		"refused":   explainDial(&deviceFlags{rdmaFlags: rdmaFlags{Provider: "iwarp"}}, "host", verbs.ErrConnectionRefused),
	} {
		if strings.Contains(f.help, "-provider") {
			t.Errorf("%s: hint %q", name, f.help)
		}
	}
}

// The flag -tls of call may be given alone or with a word. A wrong word is named.
func TestRequireTLS(t *testing.T) {
	for in, want := range map[string]string{
		"call -tls":                     "call -tls required",
		"call -tls -ca ca.pem f.x h p":  "call -tls required -ca ca.pem f.x h p",
		"call --tls -ca ca.pem f.x h p": "call --tls required -ca ca.pem f.x h p",
		"call -tls f.x h p":             "call -tls required f.x h p",
		"call -tls wanted f.x h p":      "call -tls wanted f.x h p",
		"call -tls off f.x h p":         "call -tls off f.x h p",
		"call -tls on f.x h p":          "call -tls on f.x h p",
		"call -tls=wanted f.x h p":      "call -tls=wanted f.x h p",
		"call -- -tls":                  "call -- -tls",
		"ping -tls h":                   "ping -tls h",
	} {
		if got := strings.Join(requireTLS(strings.Fields(in)), " "); got != want {
			t.Errorf("%s: found %s, want %s", in, got, want)
		}
	}
}
