//go:build race || asan || memcheck || (memguard && linux)

package soft

import (
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The error of Device.Close has the stacks that created the objects left, and no others.
func TestCloseNamesTheObjectsLeft(t *testing.T) {
	d := newDevice(t, 1)
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := d.CreateCQ(32, nil)
	if err != nil {
		t.Fatal(err)
	}
	var q QueuePair
	if err := q.Configure(pd, 1, verbs.QPConfig{SendCQ: cq, RecvCQ: cq}); err != nil {
		t.Fatal(err)
	}
	if err := q.Register(interrupter(nil)); err != nil {
		t.Fatal(err)
	}
	buf := alloc(t, pd, 8)
	mr, err := pd.RegisterMemory(buf, 0)
	if err != nil {
		t.Fatal(err)
	}
	alive := []string{"*soft.Domain", "*soft.CompletionQueue", "*soft.QueuePair", "*soft.Region", "*uint8"}
	left := func(want ...string) {
		t.Helper()
		err := d.Close()
		if len(want) == 0 {
			if err != nil {
				t.Error(err)
			}
			return
		}
		if !errors.Is(err, verbs.ErrBusy) {
			t.Fatalf("close: %v", err)
		}
		for _, kind := range alive {
			named := strings.Contains(err.Error(), kind+" created by\n")
			expected := false
			for _, w := range want {
				expected = expected || w == kind
			}
			if named != expected {
				t.Errorf("%s named: %v, want %v, in: %v", kind, named, expected, err)
			}
		}
		if !strings.Contains(err.Error(), "soft.TestCloseNamesTheObjectsLeft\n") {
			t.Errorf("no stack in: %v", err)
		}
	}
	left(alive...)
	q.ReleaseCQs()
	q.Unregister()
	left("*soft.Domain", "*soft.CompletionQueue", "*soft.Region", "*uint8")
	if err := mr.Deregister(); err != nil {
		t.Fatal(err)
	}
	left("*soft.Domain", "*soft.CompletionQueue", "*uint8")
	if err := pd.Free(buf); err != nil {
		t.Fatal(err)
	}
	if err := cq.Close(); err != nil {
		t.Fatal(err)
	}
	left("*soft.Domain")
	if err := pd.Close(); err != nil {
		t.Fatal(err)
	}
	left()
}
