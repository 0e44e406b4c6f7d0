package tcp

import (
	"errors"
	"math"
	"os"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/deadpeer"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// recordBytes is the largest size of a TLS record, in bytes of plaintext (RFC 8446 §5.1).
const recordBytes = 16 << 10

// writeTLS writes the batch over TLS. Records are made of batchBytes, from the memory of callers
// and handlers, and then written together. If a Call is cancelled during that time, the rest is
// encrypted at once, and the callers get their memory back.
func (w *writer) writeTLS() error {
	for left := w.bufs; len(left) > 0; {
		w.tls.Hold()
		var err error
		for most := batchBytes; ; most = math.MaxInt {
			if left, err = w.encrypt(left, most); err != nil {
				return err
			}
			if len(left) == 0 {
				w.returnCalls()
			}
			w.setWriteDeadline()
			if err = w.tls.Flush(); err == nil {
				break
			}
			if !errors.Is(err, os.ErrDeadlineExceeded) || !w.hurried() {
				return err
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clearWriteDeadline() // it would apply to what the goroutine that reads sends for TLS
	return nil
}

// encrypt makes records of up to most bytes, and returns the rest. It waits for no peer. Short
// slices share a record.
func (w *writer) encrypt(bufs [][]byte, most int) ([][]byte, error) {
	w.flat = w.flat[:0]
	flush := func() error {
		_, err := w.tls.Write(w.flat)
		w.flat = w.flat[:0]
		return err
	}
	done := 0
	for rest := bufs; done < most && len(rest) > 0; rest = rest[1:] {
		b := rest[0]
		b = b[:min(len(b), most-done)]
		done += len(b)
		short := len(b) <= recordBytes/4
		if len(w.flat) > 0 && (!short || len(w.flat)+len(b) > recordBytes) {
			if err := flush(); err != nil {
				return bufs, err
			}
		}
		if short {
			w.flat = append(w.flat, b...)
		} else if _, err := w.tls.Write(b); err != nil {
			return bufs, err
		}
	}
	if len(w.flat) > 0 {
		if err := flush(); err != nil {
			return bufs, err
		}
	}
	return advance(bufs, done), nil
}

// farewellTime is the longest time for the last write to a peer that may not read.
const farewellTime = 200 * time.Millisecond

// sayGoodbye closes the stream when the batch in progress is written, and announces that to the
// peer (RFC 9289 §5.1.1), which cannot distinguish it from an attack otherwise. mu must be held.
func (w *writer) sayGoodbye() {
	w.farewell = time.Now().Add(farewellTime)
	_ = w.nc.SetWriteDeadline(w.farewell)
	w.wg.Add(1) // the goroutine that reads still runs
	go func() {
		defer w.wg.Done()
		w.mu.Lock()
		for w.writes {
			w.wake.Wait()
		}
		broken := w.broken != nil
		w.mu.Unlock()
		if broken {
			_ = w.nc.Close()
			return
		}
		w.tls.Goodbye(farewellTime)
	}()
}

// hangUp closes the stream. With reset the peer learns that its answers are not read. mu must be
// held.
func (w *writer) hangUp(why error, reset bool) {
	switch {
	case reset:
		deadpeer.Abort(w.nc)
	case w.tls != nil && errors.Is(why, oncrpc.ErrClosed):
		w.sayGoodbye()
		return
	}
	_ = w.nc.Close()
}
