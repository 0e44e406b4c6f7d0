package faults

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

var (
	fsxOps  = flag.Int("fsx.ops", 10_000, "`operations` of TestFileEqualsItsModel over each provider")
	fsxSeed = flag.Uint64("fsx.seed", 1, "`seed` of TestFileEqualsItsModel")
)

// store is a file whose server executes requests and does not know the model.
type store struct{ data []byte }

const (
	opRead = iota
	opWrite
	opTruncate
)

// ServeRPC takes: XID to credentials as in callHeader, operation, offset, length, and where to cut
// the result; then the data as counted opaques until all of it is there.
func (s *store) ServeRPC(r *rdmaio.Request) {
	m := r.Message
	word := func(at int) int { return int(binary.BigEndian.Uint32(m[at:])) }
	op, off, n, cut := word(40), word(44), word(48), word(52)
	e := rpctest.ReplyHeader(uint32(word(0)))
	grow := func(to int) {
		if to > len(s.data) {
			s.data = append(s.data, make([]byte, to-len(s.data))...)
		}
	}
	switch op {
	case opWrite:
		grow(off + n)
		for at, to := 56, off; to < off+n; {
			k := word(at)
			to += copy(s.data[to:], m[at+4:][:k])
			at += 4 + (k+3)&^3
		}
	case opTruncate:
		grow(n)
		s.data = s.data[:n]
	}
	e.Words(uint32(len(s.data)))
	if op == opRead {
		part := s.data[min(off, len(s.data)):min(off+n, len(s.data))]
		e.Reduce = true
		cut = min(cut, len(part))
		for _, p := range [][]byte{part[:cut], part[cut:]} {
			// an empty item leaves its write chunk unused (R77)
			if e.Opaque("item", p); len(p) == 0 {
				e.Items = append(e.Items, xdr.Item{Position: uint64(len(e.Buf) + e.Removed), Inline: len(e.Buf)})
			}
		}
	}
	r.Reply(e.Message(), nil)
}

// fsx is one run: a connection, the file, and a model of the file.
type fsx struct {
	t     *testing.T
	r     *rand.Rand
	c     *rdmaio.Conn
	w     *rdmaiotest.World
	model []byte
	xid   uint32
	buf   []byte // for results and replies, reused
	noise []byte // the data written
	did   [7]int // counts: four kinds of reads, writes, truncates, and connections with chunks
}

const mostFile = 1<<20 + 3

// size returns a random number of bytes. Small ones are as likely as large ones, and edges are
// frequent.
func (f *fsx) size(most int) int {
	n := f.r.IntN(1 << f.r.IntN(21))
	if f.r.IntN(4) == 0 {
		n = 1<<f.r.IntN(21) + f.r.IntN(7) - 3
	}
	if f.r.IntN(200) == 0 {
		n = most
	}
	return max(0, min(n, most))
}

func (f *fsx) call(op, off, n, cut int) *rpctest.Encoder {
	f.xid++
	e := rpctest.CallHeader(f.xid, 0)
	e.Words(uint32(op), uint32(off), uint32(n), uint32(cut))
	return e
}

func (f *fsx) do(call *rdmaio.Call) *rdmaio.Reply {
	f.t.Helper()
	reply, err := f.c.Call(context.Background(), call)
	if err != nil {
		f.t.Fatalf("operation %d: %v", f.xid, err)
	}
	if n, _ := f.w.LiveKeys("client"); n != 0 {
		f.t.Fatalf("operation %d: %d keys live when its caller has its memory back", f.xid, n)
	}
	if got := int(binary.BigEndian.Uint32(reply.Message[24:])); got != len(f.model) {
		f.t.Fatalf("operation %d: the file has %d bytes, want %d", f.xid, got, len(f.model))
	}
	return reply
}

// write writes in up to four items, some of them eligible.
func (f *fsx) write() {
	n := f.size(mostFile)
	off := f.r.IntN(min(len(f.model)+4096, mostFile-n) + 1)
	data := f.buf[:n]
	from := f.r.IntN(len(f.noise) - n)
	copy(data, f.noise[from:])
	if end := off + n; end > len(f.model) {
		f.model = append(f.model, make([]byte, end-len(f.model))...)
	}
	copy(f.model[off:], data)
	e := f.call(opWrite, off, n, 0)
	for parts := 1 + f.r.IntN(4); n > 0; parts-- {
		k := n
		if parts > 1 {
			k = 1 + f.r.IntN(n)
		}
		e.Reduce = f.r.IntN(4) > 0
		e.Opaque("item", data[:k])
		data, n = data[k:], n-k
	}
	call := &rdmaio.Call{Message: e.Message()}
	if f.r.IntN(8) == 0 {
		call.ReplyBuf = make([]byte, 4096) // not needed
	}
	f.do(call)
}

// read reads into up to two Results, or into the reply, or in part into each.
func (f *fsx) read() {
	n := f.size(mostFile)
	off := f.r.IntN(len(f.model) + 100)
	want := f.model[min(off, len(f.model)):min(off+n, len(f.model))]
	cut := f.r.IntN(n + 1)
	clear(f.buf)
	call := &rdmaio.Call{Message: f.call(opRead, off, n, cut).Message()}
	kind := f.r.IntN(4)
	switch kind {
	case 0: // all in the reply
		call.ReplyBuf = f.buf[:n+64]
	case 1: // both in Results
		call.Results = [][]byte{f.buf[:cut], f.buf[cut:n]}
		call.ReplyBuf = make([]byte, 64)
	case 2: // the first in Results
		call.Results = [][]byte{f.buf[:cut]}
		call.ReplyBuf = f.buf[cut : n+128]
	case 3: // the second in Results, with a chunk that is not needed
		call.Results = [][]byte{nil, f.buf[:n-cut], make([]byte, 10)}
		call.ReplyBuf = make([]byte, cut+128)
	}
	f.did[kind]++
	reply := f.do(call)
	d := xdr.NewDecoder(reply.Message, &xdr.DecoderOptions{Alias: true})
	d.Next(28)
	d.ReinsertInOrder([]xdr.Site{"item"}, reply.Items)
	first, err := rpctest.TakeData(d, "item")
	var second []byte
	if err == nil {
		second, err = rpctest.TakeData(d, "item")
	}
	if err == nil {
		err = d.Done()
	}
	if got := append(bytes.Clone(first), second...); err != nil || !bytes.Equal(got, want) {
		f.t.Fatalf("operation %d: read of %d at %d by %d, cut at %d: %d bytes, %v", f.xid, n, off, kind, cut, len(got), err)
	}
}

func (f *fsx) truncate() {
	n := f.size(mostFile)
	if n > len(f.model) {
		f.model = append(f.model, make([]byte, n-len(f.model))...)
	}
	f.model = f.model[:n]
	f.do(&rdmaio.Call{Message: f.call(opTruncate, 0, n, 0).Message()})
}

// Random reads, writes, extensions and truncations of a file, of 0 bytes to 1 MiB and 3, in every
// shape that a Call and its reply can have: inline, in chunks of one segment or many, long, and
// mixed. After each the file equals the model, to the byte, and no key is valid (R13, R46, R54,
// R64, R75, R88, R95, R100, R102, R285). Runs over each provider, and from time to time with other
// thresholds and segments.
func TestFileEqualsItsModel(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) { fileIntegrity(t, w, *fsxOps) })
}

// The same in version 2, where messages also go in several Sends (R150, R153, R163, R166).
func TestFileEqualsItsModelInVersion2(t *testing.T) {
	rdmaiotest.Each2(t, func(t *testing.T, w *rdmaiotest.World) { fileIntegrity(t, w, *fsxOps/2) })
}

// The same with completions that come late, at both ends.
func TestFileEqualsItsModelWithLateCompletions(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		inj := fault.New(fault.Config{Seed: *fsxSeed, Rate: map[fault.Kind]float64{fault.DelayCompletion: 0.2}})
		w.Client, w.Server = inj.Device(w.Client), inj.Device(w.Server)
		fileIntegrity(t, w, min(*fsxOps, 1000))
		if n := inj.Count(fault.DelayCompletion).Fired; n < 100 {
			t.Errorf("%d completions came late: the test proves nothing", n)
		}
	})
}

func fileIntegrity(t *testing.T, w *rdmaiotest.World, ops int) {
	s := &store{}
	r := rand.New(rand.NewPCG(*fsxSeed, 0))
	if testing.Short() {
		ops = min(ops/2, 1000)
	}
	f := &fsx{t: t, r: r, w: w, buf: make([]byte, mostFile+256), noise: rdmaiotest.Pattern(2*mostFile, *fsxSeed)}
	w.Serve(s, &rdmaio.Config{InlineSend: 8192, InlineRecv: 8192})
	for done, runs := 0, 20; done < ops; {
		inlineSize := 1024 << r.IntN(4)
		cfg := &rdmaio.Config{
			InlineSend: inlineSize, InlineRecv: inlineSize, SegmentSize: []int{0, 1 << 20, 100_000, 65_537, 33_333}[r.IntN(5)],
			RemoteInvalidate: r.IntN(3) - 1,
		}
		if w.Versions != nil {
			cfg.Continue = []int{16 << 10, -1, 9000, 300_000}[r.IntN(4)]
		}
		c, err := rdmaio.Dial(context.Background(), w.Client, w.Addr, w.Config(cfg))
		if err != nil {
			t.Fatal(err)
		}
		f.c = c
		for range max(1, ops/runs) {
			switch n := r.IntN(20); {
			case n < 9:
				f.read()
			case n < 18:
				f.write()
				f.did[4]++
			default:
				f.truncate()
				f.did[5]++
			}
			if done++; done%100 == 0 && !bytes.Equal(s.data, f.model) {
				t.Fatalf("operation %d: the server has another file", f.xid)
			}
		}
		rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool {
			return st.FaultyMessages == 0 && st.ErrorMessages == 0 && st.InFlight == 0
		})
		f.did[6] += int(min(c.Stats().Registrations, 1))
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if !bytes.Equal(s.data, f.model) {
		t.Error("the server has another file")
	}
	for kind, n := range f.did {
		if n == 0 {
			t.Errorf("kind %d never happened: %v", kind, f.did)
		}
	}
}
