package hostauth_test

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
)

// begun returns a session that has begun.
func begun(t testing.TB, m hostauth.Method, limits hostauth.Limits) *hostauth.Session {
	t.Helper()
	s, err := hostauth.NewSession(m, hostauth.Info{Role: hostauth.Server}, limits)
	if err == nil {
		_, err = s.Begin()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Messages of all sizes arrive as they were sent, whatever the size of a value (R219).
func TestMessagesOfAllSizesArrive(t *testing.T) {
	for _, size := range []int{1025, 1026, 4000, 1 << 20} {
		for _, n := range []int{0, 1, 1023, 1024, 1025, 2048, 2049, 3999, 4000, 7998, 7999, 60000} {
			for _, done := range []bool{false, true} {
				msg := bytes.Repeat([]byte("0123456"), n/7+1)[:n]
				values := hostauth.Step{Message: msg, Send: true, Done: done}.Values(size)
				m := &script{steps: []hostauth.Step{{Done: done}}}
				s := begun(t, m, hostauth.Limits{})
				for i, v := range values {
					if len(v) > size || s.Complete() {
						t.Fatalf("value %d of %d bytes, at most %d; complete: %v", i, len(v), size, s.Complete())
					}
					step, err := s.ReceiveValue(v)
					if err != nil || step.Done != (done && i == len(values)-1) {
						t.Fatalf("%d bytes in values of %d, value %d: %+v, %v", n, size, i, step, err)
					}
				}
				if len(m.got) != 1 || !bytes.Equal(m.got[0], msg) || s.Complete() != done {
					t.Errorf("%d bytes in values of %d: %d messages, complete: %v", n, size, len(m.got), s.Complete())
				}
			}
		}
	}
	if v := (hostauth.Step{}).Values(4000); v != nil {
		t.Errorf("no message: %x", v)
	}
	if v := (hostauth.Step{Done: true}).Values(4000); len(v) != 1 || string(v[0]) != "\x03" {
		t.Errorf("done without a message: %x", v)
	}
}

// T106: values that break a rule, and messages that exceed the limits, end the session. Those are
// refused before they are complete.
func TestValuesRefused(t *testing.T) {
	more := func(n int) []byte { return append([]byte{1}, make([]byte, n)...) }
	for name, c := range map[string]struct {
		values [][]byte
		kind   error
		text   string
	}{
		"announced again":      {[][]byte{{}}, hostauth.ErrMalformed, "a value of no bytes"},
		"unknown kind":         {[][]byte{{4, 1, 2}}, hostauth.ErrMalformed, "kind 4"},
		"a part too small":     {[][]byte{more(1023)}, hostauth.ErrMalformed, "a part of 1023 bytes"},
		"endless parts":        {slices.Repeat([][]byte{more(4096)}, 16), hostauth.ErrLimit, "has 65536 bytes"},
		"endless rounds":       {[][]byte{{0}, {0}, {0}, {0}, {0}}, hostauth.ErrLimit, "more than 4 messages"},
		"done with bytes":      {[][]byte{{3, 1}}, hostauth.ErrMalformed, "inside a message"},
		"done inside":          {[][]byte{more(1024), {3}}, hostauth.ErrMalformed, "1024 before"},
		"done too early":       {[][]byte{{3}}, hostauth.ErrOrder, "expects another message"},
		"last but not for us":  {[][]byte{{2}}, hostauth.ErrOrder, "expects another message"},
		"after the last":       {[][]byte{{0, 'e'}, {3}, {3}}, hostauth.ErrOrder, "after the peer was done"},
		"a message after done": {[][]byte{{0, 'e'}, {0}}, hostauth.ErrOrder, "after the exchange was done"},
		"parts after done":     {[][]byte{{0, 'e'}, more(1024)}, hostauth.ErrLimit, "at most 0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := begun(t, endsAt{}, hostauth.Limits{Rounds: 4, Bytes: 64<<10 - 20})
			var err error
			for i, v := range c.values {
				if err != nil {
					t.Fatalf("value %d: %v", i-1, err)
				}
				_, err = s.ReceiveValue(v)
			}
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) || s.Complete() {
				t.Errorf("got %v, want %v with %q", err, c.kind, c.text)
			}
			if _, again := s.ReceiveValue([]byte{0}); again != err {
				t.Errorf("after the error: %v", again)
			}
		})
	}
}

// endsAt is a Method that is done at a message "e".
type endsAt struct{}

func (endsAt) Start(hostauth.Info) (hostauth.Exchange, error) { return endsAt{}, nil }
func (endsAt) Begin() (hostauth.Step, error)                  { return hostauth.Step{}, nil }
func (endsAt) Peer() (hostauth.Peer, bool)                    { return hostauth.Peer{}, false }
func (endsAt) Receive(msg []byte) (hostauth.Step, error) {
	return hostauth.Step{Done: string(msg) == "e"}, nil
}

// FuzzReceiveValue gives values to a session. It never takes more than its limits, and is complete
// only after a message that its method accepts.
func FuzzReceiveValue(f *testing.F) {
	f.Add([]byte{0, 'e'}, []byte{3}, []byte{1})
	f.Add(append([]byte{1}, make([]byte, 1024)...), []byte{2, 'e'}, []byte{})
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		m := &script{steps: make([]hostauth.Step, 3)}
		s := begun(t, m, hostauth.Limits{Bytes: 5000})
		sum := 0
		for _, v := range [][]byte{a, b, c} {
			_, _ = s.ReceiveValue(v)
			sum += len(v)
		}
		got := 0
		for _, msg := range m.got {
			got += len(msg)
		}
		if got > min(5000, sum) || s.Complete() {
			t.Errorf("%d bytes of %d, complete: %v", got, sum, s.Complete())
		}
	})
}

// A message in parts costs memory in proportion to the bytes received.
func TestValuesAllocation(t *testing.T) {
	value := append([]byte{1}, make([]byte, 1024)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := begun(t, endsAt{}, hostauth.Limits{})
	for range 60 {
		if _, err := s.ReceiveValue(value); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	grown := after.TotalAlloc - before.TotalAlloc
	if most := uint64(5 * 60 * 1024); grown > most {
		t.Errorf("%d bytes allocated for 60 KiB, at most %d", grown, most)
	}
}
