package client4

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// A file that is open when the server restarts is opened again, and its data are written again.
func TestOpenFileOutlivesARestart(t *testing.T) {
	s := &fake{}
	c := s.client(t, Config{})
	f, err := c.Create(t.Context(), "x", 0o600)
	check(t, err)
	data := bytes.Repeat([]byte("data"), 1000)
	_, err = f.WriteAt(data, 0)
	check(t, err)
	s.restart()
	check(t, f.Sync())
	want := []string{"complete", "open CLAIM_NULL", "open CLAIM_PREVIOUS", "complete"}
	s.set(func() {
		if !bytes.Equal(s.stored, data) || !slices.Equal(s.log, want) {
			t.Errorf("%d bytes stored of %d, %v", len(s.stored), len(data), s.log)
		}
	})
	check(t, f.Close())
	s.set(func() {
		if len(s.opens) != 0 {
			t.Errorf("%d files are open", len(s.opens))
		}
	})
}

// After the lease has expired without a restart, a file is opened by its handle, and the server is
// not invited to give a delegation, which the client would not return.
func TestReclaimWithoutGrace(t *testing.T) {
	for _, refusal := range []nfs42.Status{nfs42.StatusNoGrace, nfs42.StatusReclaimBad} {
		s := &fake{}
		c := s.client(t, Config{})
		f, err := c.Create(t.Context(), "x", 0o600)
		check(t, err)
		for range 2 { // a file is opened once after each loss
			s.restart()
			s.set(func() {
				s.log = nil
				s.status = func(op *nfs42.ArgOp) nfs42.Status {
					if op.Op == nfs42.OpOpen && op.Open.Claim.Claim == nfs42.OpenClaimTypePrevious {
						return refusal
					}
					return nfs42.StatusOK
				}
			})
			_, err = f.WriteAt([]byte("data"), 0)
			check(t, err)
			s.set(func() {
				for _, o := range s.opens {
					if o.Claim.Claim != nfs42.OpenClaimTypeFH || o.ShareAccess&nfs42.OpenShareAccessWantNoDeleg == 0 {
						t.Errorf("opened with %v, access %x", o.Claim.Claim, o.ShareAccess)
					}
				}
				if want := []string{"complete", "open CLAIM_FH"}; !slices.Equal(s.log, want) {
					t.Errorf("%v: %q, expected %q", refusal, s.log, want)
				}
			})
		}
		check(t, f.Close())
	}
}

// A session that is lost while files are reclaimed does not fail the file.
func TestSessionLostWhileReclaiming(t *testing.T) {
	s := &fake{}
	c := s.client(t, Config{})
	f, err := c.Create(t.Context(), "x", 0o600)
	check(t, err)
	s.restart()
	s.set(func() {
		n := 0
		s.status = func(op *nfs42.ArgOp) nfs42.Status {
			if op.Op == nfs42.OpSequence && s.sessions[op.Sequence.SessionID] {
				if n++; n == 1 { // the reclaim
					return nfs42.StatusSeqMisordered
				}
			}
			return nfs42.StatusOK
		}
	})
	_, err = f.WriteAt([]byte("data"), 0)
	check(t, err)
	check(t, f.Close())
}

// Data that are lost with the server, and that could not be written again, are not reported as
// stored by the next Sync.
func TestRewritingFails(t *testing.T) {
	s := &fake{}
	c := s.client(t, Config{MaxIO: 1000, Depth: 1})
	f, err := c.Create(t.Context(), "x", 0o600)
	check(t, err)
	data := bytes.Repeat([]byte("data"), 1000)
	_, err = f.WriteAt(data, 0)
	check(t, err)
	s.restart()
	writes := 0
	s.set(func() {
		s.status = func(op *nfs42.ArgOp) nfs42.Status {
			if op.Op == nfs42.OpWrite {
				if writes++; writes == 2 {
					return nfs42.StatusNospc
				}
			}
			return nfs42.StatusOK
		}
	})
	if err := f.Sync(); err == nil {
		t.Error("the data were stored")
	}
	check(t, f.Sync())
	s.set(func() {
		if !bytes.Equal(s.stored, data) {
			t.Errorf("%d bytes stored of %d", len(s.stored), len(data))
		}
	})
	check(t, f.Close())
}

// A size that SetAttr sets also comes after the data that were written before.
func TestSizeAfterRestart(t *testing.T) {
	s := &fake{}
	c := s.client(t, Config{})
	f, err := c.Create(t.Context(), "x", 0o600)
	check(t, err)
	_, err = f.WriteAt([]byte("data"), 0)
	check(t, err)
	check(t, f.SetAttr(SetSize(0)))
	s.restart()
	check(t, f.Close())
	s.set(func() {
		if len(s.cached) != 0 {
			t.Errorf("%q came back", s.cached)
		}
	})
}

// A count of WRITE that is 0, or more than was sent, is refused.
func TestLiesAboutWrittenBytes(t *testing.T) {
	for _, count := range []nfs42.Count{0, 5, 1 << 31} {
		s := &fake{}
		c := s.client(t, Config{})
		f, err := c.OpenFile(t.Context(), "x", os.O_RDWR, 0)
		check(t, err)
		s.set(func() {
			s.change = func(res *nfs42.ResOp) {
				if res.Op == nfs42.OpWrite {
					res.Write.OK.Count = count
				}
			}
		})
		var broken *nfs4.ProtocolError
		if _, err := f.WriteAt([]byte("data"), 0); !errors.As(err, &broken) {
			t.Errorf("count %d: %v", count, err)
		}
		_ = f.Close()
	}
}

// Ranges and settings that mean nothing are errors.
func TestNonsenseIsAnError(t *testing.T) {
	s := &fake{}
	c := s.client(t, Config{})
	f, err := c.Create(t.Context(), "x", 0o600)
	check(t, err)
	if n, err := f.CopyTo(new(bytes.Buffer), 0, -1); n != 0 || err == nil {
		t.Error(n, err)
	}
	check(t, f.Close())
	for _, cfg := range []Config{{Depth: -1}, {MaxIO: -1}, {Window: -1}} {
		if c, _, err := Dial(t.Context(), "127.0.0.1:/x", &cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
			_ = c.Close()
		}
	}
}
