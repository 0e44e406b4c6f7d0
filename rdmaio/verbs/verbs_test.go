package verbs_test

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func TestValuesHaveNames(t *testing.T) {
	for _, tc := range []struct {
		v    fmt.Stringer
		want string
	}{
		{verbs.Send, "send"},
		{verbs.LocalInvalidate, "local-invalidate"},
		{verbs.Opcode(9), "Opcode(9)"},
		{verbs.WCRecv, "recv"},
		{verbs.WCOpcode(9), "WCOpcode(9)"},
		{verbs.StateConnected, "connected"},
		{verbs.StateClosed, "closed"},
		{verbs.QPState(9), "QPState(9)"},
		{verbs.MRDeregistered, "deregistered"},
		{verbs.MRState(9), "MRState(9)"},
		{verbs.StatusFlushed, "flushed"},
		{verbs.StatusFatal, "fatal device error"},
		{verbs.Status(99), "Status(99)"},
		{verbs.AddressIP, "IP"},
		{verbs.AddressForm(9), "AddressForm(9)"},
		{verbs.SendFlags(0), "none"},
		{verbs.SendSignaled | verbs.SendFence, "signaled|fence"},
		{verbs.SendSolicited | 0x40, "solicited|0x40"},
		{verbs.Access(0), "local-read"},
		{verbs.AccessLocalWrite | verbs.AccessRemoteInvalidate, "local-write|remote-invalidate"},
	} {
		if got := tc.v.String(); got != tc.want {
			t.Errorf("%T: %q, want %q", tc.v, got, tc.want)
		}
	}
}

// R7: the interface has no way to ask for a service that is not reliable and connected, so no
// transport over it can use one. A queue pair is made without a type (it is ibv_qp of type RC),
// connected to one peer by Dial or Accept, and a request names no peer, as datagrams would have to.
// A change that adds a field must keep that true. Package verbstest tests the reliability of
// providers.
func TestReliableConnectedOnly(t *testing.T) {
	for typ, want := range map[reflect.Type]string{
		reflect.TypeFor[verbs.QPConfig](): "SendCQ RecvCQ MaxSendWR MaxRecvWR MaxSendSGE MaxRecvSGE MaxBoundMRs Notify",
		reflect.TypeFor[verbs.SendWR]():   "WRID Opcode Flags SGL RemoteAddr RKey InvalidateRKey",
		reflect.TypeFor[verbs.RecvWR]():   "WRID SGL Lend",
	} {
		var got []string
		for _, f := range reflect.VisibleFields(typ) {
			got = append(got, f.Name)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%v has fields %s, want %s", typ, s, want)
		}
	}
	makers := 0
	for _, typ := range []reflect.Type{reflect.TypeFor[verbs.Device](), reflect.TypeFor[verbs.ProtectionDomain](), reflect.TypeFor[verbs.CompletionQueue](), reflect.TypeFor[verbs.ConnRequest]()} {
		for i := range typ.NumMethod() {
			m := typ.Method(i).Type
			for k := range m.NumOut() {
				if m.Out(k) == reflect.TypeFor[verbs.QueuePair]() {
					makers++
				}
			}
		}
	}
	if makers != 1 {
		t.Errorf("%d ways to make a queue pair, want ProtectionDomain.CreateQP alone", makers)
	}
}

// R304: the sets of rights that make sense, of all 256.
func TestRightsMustMakeSense(t *testing.T) {
	const lw, rr, rw, ri = verbs.AccessLocalWrite, verbs.AccessRemoteRead, verbs.AccessRemoteWrite, verbs.AccessRemoteInvalidate
	valid := map[verbs.Access]bool{ // value: has a remote right
		0: false, lw: false,
		rr: true, lw | rr: true, lw | rw: true, lw | rr | rw: true,
		rr | ri: true, lw | rr | ri: true, lw | rw | ri: true, lw | rr | rw | ri: true,
	}
	for i := range 256 {
		a := verbs.Access(i)
		remote, ok := valid[a]
		if a.Valid() != ok {
			t.Errorf("%v: valid %v, want %v", a, a.Valid(), ok)
		}
		if ok && a.Remote() != remote {
			t.Errorf("%v: remote %v, want %v", a, a.Remote(), remote)
		}
	}
}

func TestErrorsSayWhatHappened(t *testing.T) {
	good := verbs.WC{WRID: 1}
	if err := errors.Join(good.Err(), verbs.StatusSuccess.Err()); err != nil {
		t.Errorf("error of success: %v", err)
	}
	bad := verbs.WC{WRID: 0x1f, QPNum: 3, Status: verbs.StatusRemoteAccess}
	err := bad.Err()
	if want := "verbs: queue pair 3: request 0x1f: remote access error"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	for status, want := range map[verbs.Status]bool{verbs.StatusRemoteAccess: true, verbs.StatusFlushed: false} {
		if errors.Is(err, verbs.StatusError{Status: status}) != want {
			t.Errorf("errors.Is with %v: want %v", status, want)
		}
	}
	if got := (&verbs.RejectedError{PrivateData: []byte{1, 2}}).Error(); got != "verbs: connection rejected by the listener (2 bytes of private data)" {
		t.Errorf("error %q", got)
	}
}

func TestNotifyChannel(t *testing.T) {
	notify, c := verbs.NotifyChannel()
	for range 3 {
		notify() // never waits
	}
	<-c
	select {
	case <-c:
		t.Error("a second signal")
	default:
	}
}
