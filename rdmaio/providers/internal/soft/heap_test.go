package soft

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

func newDomain(t *testing.T) *Domain {
	t.Helper()
	pd, err := newDevice(t, 1).AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	return pd
}

func alloc(t *testing.T, pd *Domain, size int) []byte {
	t.Helper()
	b, err := pd.Alloc(size)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Memory of every size is zeroed, aligned and usable as a whole, in every build.
func TestMemoryOfEverySizeIsZeroedAndAligned(t *testing.T) {
	pd := newDomain(t)
	var bufs [][]byte
	for _, size := range []int{1, 2, 63, 64, 65, 80, 100, 127, 1000, 4095, 4096, 4097, 70_000, 1 << 20} {
		b := alloc(t, pd, size)
		if len(b) != size || cap(b) != size || address(b)%align != 0 {
			t.Errorf("%d bytes: length %d, capacity %d, address %#x", size, len(b), cap(b), address(b))
		}
		for i, v := range b {
			if v != 0 {
				t.Fatalf("%d bytes: byte %d is %#x", size, i, v)
			}
			b[i] = 7
		}
		bufs = append(bufs, b)
	}
	for _, b := range bufs {
		if err := pd.Free(b[:1]); err != nil {
			t.Errorf("free of %d bytes: %v", len(b), err)
		}
	}
	if err := pd.Close(); err != nil {
		t.Error(err)
	}
}

// Step 0: without a right a peer can access no byte, in every build.
func TestRemoteRefusals(t *testing.T) {
	pd := newDomain(t)
	other, err := pd.dev.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	mr, err := pd.RegisterMemory(alloc(t, pd, 64), verbs.AccessRemoteRead)
	if err != nil {
		t.Fatal(err)
	}
	at, key := mr.RemoteAddr(), mr.RKey()
	const both = verbs.AccessRemoteRead | verbs.AccessRemoteWrite
	for _, tc := range []struct {
		name string
		pd   *Domain
		key  uint32
		addr uint64
		n    int
		need verbs.Access
		want Denial
	}{
		{"all of it", pd, key, at, 64, verbs.AccessRemoteRead, ""},
		{"last byte", pd, key, at + 63, 1, verbs.AccessRemoteRead, ""},
		{"no byte at the end", pd, key, at + 64, 0, verbs.AccessRemoteRead, ""},
		{"one too many", pd, key, at, 65, verbs.AccessRemoteRead, "range is not within the region"},
		{"before it", pd, key, at - 1, 1, verbs.AccessRemoteRead, "range is not within the region"},
		{"after it", pd, key, at + 64, 1, verbs.AccessRemoteRead, "range is not within the region"},
		{"no right", pd, key, at, 1, verbs.AccessRemoteWrite, "region has no remote-write right"},
		{"one right of two", pd, key, at, 1, both, Denial("region has no " + both.String() + " right")},
		{"no such key", pd, key + 1, at, 1, verbs.AccessRemoteRead, "key names no region"},
		{"other domain", other, key, at, 1, verbs.AccessRemoteRead, "region belongs to another protection domain"},
	} {
		e, reason := tc.pd.Remote(tc.key, tc.addr, tc.n, tc.need)
		if reason != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, reason, tc.want)
		}
		if reason == "" && (!e.Pin() || len(e.Bytes()) != tc.n) {
			t.Errorf("%s: cannot be used", tc.name)
		}
	}
}
