package use4

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// pause waits some milliseconds.
func pause(ctx context.Context, ms int) error {
	t := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// holder has delegations, and returns those that are recalled.
type holder struct {
	ctx  context.Context
	s    *nfs4.Session // set before the first delegation
	back group

	mu      sync.Mutex
	held    map[[12]byte]*opened
	recalls int // that were answered
	sizes   int // CB_GETATTR that were answered
}

func newHolder(ctx context.Context) *holder {
	return &holder{ctx: ctx, held: map[[12]byte]*opened{}}
}

// add adds a file with a delegation.
func (h *holder) add(f *opened) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held[f.deleg.Other] = f
}

// Recall implements nfs4.Callbacks.
func (h *holder) Recall(_ context.Context, args *nfs42.CBRecallArgs) nfs42.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.held[args.StateID.Other]
	if f == nil {
		return nfs42.StatusBadStateid
	}
	delete(h.held, args.StateID.Other)
	h.recalls++
	h.back.Go(func() error {
		var c nfs4.Compound
		c.PutFH(f.handle)
		c.DelegReturn(*f.deleg)
		if err := h.s.Do(h.ctx, &c); err != nil {
			return fmt.Errorf("DELEGRETURN of %s: %w", f.name, err)
		}
		return nil
	})
	return nfs42.StatusOK
}

// claimedSize is the size in bytes that the holder says its files have.
const claimedSize = 123_456

// GetAttr implements nfs4.Callbacks.
func (h *holder) GetAttr(_ context.Context, args *nfs42.CBGetAttrArgs) (nfs42.Fattr, nfs42.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.held {
		if string(f.handle) == string(args.FH) {
			h.sizes++
			change, size := nfs42.FattrChange(1<<40), nfs42.FattrSize(claimedSize)
			a, _ := change.MarshalBinary()
			b, _ := size.MarshalBinary()
			return nfs42.Fattr{AttrMask: nfs42.Bitmap{1<<nfs42.AttrChange | 1<<nfs42.AttrSize}, AttrVals: append(a, b...)}, nfs42.StatusOK
		}
	}
	return nfs42.Fattr{}, nfs42.StatusBadhandle
}

// RecallAny implements nfs4.Callbacks.
func (h *holder) RecallAny(context.Context, *nfs42.CBRecallAnyArgs) nfs42.Status {
	return nfs42.StatusOK
}

// recalled returns the number of recalls that were answered.
func (h *holder) recalled() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.recalls
}

// asked returns the number of CB_GETATTR that were answered.
func (h *holder) asked() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sizes
}

// forget makes the number of recalls zero, and returns the former one.
func (h *holder) forget() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.recalls
	h.recalls = 0
	return n
}

// loadFiles have the data of the load.
const loadFiles, loadBytes = 2, 32 << 10

// load reads files until stop is closed, with several READs in flight. It returns the number of
// READs.
func load(ctx context.Context, s *nfs4.Session, files []*opened, stop <-chan struct{}) (int64, error) {
	var g group
	var n atomic.Int64
	for i := range 2 * len(files) {
		f, want := files[i%len(files)], random(i%len(files), loadBytes)
		g.Go(func() error {
			for {
				select {
				case <-stop:
					return nil
				default:
				}
				if err := f.read(ctx, s, 0, want); err != nil {
					return err
				}
				n.Add(1)
			}
		})
	}
	err := g.Wait()
	return n.Load(), err
}

// loaded makes the files of the load, and opens them.
func (s *Server) loaded(ctx context.Context, on *nfs4.Session, dir nfs42.Handle) (files []*opened, err error) {
	for i := range loadFiles {
		name := fmt.Sprint("load", i)
		var c nfs4.Compound
		res := guarded(&c, dir, name)
		fh := c.GetFH()
		current := nfs42.StateID{SeqID: 1}
		c.Write(&nfs42.WriteArgs{StateID: current, Data: random(i, loadBytes)})
		if err := on.Do(ctx, &c); err != nil {
			return nil, fmt.Errorf("OPEN and WRITE: %w", err)
		}
		files = append(files, &opened{name: name, handle: fh.OK.Object, id: res.OK.StateID})
	}
	return files, nil
}

// The numbers of delegations that are recalled because a program of the server's machine opens
// their files at once, and because another client does.
const byProgram, byClient = 8, 2

// Recall has delegations that the server recalls, while the same session reads.
func Recall(ctx context.Context, s *Server, minor uint32) (text string, err error) {
	remove, err := s.work(ctx, "recall")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if _, err := s.Shell(ctx, fmt.Sprintf("cd %s && for i in $(seq 0 %d); do echo one >r$i; done; echo one >w0",
		s.path("recall"), byProgram+byClient-1)); err != nil {
		return "", err
	}
	h := newHolder(ctx)
	h.s, err = s.Dial(ctx, &nfs4.Config{Minor: minor, Cred: user(), Callbacks: h})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, h.s.Close()) }()
	dir, err := s.handle(ctx, h.s, "recall")
	if err != nil {
		return "", err
	}
	files, err := s.loaded(ctx, h.s, dir)
	if err != nil {
		return "", err
	}
	stop, busy := make(chan struct{}), group{}
	reads := int64(0)
	busy.Go(func() (err error) {
		reads, err = load(ctx, h.s, files, stop)
		return err
	})
	written, err := s.recalls(ctx, h, dir)
	close(stop)
	if err = errors.Join(err, busy.Wait(), h.back.Wait()); err != nil {
		return "", err
	}
	for _, f := range files {
		if err := f.close(ctx, h.s); err != nil {
			return "", err
		}
	}
	if err := s.leftovers(ctx); err != nil {
		return "", err
	}
	s.Logf("%d READs during the recalls", reads)
	return fmt.Sprintf("%d recalls%s", byProgram+byClient, written), nil
}

// recalls has delegations, and makes the server recall them.
func (s *Server) recalls(ctx context.Context, h *holder, dir nfs42.Handle) (string, error) {
	const access = nfs42.OpenShareAccessRead | nfs42.OpenShareAccessWantReadDeleg
	var open []*opened
	for i := range byProgram + byClient {
		f, err := delegated(ctx, h.s, dir, fmt.Sprint("r", i), access)
		if err != nil {
			return "", err
		}
		h.add(f)
		open = append(open, f)
	}
	written, err := s.writeDelegations(ctx, h, dir)
	if err != nil {
		return "", err
	}
	script := fmt.Sprintf("cd %s && for i in $(seq 0 %d); do echo two >>r$i & done; wait; cat r*", s.path("recall"), byProgram-1)
	out, err := s.Shell(ctx, script)
	if err != nil {
		return "", err
	}
	if n, m := strings.Count(out, "two"), h.recalled(); n != byProgram || m != byProgram {
		return "", fmt.Errorf("%d programs have written, %d recalls, expected %d", n, m, byProgram)
	}
	out, err = s.mounted(ctx, fmt.Sprintf("for i in $(seq %d %d); do echo two >>recall/r$i & done; wait; cat recall/r*", byProgram, byProgram+byClient-1))
	if err != nil {
		return "", err
	}
	if n, m := strings.Count(out, "two"), h.recalled(); n != byProgram+byClient || m != byProgram+byClient {
		return "", fmt.Errorf("%d programs have written, %d recalls, expected %d", n, m, byProgram+byClient)
	}
	for _, f := range open {
		if err := f.read(ctx, h.s, 0, []byte("one\ntwo\n")); err != nil {
			return "", err
		}
		f.deleg = nil // it was returned
		if err := f.close(ctx, h.s); err != nil {
			return "", err
		}
	}
	return written, nil
}

// mounted runs a script in a mount of the kernel's client, on the server's machine. It mounts by
// the machine's address, as another machine would.
func (s *Server) mounted(ctx context.Context, script string) (string, error) {
	return s.Shell(ctx, `mkdir -p /mnt/use4 && mount.nfs 10.0.2.15:/`+s.Dir+` /mnt/use4 -o vers=4.2,proto=tcp,retry=0 && cd /mnt/use4 || exit 1
(`+script+`); code=$?
cd / && umount /mnt/use4; exit $code`)
}

// writeDelegations has a delegation to write, if the server gives one. If another client asks for
// the size, the server asks the holder. If it opens the file, the server recalls.
func (s *Server) writeDelegations(ctx context.Context, h *holder, dir nfs42.Handle) (string, error) {
	f, err := open(ctx, h.s, dir, "w0", nfs42.OpenShareAccessBoth|nfs42.OpenShareAccessWantWriteDeleg)
	if err != nil {
		return "", err
	}
	if !f.writes {
		return ", no delegation to write", f.close(ctx, h.s)
	}
	h.add(f)
	before := h.recalled()
	size, err := s.mounted(ctx, "stat -c %s recall/w0")
	if err != nil {
		return "", err
	}
	// Linux 6.12 waits a short time for the answer, and recalls after that.
	if h.asked() == 0 || strings.TrimSpace(size) != fmt.Sprint(claimedSize) && h.recalled() == before {
		return "", fmt.Errorf("another client sees %s bytes, expected the %d of an answer to CB_GETATTR, or a recall", strings.TrimSpace(size), claimedSize)
	}
	if _, err := s.mounted(ctx, "cat recall/w0"); err != nil {
		return "", err
	}
	if n := h.forget(); n != before+1 {
		return "", fmt.Errorf("a delegation to write was recalled %d times", n-before)
	}
	f.deleg = nil // it was returned
	return ", a delegation to write, CB_GETATTR", f.close(ctx, h.s)
}

// leftovers returns an error if the server has state of clients that were closed.
func (s *Server) leftovers(ctx context.Context) error {
	out, err := s.Shell(ctx, "cat /proc/fs/nfsd/clients/*/states 2>/dev/null; true")
	if err == nil && strings.TrimSpace(out) != "" {
		err = fmt.Errorf("the server has the state:\n%s", out)
	}
	return err
}
