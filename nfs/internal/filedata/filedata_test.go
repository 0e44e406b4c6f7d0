package filedata

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// fake is a file. Each call that is submitted has a goroutine. mu guards the fields.
type fake struct {
	mu      sync.Mutex
	data    []byte
	kept    []byte // what COMMIT has stored
	verf    Verifier
	most    int // bytes of a READ or WRITE that the server takes, or 0
	flying  int
	highest int // calls in flight
	calls   int
	// lie changes a result of a call.
	lie func(op Op, off int64, r *Result)
	// commit is the error of COMMIT.
	commit error
	hold   chan struct{} // not nil: calls wait for it
}

func (s *fake) file(cfg Config) *File {
	if cfg.Ctx == nil {
		cfg.Ctx = context.Background()
	}
	cfg.Name, cfg.Calls, cfg.NoCommit = "x", s, new(atomic.Bool)
	return New(cfg)
}

func (s *fake) New(done func(Result)) Call { return &fakeCall{s, done} }

func (s *fake) Commit() (Verifier, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = bytes.Clone(s.data)
	return s.verf, s.commit
}

func (s *fake) Broken(op, found string) error { return fmt.Errorf("%s is broken: found %s", op, found) }

type fakeCall struct {
	s    *fake
	done func(Result)
}

func (c *fakeCall) Do(op Op, p []byte, off int64) Result {
	s := c.s
	s.mu.Lock()
	s.flying++
	s.calls++
	s.highest = max(s.highest, s.flying)
	hold := s.hold
	s.mu.Unlock()
	if hold != nil {
		<-hold
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flying--
	n := len(p)
	if s.most > 0 {
		n = min(n, s.most)
	}
	r := Result{Verf: s.verf}
	if op == Read {
		r.N = copy(p[:n], s.data[min(off, int64(len(s.data))):])
		r.EOF = off+int64(r.N) >= int64(len(s.data))
	} else {
		end := int(off) + n
		s.data = append(s.data, make([]byte, max(end-len(s.data), 0))...)
		r.N = copy(s.data[off:end], p)
		r.Stored = op == Stored
	}
	if s.lie != nil {
		s.lie(op, off, &r)
	}
	return r
}

func (c *fakeCall) Submit(op Op, p []byte, off int64) { go func() { c.done(c.Do(op, p, off)) }() }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// text returns n bytes without a short period.
func text(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i/251)
	}
	return b
}

// Bytes arrive as they are, for all sizes around the size of a call, with short ones.
func TestBytesArriveAsTheyAre(t *testing.T) {
	for _, most := range []int{0, 3, 10} {
		for _, n := range []int{0, 1, 9, 10, 11, 30, 35, 100} {
			s := &fake{most: most}
			f := s.file(Config{ReadSize: 10, WriteSize: 10, Depth: 3, Window: 25})
			want := text(n)
			if got, err := f.WriteAt(want, 5); got != n || err != nil {
				t.Fatalf("%d bytes: %d written, %v", n, got, err)
			}
			check(t, f.Sync())
			got := make([]byte, n)
			if m, err := f.ReadAt(got, 5); m != n || err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, %d a call: %d read, %v", n, most, m, err)
			}
			var out bytes.Buffer
			if m, err := f.CopyTo(&out, 5, int64(n)); m != int64(n) || err != nil || !bytes.Equal(out.Bytes(), want) {
				t.Errorf("%d bytes, %d a call: %d copied, %v", n, most, m, err)
			}
			s = &fake{most: most}
			f = s.file(Config{ReadSize: 10, WriteSize: 10, Depth: 3, Window: 25})
			var stored []int64
			check(t, f.CopyFrom(bytes.NewReader(want), 0, int64(n), func(upTo int64) error { stored = append(stored, upTo); return nil }))
			if !bytes.Equal(s.kept, want) || len(stored) != (n+24)/25 {
				t.Errorf("%d bytes, %d a call: %d stored, in the steps %d", n, most, len(s.kept), stored)
			}
			if s.highest > 3 {
				t.Errorf("%d calls in flight, expected at most 3", s.highest)
			}
		}
	}
}

// The file may end in any part.
func TestEndOfTheFile(t *testing.T) {
	for _, n := range []int{0, 1, 10, 15, 20, 99} {
		s := &fake{data: text(n)}
		f := s.file(Config{ReadSize: 10, Depth: 4})
		got := make([]byte, 100)
		if m, err := f.ReadAt(got, 0); m != n || err != io.EOF || !bytes.Equal(got[:m], s.data) {
			t.Errorf("of %d bytes %d were read, %v", n, m, err)
		}
		if m, err := f.ReadAt(got[:7], int64(n)-2); n > 2 && (m != 2 || err != io.EOF) {
			t.Errorf("at the end of %d bytes %d were read, %v", n, m, err)
		}
		var out bytes.Buffer
		if m, err := f.CopyTo(&out, 0, 100); m != int64(n) || !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.Equal(out.Bytes(), s.data) {
			t.Errorf("of %d bytes %d were copied, %v", n, m, err)
		}
	}
}

// Calls are in flight together, as many as configured, and after an error no further one begins.
func TestCallsInFlight(t *testing.T) {
	for name, use := range map[string]func(f *File) error{
		"ReadAt": func(f *File) error { _, err := f.ReadAt(make([]byte, 1000), 0); return err },
		"CopyTo": func(f *File) error { _, err := f.CopyTo(io.Discard, 0, 1000); return err },
		"WriteAt": func(f *File) error {
			_, err := f.WriteAt(make([]byte, 1000), 0)
			return err
		},
		"CopyFrom": func(f *File) error { return f.CopyFrom(bytes.NewReader(make([]byte, 1000)), 0, 1000, nil) },
	} {
		synctest.Test(t, func(t *testing.T) {
			failed := errors.New("failed")
			s := &fake{data: make([]byte, 1000), hold: make(chan struct{})}
			s.lie = func(_ Op, _ int64, r *Result) { r.Err = failed }
			f := s.file(Config{ReadSize: 10, WriteSize: 10, Depth: 4, Window: 1000})
			over := make(chan error)
			go func() { over <- use(f) }()
			synctest.Wait()
			s.mu.Lock()
			if s.flying != 4 {
				t.Errorf("%s: %d calls in flight, expected 4", name, s.flying)
			}
			s.mu.Unlock()
			s.hold <- struct{}{}
			synctest.Wait()
			close(s.hold)
			if err := <-over; !errors.Is(err, failed) {
				t.Errorf("%s: %v", name, err)
			}
			// CopyTo and the writers have seen the first error before the next call.
			if s.calls != 4 || s.flying != 0 {
				t.Errorf("%s: %d calls, %d in flight at the end, expected 4 and 0", name, s.calls, s.flying)
			}
		})
	}
}

// A copy whose writer or source fails returns its error when no call is in flight.
func TestEndsOfCopiesFail(t *testing.T) {
	failed := errors.New("failed")
	s := &fake{data: make([]byte, 1000)}
	f := s.file(Config{ReadSize: 10, WriteSize: 10, Depth: 4, Window: 1000})
	if n, err := f.CopyTo(writer(func(p []byte) (int, error) { return 3, failed }), 0, 1000); n != 3 || !errors.Is(err, failed) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if s.flying != 0 {
		t.Errorf("%d calls are in flight", s.flying)
	}
	if err := f.CopyFrom(bytes.NewReader(make([]byte, 95)), 0, 100, nil); !errors.Is(err, io.EOF) || s.flying != 0 {
		t.Errorf("%v, %d calls in flight", err, s.flying)
	}
	for _, x := range f.parts {
		if x.buf != nil {
			t.Error("memory for copies is kept")
		}
	}
	if len(f.parts) > 4 {
		t.Errorf("%d parts are kept, expected at most 4", len(f.parts))
	}
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// Results that break a rule are refused.
func TestLiesAreRefused(t *testing.T) {
	read := func(f *File) error { _, err := f.ReadAt(make([]byte, 25), 0); return err }
	write := func(f *File) error { _, err := f.WriteAt(make([]byte, 25), 0); return err }
	for _, tt := range []struct {
		use  func(f *File) error
		lie  func(r *Result)
		want string
	}{
		{read, func(r *Result) { r.N = 11 }, "READ is broken: found 11 bytes, expected at most the 10"},
		{read, func(r *Result) { r.N, r.EOF = 0, false }, "READ is broken: found no data"},
		{write, func(r *Result) { r.N = 0 }, "WRITE is broken: found count 0"},
		{write, func(r *Result) { r.N = 11 }, "WRITE is broken: found count 11"},
		{write, func(r *Result) { r.N = -1 }, "WRITE is broken: found count -1"},
		{
			func(f *File) error { f.cfg.NoCommit.Store(true); return write(f) },
			func(r *Result) { r.Stored = false }, "WRITE is broken: found data that are not stored",
		},
	} {
		s := &fake{data: make([]byte, 100), lie: func(_ Op, _ int64, r *Result) { tt.lie(r) }}
		f := s.file(Config{ReadSize: 10, WriteSize: 10, Depth: 2, Window: 100})
		if err := tt.use(f); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("found %v, expected %q", err, tt.want)
		}
	}
	f := (&fake{}).file(Config{ReadSize: 10, WriteSize: 10, Depth: 2, Window: 100})
	_, atStart := f.ReadAt(make([]byte, 1), -1)
	_, length := f.CopyTo(io.Discard, 0, -1)
	_, end := f.WriteAt(make([]byte, 2), 1<<63-2)
	for _, err := range []error{atStart, length, end, f.CopyFrom(nil, -1, 1, nil)} {
		if err == nil {
			t.Error("a range that means nothing is accepted")
		}
	}
}

// The verifiers since the last COMMIT are all the same, or the data are lost.
func TestVerifiersThatChange(t *testing.T) {
	one, other := Verifier{1}, Verifier{2}
	var v verifiers
	for _, tt := range []struct {
		list []Verifier
		same bool
	}{
		{[]Verifier{one, one, one}, true},
		{[]Verifier{other, other}, true},
		{[]Verifier{one, other}, false},
		{[]Verifier{one, other, one}, false},
		{[]Verifier{other}, true},
	} {
		for _, x := range tt.list {
			v.add(x)
		}
		if got := v.reset(); got != tt.same {
			t.Errorf("%x: the same is %t", tt.list, got)
		}
	}
}

// Data that a restart has lost are written again; a verifier that never stays is refused.
func TestRestartsAreNoticed(t *testing.T) {
	s := &fake{}
	f := s.file(Config{ReadSize: 10, WriteSize: 10, Depth: 2, Window: 100})
	_, err := f.WriteAt(text(35), 0)
	check(t, err)
	s.mu.Lock()
	s.verf, s.data = Verifier{2}, nil
	s.mu.Unlock()
	check(t, f.Sync())
	if !bytes.Equal(s.kept, text(35)) {
		t.Errorf("%d bytes are stored of 35", len(s.kept))
	}
	if f.size != 0 || f.kept != nil {
		t.Error("stored data are kept")
	}
	s.lie = func(_ Op, _ int64, r *Result) { s.verf[1]++; s.verf[2] += s.verf[1] / 255; r.Verf = s.verf }
	_, err = f.WriteAt(text(35), 0)
	check(t, err)
	if err := f.Sync(); err == nil || !strings.Contains(err.Error(), "after each of 16 attempts") {
		t.Error(err)
	}
}

// Data that could not be written again after a restart are not reported as stored by the next Sync.
func TestRewritingFails(t *testing.T) {
	s := &fake{}
	f := s.file(Config{ReadSize: 10, WriteSize: 10, Depth: 1, Window: 100})
	_, err := f.WriteAt(text(35), 0)
	check(t, err)
	failed, n := errors.New("failed"), 0
	s.verf, s.data = Verifier{2}, nil
	s.lie = func(op Op, _ int64, r *Result) {
		if n++; n == 2 {
			r.Err = failed
		}
	}
	if err := f.Sync(); !errors.Is(err, failed) {
		t.Error(err)
	}
	check(t, f.Sync())
	if !bytes.Equal(s.kept, text(35)) {
		t.Errorf("%d bytes are stored of 35", len(s.kept))
	}
}

// A server without COMMIT stores the data by WRITE.
func TestNoCommit(t *testing.T) {
	s := &fake{commit: fmt.Errorf("none: %w", errors.ErrUnsupported)}
	var ops []Op
	s.lie = func(op Op, _ int64, _ *Result) { ops = append(ops, op) }
	f := s.file(Config{ReadSize: 10, WriteSize: 100, Depth: 1, Window: 100})
	for range 2 {
		_, err := f.WriteAt(text(5), 0)
		check(t, err)
		check(t, f.Sync())
	}
	if want := []Op{Write, Stored, Stored}; !slices.Equal(ops, want) || f.size != 0 {
		t.Errorf("found %d and %d bytes kept, expected %d and 0", ops, f.size, want)
	}
}

// A file keeps at most Config.Window bytes that are not committed.
func TestFileKeepsAWindow(t *testing.T) {
	f := (&fake{}).file(Config{ReadSize: 100, WriteSize: 100, Depth: 2, Window: 1000})
	for i, want := range []int64{400, 800, 400, 800} {
		_, err := f.WriteAt(make([]byte, 400), int64(400*i))
		check(t, err)
		if f.size != want {
			t.Errorf("after %d writes of 400 bytes %d are kept, expected %d", i+1, f.size, want)
		}
	}
	_, err := f.WriteAt(make([]byte, 200), 1600)
	check(t, err)
	if f.size != 1000 {
		t.Errorf("%d bytes are kept, expected 1000: the window is full", f.size)
	}
}

// A call that follows a commit, such as one that sets the size, does not overlap with writes.
func TestAfterRunsAlone(t *testing.T) {
	s := &fake{}
	f := s.file(Config{ReadSize: 100, WriteSize: 100, Depth: 2, Window: 1000})
	_, err := f.WriteAt(text(10), 0)
	check(t, err)
	failed := errors.New("failed")
	if err := f.After(func() error {
		if f.size != 0 || f.mu.TryLock() {
			t.Error("the data are not stored, or others may be written")
		}
		return failed
	}); !errors.Is(err, failed) {
		t.Error(err)
	}
	s.commit = failed
	_, err = f.WriteAt(text(10), 0)
	check(t, err)
	if err := f.After(func() error { t.Error("the data are not stored"); return nil }); !errors.Is(err, failed) {
		t.Error(err)
	}
}
