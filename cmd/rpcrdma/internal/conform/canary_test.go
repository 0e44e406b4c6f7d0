package conform_test

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform"
)

// scripted is a server over TCP that answers each record with the bytes of a function, and closes
// the connection if it returns nil.
func scripted(t *testing.T, answer func(xid uint32, call []byte) []byte) *conform.Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for {
					var head [4]byte
					if _, err := io.ReadFull(c, head[:]); err != nil {
						return
					}
					b := make([]byte, binary.BigEndian.Uint32(head[:])&0xffff)
					if _, err := io.ReadFull(c, b); err != nil || len(b) < 4 {
						return
					}
					out := answer(binary.BigEndian.Uint32(b), b)
					if out == nil {
						return
					}
					if _, err := c.Write(out); err != nil {
						return
					}
				}
			}()
		}
	}()
	return &conform.Target{Carrier: conform.TCP, Addr: l.Addr().String(), Program: 7, Version: 1, Wait: 4 * time.Second}
}

// reply returns a record with a reply: words after the XID.
func reply(xid uint32, w ...uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, 1<<31|uint32(4+4*len(w)))
	b = binary.BigEndian.AppendUint32(b, xid)
	for _, v := range w {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

// null reports whether a call is one of procedure 0 without a fault in its first words.
func null(call []byte) bool {
	return len(call) >= 40 && binary.BigEndian.Uint32(call[4:]) == 0 && binary.BigEndian.Uint32(call[8:]) == 2 && binary.BigEndian.Uint32(call[16:]) == 1 && binary.BigEndian.Uint32(call[20:]) == 0
}

// Each way in which a server can be wrong is seen, and named.
func TestWrongServersAreSeen(t *testing.T) {
	good := func(xid uint32) []byte { return reply(xid, 1, 0, 0, 0, 0) }
	for _, tt := range []struct {
		name, run string
		answer    func(xid uint32, call []byte) []byte
		came      string
	}{
		{"a result for every message", "message/rpc-version-3", func(xid uint32, _ []byte) []byte { return good(xid) }, "SUCCESS"},
		{"a result for a reply", "message/type-reply", func(xid uint32, _ []byte) []byte { return good(xid) }, "SUCCESS"},
		{"silence", "message/rpc-version-3", func(xid uint32, call []byte) []byte {
			if null(call) {
				return good(xid)
			}
			return []byte{}
		}, "no reply"},
		{"the end of the connection", "message/program-unknown", func(xid uint32, call []byte) []byte {
			if null(call) {
				return good(xid)
			}
			return nil
		}, "closed"},
		{"two answers", "message/null", func(xid uint32, _ []byte) []byte { return append(good(xid), good(xid)...) }, "a second answer to XID "},
		{"another XID", "message/null", func(xid uint32, _ []byte) []byte { return good(xid + 1) }, "no reply"},
		{"a call in place of a reply", "message/null", func(xid uint32, _ []byte) []byte { return reply(xid, 0, 0, 0, 0, 0) }, "malformed reply: type 0"},
		{"reply_stat 2", "message/null", func(xid uint32, _ []byte) []byte { return reply(xid, 1, 2) }, "malformed reply: reply_stat 2"},
		{"accept_stat 6", "message/null", func(xid uint32, _ []byte) []byte { return reply(xid, 1, 0, 0, 0, 6) }, "malformed reply: accept_stat 6"},
		{"reject_stat 2", "message/null", func(xid uint32, _ []byte) []byte { return reply(xid, 1, 1, 2) }, "malformed reply: reject_stat 2"},
		{"a short reply", "message/null", func(xid uint32, _ []byte) []byte { return reply(xid, 1, 0, 0) }, "malformed reply: it ends within its header"},
		{"a short verifier", "message/null", func(xid uint32, _ []byte) []byte { return reply(xid, 1, 0, 0, 8, 0) }, "malformed reply: it ends within its verifier"},
		{"a long verifier", "message/null", func(xid uint32, _ []byte) []byte { return reply(xid, 1, 0, 0, 401, 0) }, "malformed reply: verifier of 401 bytes"},
		{"bytes after a refusal", "message/procedure-unknown", func(xid uint32, _ []byte) []byte { return reply(xid, 1, 0, 0, 0, 3, 0) }, "malformed reply: 4 bytes after PROC_UNAVAIL"},
		{"versions in the wrong order", "message/version-unknown", func(xid uint32, _ []byte) []byte { return reply(xid, 1, 0, 0, 0, 2, 3, 1) }, "malformed reply: PROG_MISMATCH with versions 3 to 1"},
		{"other versions of RPC", "message/rpc-version-3", func(xid uint32, _ []byte) []byte { return reply(xid, 1, 1, 0, 1, 1) }, "RPC_MISMATCH 1 to 1"},
		{"a record of 2 GiB", "message/null", func(uint32, []byte) []byte { return []byte{0xff, 0xff, 0xff, 0xff} }, "closed"},
		{"no answer to the next call", "message/procedure-unknown", func(xid uint32, call []byte) []byte {
			if null(call) {
				return []byte{}
			}
			return reply(xid, 1, 0, 0, 0, 3)
		}, "no reply"},
		{"the end of the server", "message/type-2", func() func(xid uint32, call []byte) []byte {
			var ended atomic.Bool
			return func(xid uint32, call []byte) []byte {
				if ended.Load() || !null(call) {
					ended.Store(true)
					return nil
				}
				return good(xid)
			}
		}(), "closed: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			target := scripted(t, tt.answer)
			cases := conform.Cases()
			for i := range cases {
				if cases[i].Name != tt.run {
					continue
				}
				r, err := target.Run(t.Context(), &cases[i])
				if err != nil || r.Passed || !strings.HasPrefix(r.Came, tt.came) || r.Expected == "" {
					t.Errorf("%v: %+v, want %s", err, r, tt.came)
				}
				return
			}
			t.Errorf("no case %s", tt.run)
		})
	}
}

// Names are unique, and each case names a document.
func TestCasesHaveNamesAndSections(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range conform.Cases() {
		if seen[c.Name] || !strings.HasPrefix(c.Section, "RFC ") || c.On == 0 || strings.Contains(c.Name, " ") {
			t.Errorf("%+v", c)
		}
		seen[c.Name] = true
	}
	if len(seen) < 180 {
		t.Errorf("%d cases", len(seen))
	}
}
