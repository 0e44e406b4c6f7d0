package oncrpc

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// unhex reads hex with blanks and comments: each line is worked out by hand
// from RFC 5531 §9.
func unhex(t *testing.T, text string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var vectors = []struct {
	name string
	msg  *Header
	wire string
}{
	{"call with AUTH_NONE", NewCall(0x12345678, 100003, 3, 6, None()), `
		12345678           # xid
		00000000           # mtype: CALL = 0
		00000002           # rpcvers
		000186a3           # prog 100003
		00000003 00000006  # vers, proc
		00000000 00000000  # cred: AUTH_NONE = 0, no body
		00000000 00000000  # verf`},
	{"successful reply", NewReply(0x12345678, Success), `
		12345678 00000001  # xid, REPLY = 1
		00000000           # MSG_ACCEPTED = 0
		00000000 00000000  # verf
		00000000           # SUCCESS = 0; results would follow`},
	{"program version mismatch", NewProgMismatch(1, 2, 4), `
		00000001 00000001 00000000 00000000 00000000
		00000002           # PROG_MISMATCH = 2
		00000002 00000004  # low, high`},
	{"system error", NewReply(1, SystemErr), `
		00000001 00000001 00000000 00000000 00000000
		00000005           # SYSTEM_ERR = 5, void`},
	{"RPC version mismatch", NewRPCMismatch(7), `
		00000007 00000001
		00000001           # MSG_DENIED = 1
		00000000           # RPC_MISMATCH = 0
		00000002 00000002  # low, high`},
	{"credential refused", NewAuthError(7, AuthStatTooWeak), `
		00000007 00000001 00000001
		00000001           # AUTH_ERROR = 1
		00000005           # AUTH_TOOWEAK = 5`},
}

func TestHeadersAreReadBack(t *testing.T) {
	for _, v := range vectors {
		wire := unhex(t, v.wire)
		got, err := v.msg.MarshalBinary()
		if err != nil || !cmp.Equal(got, wire) {
			t.Errorf("%s: encodes to %x, %v; expected %x", v.name, got, err, wire)
		}
		var m Header
		if err := m.UnmarshalBinary(wire); err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
		if diff := cmp.Diff(v.msg, &m, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s decodes wrongly:\n%s", v.name, diff)
		}
		for n := range wire {
			if err := new(Header).UnmarshalBinary(wire[:n]); !errors.Is(err, xdr.ErrShort) {
				t.Errorf("%s, first %d bytes: %v", v.name, n, err)
			}
		}
	}
}

func TestAuthSys(t *testing.T) {
	p := &AuthSysParms{Stamp: 1, MachineName: xdr.String("host"), UID: 1000, GID: 100, GIDs: []uint32{4, 24}}
	a, err := p.Auth()
	if err != nil {
		t.Fatal(err)
	}
	want := unhex(t, `
		00000001           # stamp
		00000004 686f7374  # machinename "host"
		000003e8 00000064  # uid 1000, gid 100
		00000002 00000004 00000018  # gids 4, 24`)
	if a.Flavor != AuthSys || !cmp.Equal(a.Body, want) {
		t.Errorf("credential is %v %x, expected %x", a.Flavor, a.Body, want)
	}
	back, err := ParseAuthSys(&a)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, back); diff != "" {
		t.Error(diff)
	}
	none := None()
	if _, err := ParseAuthSys(&none); err == nil || !strings.Contains(err.Error(), "AUTH_NONE") {
		t.Errorf("AUTH_NONE as AUTH_SYS: %v", err)
	}
	if _, err := ParseAuthSys(&OpaqueAuth{Flavor: AuthShort, Body: a.Body}); err == nil || !strings.Contains(err.Error(), "AUTH_SHORT") {
		t.Errorf("AUTH_SHORT as AUTH_SYS: %v", err)
	}
	a.Body = append(a.Body, 0, 0, 0, 0)
	if _, err := ParseAuthSys(&a); !errors.Is(err, xdr.ErrTrailing) {
		t.Errorf("bytes after the credential: %v", err)
	}
	p.GIDs = make([]uint32, MaxGIDs+1)
	if _, err := p.Auth(); !errors.Is(err, xdr.ErrBound) {
		t.Errorf("17 groups: %v", err)
	}
	p.GIDs, p.MachineName = nil, make([]byte, MaxMachineName+1)
	if _, err := p.Auth(); !errors.Is(err, xdr.ErrBound) {
		t.Errorf("a name of 256 bytes: %v", err)
	}
}

func TestCheckReply(t *testing.T) {
	for _, c := range []struct {
		msg  *Header
		is   error
		text string
	}{
		{NewReply(9, Success), nil, ""},
		{NewReply(9, ProgUnavail), ErrProgUnavail, "program unavailable"},
		{NewProgMismatch(9, 2, 4), ErrProgMismatch, "versions 2 to 4"},
		{NewReply(9, ProcUnavail), ErrProcUnavail, "procedure"},
		{NewReply(9, GarbageArgs), ErrGarbageArgs, "arguments"},
		{NewReply(9, SystemErr), ErrSystem, "system"},
		{NewRPCMismatch(9), ErrRPCMismatch, "has version 2 (RFC"},
		{NewAuthError(9, AuthStatTooWeak), ErrAuth, "AUTH_TOOWEAK"},
	} {
		err := CheckReply(c.msg, 9)
		if c.is == nil {
			if err != nil {
				t.Errorf("a good reply: %v", err)
			}
			continue
		}
		var re *ReplyError
		if !errors.Is(err, c.is) || !errors.As(err, &re) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("expected %v with %q, got %v", c.is, c.text, err)
		}
	}
	if err := CheckReply(NewReply(9, Success), 8); err == nil || !strings.Contains(err.Error(), "0x9") {
		t.Errorf("another call's reply: %v", err)
	}
	if err := CheckReply(NewCall(9, 1, 1, 0, None()), 9); err == nil || !strings.Contains(err.Error(), "CALL") {
		t.Errorf("a call as reply: %v", err)
	}
}

// An unknown flavour or reason still decodes: both are registries.
func TestOpenRegistries(t *testing.T) {
	m := NewAuthError(1, 99)
	b, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back Header
	if err := back.UnmarshalBinary(b); err != nil || back.Body.Reply.Rejected.AuthStat != 99 {
		t.Errorf("%v, %v", back.Body.Reply.Rejected.AuthStat, err)
	}
	b[8] = 0xff // reply_stat is no registry
	if err := back.UnmarshalBinary(b); !errors.Is(err, xdr.ErrEnum) {
		t.Errorf("reply_stat %x: %v", b[8:12], err)
	}
}

func TestPeekReadsXIDAndType(t *testing.T) {
	b, _ := NewReply(0xabcd, Success).MarshalBinary()
	if xid, typ, ok := Peek(b); xid != 0xabcd || typ != MsgReply || !ok {
		t.Errorf("%#x %v %v", xid, typ, ok)
	}
	if _, _, ok := Peek(b[:7]); ok {
		t.Error("7 bytes are enough")
	}
	b[7] = 2
	if _, _, ok := Peek(b); ok {
		t.Error("type 2 is taken")
	}
}

func FuzzMessage(f *testing.F) {
	for _, v := range vectors {
		b, err := v.msg.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := xdr.NewDecoder(b, nil)
		var m Header
		if m.DecodeXDR(d) != nil {
			return
		}
		again, err := m.MarshalBinary()
		if err != nil || !cmp.Equal(again, b[:d.Offset()]) {
			t.Fatalf("%x decodes, and encodes to %x, %v", b, again, err)
		}
	})
}

func ExampleCheckReply() {
	m := NewProgMismatch(1, 3, 4)
	if err := CheckReply(m, 1); errors.Is(err, ErrProgMismatch) {
		fmt.Println(err)
	}
	// Output: oncrpc: program version not supported: the server has versions 3 to 4 (RFC 5531 §9)
}
