package nfs

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// ErrLost means that a server lost writes before they were committed, each time that they were
// repeated.
var ErrLost = errors.New("nfs: the server lost writes before COMMIT, three times")

// Upload writes data to the start of a file, in calls of size bytes with depth of them in flight,
// and commits it. If the server loses writes in between, Upload repeats them.
func Upload(ctx context.Context, c *Client, file nfs3.Handle, data []byte, size, depth int) error {
	for range 3 {
		var mu sync.Mutex
		seen := make(map[nfs3.WriteVerf]bool)
		err := blocks(ctx, len(data), size, depth, func(ctx context.Context, from, to int) error {
			for from < to {
				res, err := c.Write(ctx, file, uint64(from), data[from:to], nfs3.StableHowUnstable)
				if err != nil {
					return err
				}
				from += int(res.Count)
				mu.Lock()
				seen[res.Verf] = true
				mu.Unlock()
			}
			return nil
		})
		if err != nil {
			return err
		}
		verf, err := c.Commit(ctx, file)
		if err != nil {
			return err
		}
		seen[verf] = true
		if len(seen) == 1 { // RFC 1813 §4.8: the server has all of it
			return nil
		}
	}
	return ErrLost
}

// Download fills buf from the start of a file, in calls of size bytes with depth of them in flight.
func Download(ctx context.Context, c *Client, file nfs3.Handle, buf []byte, size, depth int) error {
	return blocks(ctx, len(buf), size, depth, func(ctx context.Context, from, to int) error {
		for from < to {
			n, eof, err := c.Read(ctx, file, uint64(from), buf[from:to])
			if err != nil {
				return err
			}
			if from += n; n == 0 || eof && from < to {
				return fmt.Errorf("nfs: the file ends at byte %d, expected %d", from, len(buf))
			}
		}
		return nil
	})
}

// blocks calls f for each block of size bytes, depth at a time. It returns the first error.
func blocks(ctx context.Context, total, size, depth int, f func(ctx context.Context, from, to int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range depth {
		wg.Go(func() {
			for from := range next {
				if err := f(ctx, from, min(from+size, total)); err != nil {
					cancel(err)
				}
			}
		})
	}
	for from := 0; from < total && ctx.Err() == nil; from += size {
		select {
		case next <- from:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}
