package soft

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// region registers n bytes with the values first, first+1 and so on.
func region(t *testing.T, pd *Domain, first byte, n int) *Region {
	t.Helper()
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(i)
	}
	mr, err := pd.RegisterMemory(b, verbs.AccessLocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	return mr.(*Region)
}

// The pieces of a part of a list are that part of its bytes, for all elements and parts.
func TestPiecesAreThatPartOfTheList(t *testing.T) {
	pd := newDomain(t)
	a, b := region(t, pd, 0, 10), region(t, pd, 100, 10)
	for _, sgl := range [][]verbs.SGE{
		nil,
		{{MR: a, Length: 10}},
		{{MR: a, Offset: 3}, {MR: a, Offset: 10}},
		{{MR: a, Offset: 2, Length: 3}, {MR: b, Length: 0}, {MR: b, Offset: 9, Length: 1}, {MR: a, Length: 5}, {MR: b, Offset: 10}},
	} {
		list, total, err := pd.Check(nil, sgl, len(sgl), 100, 0)
		if err != nil || !list.Pin() {
			t.Fatalf("%v: %v", sgl, err)
		}
		var all []byte
		for _, e := range sgl {
			all = append(all, e.MR.Bytes()[e.Offset:e.Offset+e.Length]...)
		}
		if total != len(all) {
			t.Errorf("%v: %d bytes, want %d", sgl, total, len(all))
		}
		for off := range total + 1 {
			for n := range total - off + 1 {
				pieces := list.Pieces(nil, off, n)
				if got := bytes.Join(pieces, nil); !bytes.Equal(got, all[off:off+n]) {
					t.Errorf("%v: %d bytes from %d on are %v, want %v", sgl, n, off, got, all[off:off+n])
				}
				for _, p := range pieces {
					if len(p) == 0 {
						t.Errorf("%v: %d bytes from %d on have an empty piece", sgl, n, off)
					}
				}
			}
		}
		list.Unpin()
		if a.loadUse().pins()+b.loadUse().pins() != 0 {
			t.Fatalf("%d pins left", a.loadUse().pins()+b.loadUse().pins())
		}
	}
}

// A pin succeeds only for the registration that was checked. A list is pinned as a whole or not at
// all.
func TestPinEndsWithRegistration(t *testing.T) {
	pd := newDomain(t)
	a, b := region(t, pd, 0, 10), region(t, pd, 0, 10)
	list, _, err := pd.Check(nil, []verbs.SGE{{MR: a, Length: 1}, {MR: b, Length: 1}}, 2, 100, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !list.Pin() {
		t.Fatal("valid regions cannot be pinned")
	}
	list.Unpin()
	buf := b.Bytes()
	if err := b.Invalidate(); err != nil {
		t.Fatal(err)
	}
	if list.Pin() || a.loadUse().pins() != 0 {
		t.Errorf("pinned an invalid region; %d pins of the other left", a.loadUse().pins())
	}
	if err := b.Reregister(buf, 0); err != nil {
		t.Fatal(err)
	}
	if list.Pin() || a.loadUse().pins()+b.loadUse().pins() != 0 {
		t.Error("pinned the next registration of the same bytes")
	}
	if _, _, err := pd.Check(nil, []verbs.SGE{{MR: b, Length: 1}}, 1, 100, verbs.AccessLocalWrite); !errors.Is(err, verbs.ErrAccess) {
		t.Errorf("a region without the right: %v", err)
	}
}

func TestOverlapsOfElementsAreSeen(t *testing.T) {
	pd := newDomain(t)
	mr := region(t, pd, 0, 10)
	twin, err := pd.RegisterMemory(mr.Bytes()[4:], verbs.AccessLocalWrite) // bytes 4 to 9
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		off, n, twinOff, twinN int
		want                   bool
	}{
		{0, 10, 0, 6, true},
		{0, 4, 0, 6, false},
		{0, 5, 0, 6, true},
		{9, 1, 5, 1, true},
		{8, 1, 5, 1, false},
		{9, 1, 0, 5, false},
	} {
		l, _, err := pd.Check(nil, []verbs.SGE{{MR: mr, Offset: tc.off, Length: tc.n}, {MR: twin, Offset: tc.twinOff, Length: tc.twinN}}, 2, 100, 0)
		if err != nil {
			t.Fatal(err)
		}
		if l[0].Overlaps(&l[1]) != tc.want || l[1].Overlaps(&l[0]) != tc.want {
			t.Errorf("%+v: overlap %v, want %v", tc, !tc.want, tc.want)
		}
	}
	l, _, _ := pd.Check(nil, []verbs.SGE{{MR: mr, Length: 10}, {MR: twin, Length: 6}}, 2, 100, 0)
	if err := twin.Invalidate(); err != nil {
		t.Fatal(err)
	}
	if l[0].Overlaps(&l[1]) || l[1].Overlaps(&l[0]) {
		t.Error("an invalid region overlaps")
	}
}

// The limits of a device are those that a user wishes, within the device's own.
func TestWishedLimitsStayWithinTheDevice(t *testing.T) {
	has := verbs.DeviceAttributes{
		Name: "soft0", MaxSendWR: 8, MaxRecvWR: 8, MaxSendSGE: 4, MaxRecvSGE: 4, MaxReadSGE: 4, MaxCQE: 16,
		MaxMRSize: 1000, MaxMessageSize: 500, MaxInitiatorDepth: 2, MaxResponderResources: 2, MaxPrivateData: 64,
	}
	for name, tc := range map[string]struct {
		wish *verbs.DeviceAttributes
		want func(*verbs.DeviceAttributes) // nil: an error
	}{
		"no wish":            {nil, func(*verbs.DeviceAttributes) {}},
		"nothing":            {&verbs.DeviceAttributes{}, func(*verbs.DeviceAttributes) {}},
		"less":               {&verbs.DeviceAttributes{MaxSendWR: 1, MaxMRSize: 10}, func(a *verbs.DeviceAttributes) { a.MaxSendWR, a.MaxMRSize = 1, 10 }},
		"none":               {&verbs.DeviceAttributes{MaxPrivateData: -1, MaxInitiatorDepth: -9}, func(a *verbs.DeviceAttributes) { a.MaxPrivateData, a.MaxInitiatorDepth = 0, 0 }},
		"deeper":             {&verbs.DeviceAttributes{MaxInitiatorDepth: 5}, func(a *verbs.DeviceAttributes) { a.MaxInitiatorDepth = 5 }},
		"sizes are no more":  {&verbs.DeviceAttributes{MaxMRSize: 9999, MaxMessageSize: 9999}, func(*verbs.DeviceAttributes) {}},
		"too deep":           {&verbs.DeviceAttributes{MaxInitiatorDepth: 6}, nil},
		"more than there is": {&verbs.DeviceAttributes{MaxCQE: 17}, nil},
		"no send queue":      {&verbs.DeviceAttributes{MaxSendWR: -1}, nil},
	} {
		got, err := Lower("soft", has, tc.wish, 5)
		if tc.want == nil {
			if !errors.Is(err, verbs.ErrInvalidValue) {
				t.Errorf("%s: error %v", name, err)
			}
			continue
		}
		want := has
		tc.want(&want)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
}

// A pin neither lasts beyond the Invalidate of its registration nor begins after it, whatever other
// goroutines do. The race detector checks the same of the bytes.
func TestPinsEnd(t *testing.T) {
	type registered struct {
		Element
		over atomic.Bool
	}
	pd := newDomain(t)
	buf := alloc(t, pd, 64)
	m, err := pd.RegisterMemory(buf, verbs.AccessLocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	mr := m.(*Region)
	var current atomic.Pointer[registered]
	publish := func() {
		r := &registered{Element: Element{Region: mr, Len: 64}}
		if err := r.check(verbs.AccessLocalWrite); err != nil {
			t.Fatal(err)
		}
		current.Store(r)
	}
	publish()
	var stop atomic.Bool
	var pinned atomic.Int64
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			var seen [64]byte
			for !stop.Load() {
				r := current.Load()
				if !r.Pin() {
					runtime.Gosched()
					continue
				}
				copy(seen[:], r.Bytes())
				early := r.over.Load()
				runtime.Gosched()
				if late := r.over.Load(); early || late {
					t.Errorf("in use after Invalidate returned (pinned after it: %v)", early)
					stop.Store(true)
				}
				r.Unpin()
				pinned.Add(1)
			}
		})
	}
	for round := 0; round < 500 && !stop.Load(); round++ {
		for was := pinned.Load(); pinned.Load() < was+3 && !stop.Load(); {
			runtime.Gosched()
		}
		if err := mr.Invalidate(); err != nil {
			t.Fatal(err)
		}
		current.Load().over.Store(true)
		buf[7]++ // the owner's access
		if err := mr.Reregister(buf, verbs.AccessLocalWrite); err != nil {
			t.Fatal(err)
		}
		publish()
	}
	stop.Store(true)
	wg.Wait()
	if n := mr.loadUse().pins(); n != 0 {
		t.Errorf("%d pins left", n)
	}
}

// AppendTo, Pieces and CopyFrom reach the same bytes of a list, whose elements may be empty.
func TestListBytes(t *testing.T) {
	d := newDevice(t, 1)
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	all := []byte("abcdefghijklmnop")
	mr, err := pd.RegisterMemory(all, verbs.AccessLocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	list, total, err := pd.Check(nil, []verbs.SGE{{MR: mr, Offset: 8, Length: 5}, {MR: mr, Offset: 3}, {MR: mr, Length: 4}}, 3, 16, verbs.AccessLocalWrite)
	if err != nil || !list.Pin() {
		t.Fatal(err)
	}
	defer list.Unpin()
	const whole = "ijklmabcd"
	for off := range total + 1 {
		for n := range total - off + 1 {
			want := whole[off : off+n]
			if got := list.AppendTo([]byte("-"), off, n); string(got) != "-"+want {
				t.Errorf("AppendTo %d bytes from %d: %q, want %q", n, off, got, want)
			}
			if got := bytes.Join(list.Pieces(nil, off, n), nil); string(got) != want {
				t.Errorf("Pieces of %d bytes from %d: %q, want %q", n, off, got, want)
			}
			list.CopyFrom([]byte(strings.ToUpper(want)), off)
			if got := list.AppendTo(nil, 0, total); string(got) != whole[:off]+strings.ToUpper(want)+whole[off+n:] {
				t.Errorf("CopyFrom of %d bytes to %d: %q", n, off, got)
			}
			list.CopyFrom([]byte(whole), 0)
		}
	}
}
