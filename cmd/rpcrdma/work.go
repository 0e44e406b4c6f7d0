package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/perf"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// errData reports data that differs from the data sent.
var errData = errors.New("data was damaged")

// call makes one call and checks its result.
func (w *worker) call(ctx context.Context) error {
	if w.read {
		return w.readCall(ctx)
	}
	data := perf.Pattern(w.seed, int(w.m.Size))
	args := perf.WriteArgs{Data: data}
	if w.m.Verify {
		args.Check = crc32.ChecksumIEEE(data)
	}
	var res perf.WriteRes
	err := w.calls.Call(ctx, perf.ProcWrite, &args, &res, nil)
	switch {
	case err != nil:
		return err
	case int(res.Count) != len(data) || !res.Good:
		return fmt.Errorf("%w: the server received %d of %d bytes, checksum correct: %v", errData, res.Count, len(data), res.Good)
	}
	return nil
}

func (w *worker) readCall(ctx context.Context) error {
	args := perf.ReadArgs{Count: uint32(w.m.Size), Seed: w.seed}
	var res perf.ReadRes
	err := w.calls.Call(ctx, perf.ProcRead, &args, &res, &w.opt)
	switch {
	case err != nil:
		return err
	case len(res.Data) != int(w.m.Size):
		return fmt.Errorf("%w: received %d bytes, expected %d", errData, len(res.Data), w.m.Size)
	case w.m.Verify && !bytes.Equal(res.Data, perf.Pattern(w.seed, int(w.m.Size))):
		return fmt.Errorf("%w: %d bytes, pattern of seed %d", errData, len(res.Data), w.seed)
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
