package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/perf"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// errData reports data that differs from the data sent.
var errData = errors.New("data was damaged")

// worker makes calls, one after the other: in a goroutine that waits for each, or with -async
// without one, each where the call before it is completed.
//
//	ready ──> call ──> took ──┬──> ready
//	  └──> over: the end      └──> over: an error
type worker struct {
	m     *measurement
	calls *rpc.Client
	seed  uint32
	read  bool
	opt   rpc.Options // for reads
	shard *shard

	// Of the call in progress.
	write   perf.WriteArgs
	wrote   perf.WriteRes
	get     perf.ReadArgs
	got     perf.ReadRes
	start   time.Time
	counted bool        // it began after the warm-up
	done    func(error) // with -async
}

// run makes calls until the measurement ends.
func (w *worker) run(ctx context.Context) {
	for w.ready() {
		proc, args, results, opt := w.next()
		if !w.took(ctx, w.calls.Call(ctx, proc, args, results, opt)) {
			return
		}
	}
}

// submit begins a call, whose end begins the next one. over is called after the last one.
func (w *worker) submit(ctx context.Context, over func()) {
	if w.done == nil {
		w.done = func(err error) {
			if w.took(ctx, err) {
				w.submit(ctx, over)
			} else {
				over()
			}
		}
	}
	if !w.ready() {
		over()
		return
	}
	proc, args, results, opt := w.next()
	if err := w.calls.Submit(ctx, proc, args, results, opt, w.done); err != nil {
		w.took(ctx, err)
		over()
	}
}

// ready reports whether there is a call to make, and starts its clock.
func (w *worker) ready() bool {
	if w.m.halted() {
		return false
	}
	w.counted = w.m.counts.Load()
	if w.counted && w.m.Count > 0 && w.m.begun.Add(1) > w.m.Count {
		w.m.stop(nil)
		return false
	}
	w.start = time.Now()
	return true
}

// next returns the call to make.
func (w *worker) next() (proc uint32, args, results xdr.Value, opt *rpc.Options) {
	if w.read {
		w.get = perf.ReadArgs{Count: uint32(w.m.Size), Seed: w.seed}
		return perf.ProcRead, &w.get, &w.got, &w.opt
	}
	w.write = perf.WriteArgs{Data: perf.Pattern(w.seed, int(w.m.Size))}
	if w.m.Verify {
		w.write.Check = crc32.ChecksumIEEE(w.write.Data)
	}
	return perf.ProcWrite, &w.write, &w.wrote, nil
}

// took takes the result of a call, and reports whether the worker continues.
func (w *worker) took(ctx context.Context, err error) bool {
	if err == nil {
		err = w.check()
	}
	if err != nil {
		if ctx.Err() != nil {
			err = nil // interrupted: the calls so far are reported
		}
		w.m.stop(err)
		return false
	}
	if w.m.Count > 0 {
		w.m.answered.Add(1)
	}
	if w.counted && (w.m.Count > 0 || w.m.counts.Load()) {
		w.shard.add(time.Since(w.start), int(w.m.Size))
	}
	w.seed += 7
	if w.m.Bidir {
		w.read = !w.read
	}
	return true
}

// check compares the results with the arguments.
func (w *worker) check() error {
	switch {
	case !w.read && (int(w.wrote.Count) != len(w.write.Data) || !w.wrote.Good):
		return fmt.Errorf("%w: the server received %d of %d bytes, checksum correct: %v", errData, w.wrote.Count, len(w.write.Data), w.wrote.Good)
	case w.read && len(w.got.Data) != int(w.m.Size):
		return fmt.Errorf("%w: received %d bytes, expected %d", errData, len(w.got.Data), w.m.Size)
	case w.read && w.m.Verify && !bytes.Equal(w.got.Data, perf.Pattern(w.seed, int(w.m.Size))):
		return fmt.Errorf("%w: %d bytes, pattern of seed %d", errData, len(w.got.Data), w.seed)
	}
	return nil
}

// offer allocates memory for the data of reads: a result buffer if it does not come inline, else a
// reply buffer.
func (w *worker) offer(inline int) {
	const head = 28 // size of the transport header without chunks
	if n := rpc.ReplyHead + 4 + xdr.Padded(int(w.m.Size)); head+n > inline {
		w.opt.Results = [][]byte{make([]byte, w.m.Size)}
	} else {
		w.opt.ReplyBuf = make([]byte, n)
	}
}
