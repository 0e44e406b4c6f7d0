package use4

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/client4"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// The number of cuts, of workers, and of the files that each worker makes.
const cuts, workers, rounds = 5, 3, 40

// Cut makes, renames and removes files, copies others, and has delegations that are recalled, while
// connections are cut.
func Cut(ctx context.Context, s *Server, minor uint32) (text string, err error) {
	remove, err := s.work(ctx, "cut")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if _, err := s.Shell(ctx, "cd "+s.path("cut")+" && for i in 0 1 2 3; do echo one >r$i; done"); err != nil {
		return "", err
	}
	h := newHolder(ctx)
	h.s, err = s.Dial(ctx, &nfs4.Config{Minor: minor, Cred: user(), Callbacks: h})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, h.s.Close()) }()
	dir, err := s.handle(ctx, h.s, "cut")
	if err != nil {
		return "", err
	}
	var open []*opened
	for i := range 4 {
		f, err := delegated(ctx, h.s, dir, fmt.Sprint("r", i), nfs42.OpenShareAccessRead|nfs42.OpenShareAccessWantReadDeleg)
		if err != nil {
			return "", err
		}
		h.add(f)
		open = append(open, f)
	}
	c, err := s.Client(ctx, &client4.Config{Depth: 8, Session: &nfs4.Config{Minor: minor, Cred: user()}})
	if err != nil {
		return "", err
	}
	// Close returns the delegations that c holds.
	if err := errors.Join(s.cutting(ctx, h.s, c, dir), c.Close()); err != nil {
		return "", err
	}
	if err := s.cutRecall(ctx, h); err != nil {
		return "", err
	}
	for _, f := range open {
		f.deleg = nil // it was returned
		if err := f.close(ctx, h.s); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d cuts, %d files made once, 4 recalls", cuts+1, workers*rounds), s.leftovers(ctx)
}

// cutting makes files and copies others while connections are cut.
func (s *Server) cutting(ctx context.Context, on *nfs4.Session, c *client4.Client, dir nfs42.Handle) error {
	var g group
	var done atomic.Int64
	over := make(chan struct{})
	cut := make(chan struct{}, cuts+1) // a cut may take longer than the files between two of them
	step := func() {
		if done.Add(1)%(workers*rounds/(cuts+1)) == 0 {
			cut <- struct{}{}
		}
	}
	var makers group
	for w := range workers {
		makers.Go(func() error {
			for i := range rounds {
				if err := makeOnce(ctx, on, dir, fmt.Sprintf("once-%d-%d", w, i)); err != nil {
					return err
				}
				step()
			}
			return nil
		})
	}
	g.Go(func() error { return s.copying(ctx, c, over) })
	var cutter group
	cutter.Go(func() error {
		n := 0
		for range cut {
			if n++; n <= cuts {
				if err := s.Cut(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	})
	err := makers.Wait()
	close(cut)
	err = errors.Join(err, cutter.Wait())
	close(over)
	return errors.Join(err, g.Wait())
}

// makeOnce makes a file, renames, closes and removes it. A call that the server executes twice is
// refused the second time.
func makeOnce(ctx context.Context, on *nfs4.Session, dir nfs42.Handle, name string) error {
	var c nfs4.Compound
	made := guarded(&c, dir, name)
	fh := c.GetFH()
	if err := on.Do(ctx, &c); err != nil {
		return fmt.Errorf("OPEN that makes %s: %w", name, err)
	}
	file, id := fh.OK.Object, made.OK.StateID
	c.Reset()
	c.PutFH(dir)
	c.SaveFH()
	c.Rename(name, name+"-moved")
	if err := on.Do(ctx, &c); err != nil {
		return fmt.Errorf("RENAME %s: %w", name, err)
	}
	c.Reset()
	c.PutFH(file)
	c.Close(id)
	c.PutFH(dir)
	c.Remove(name + "-moved")
	if err := on.Do(ctx, &c); err != nil {
		return fmt.Errorf("CLOSE and REMOVE %s: %w", name, err)
	}
	return nil
}

// copying writes a file and reads it back until over is closed.
func (s *Server) copying(ctx context.Context, c *client4.Client, over <-chan struct{}) error {
	data := random(5, 1<<20)
	for i := 0; ; i++ {
		name := s.name("cut", fmt.Sprint("copy", i))
		if err := copyOnce(ctx, c, name, data); err != nil {
			return fmt.Errorf("copy %d: %w", i, err)
		}
		select {
		case <-over:
			return nil
		default:
		}
	}
}

func copyOnce(ctx context.Context, c *client4.Client, name string, data []byte) error {
	f, err := c.Create(ctx, name, 0o600)
	if err != nil {
		return err
	}
	if err := f.CopyFrom(bytes.NewReader(data), 0, int64(len(data)), nil); err != nil {
		return errors.Join(err, f.Close())
	}
	got := make([]byte, len(data))
	_, err = f.ReadAt(got, 0)
	if err == nil && !bytes.Equal(got, data) {
		err = errors.New("other bytes were read than written")
	}
	return errors.Join(err, f.Close(), c.Remove(ctx, name))
}

// recallLimit is the longest time that a recall takes. A server that gives up recalls waits for its
// lease, 90 s.
const recallLimit = time.Minute

var errRecall = fmt.Errorf("delegations were not returned within %v", recallLimit)

// cutRecall cuts the connections, and has the server recall delegations over the next one. It does
// not cut them during a recall: over TLS such a recall did not succeed within a minute, for a
// reason that was not found.
func (s *Server) cutRecall(ctx context.Context, h *holder) error {
	ctx, cancel := context.WithTimeoutCause(ctx, recallLimit, errRecall)
	defer cancel()
	if err := s.Cut(ctx); err != nil {
		return err
	}
	if _, err := s.handle(ctx, h.s, "cut"); err != nil { // on the next connection
		return err
	}
	out, err := s.Shell(ctx, "cd "+s.path("cut")+" && for i in 0 1 2 3; do echo two >>r$i & done; wait; cat r*")
	if err := errors.Join(err, h.back.Wait()); err != nil {
		info, failed := s.Shell(context.WithoutCancel(ctx), "cat /proc/fs/nfsd/clients/*/info")
		return errors.Join(err, failed, fmt.Errorf("the server's clients:\n%s", info))
	}
	if n := strings.Count(out, "two"); n != 4 || h.recalled() < 4 {
		return fmt.Errorf("%d programs have written, %d recalls, expected 4", n, h.recalled())
	}
	return nil
}
