package oncrpc_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// A credential that is malformed is refused, and CheckCred agrees with the decoder about AUTH_SYS.
func TestCheckCred(t *testing.T) {
	full := &oncrpc.AuthSysParms{Stamp: 1, MachineName: bytes.Repeat([]byte("m"), 255), UID: 2, GID: 3, GIDs: make([]uint32, 16)}
	long, err := full.Auth()
	if err != nil {
		t.Fatal(err)
	}
	short, _ := (&oncrpc.AuthSysParms{MachineName: []byte("gardens")}).Auth()
	sys := func(body ...byte) oncrpc.OpaqueAuth { return oncrpc.OpaqueAuth{Flavor: oncrpc.AuthSys, Body: body} }
	cases := []oncrpc.OpaqueAuth{
		long, short, sys(), sys([]byte("zzzz")...), sys(append(bytes.Clone(short.Body), 0, 0, 0, 0)...),
		sys(0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff), sys(0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xfe),
		sys(append(bytes.Repeat([]byte{0}, 16), 0, 0, 0, 17)...),
		sys(append(append(bytes.Repeat([]byte{0}, 16), 0, 0, 0, 17), make([]byte, 68)...)...),
		sys(append([]byte{0, 0, 0, 0, 0, 0, 1, 0}, make([]byte, 256+12)...)...),
	}
	for _, whole := range []oncrpc.OpaqueAuth{long, short} {
		for n := range whole.Body {
			cases = append(cases, sys(whole.Body[:n]...))
		}
	}
	good := 0
	for _, cred := range cases {
		_, err := oncrpc.ParseAuthSys(&cred)
		refusal := oncrpc.CheckCred(&cred)
		if (err == nil) != (refusal == nil) {
			t.Errorf("body %x: found %v, the decoder says %v", cred.Body, refusal, err)
		}
		if refusal == nil {
			good++
		} else if !errors.Is(refusal, oncrpc.ErrAuth) || refusal.Auth != oncrpc.AuthStatBadCred {
			t.Errorf("body %x: %v", cred.Body, refusal)
		}
	}
	if good != 2 {
		t.Errorf("%d credentials are well formed, want 2", good)
	}
	for _, tt := range []struct {
		cred oncrpc.OpaqueAuth
		bad  bool
	}{
		{oncrpc.None(), false},
		{oncrpc.OpaqueAuth{Flavor: oncrpc.AuthNone, Body: []byte("zzzz")}, true},
		{oncrpc.OpaqueAuth{Flavor: oncrpc.AuthShort, Body: []byte("zzzz")}, false},
		{oncrpc.OpaqueAuth{Flavor: oncrpc.RPCSecGSS, Body: []byte("zzzz")}, false},
	} {
		if got := oncrpc.CheckCred(&tt.cred); (got != nil) != tt.bad {
			t.Errorf("%v %x: %v", tt.cred.Flavor, tt.cred.Body, got)
		}
	}
	if n := testing.AllocsPerRun(10, func() { _ = oncrpc.CheckCred(&long) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
