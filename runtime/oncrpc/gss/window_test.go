package gss

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// The window accepts the same numbers as a set of those seen and the highest one (RFC 2203
// §5.3.3.1).
func TestWindowAgainstSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{1, 2, 7, 64, 65, 128} {
		w := newWindow(size)
		seen, last, accepted := map[uint32]bool{}, int64(-1), 0
		for range 20_000 {
			seq := int64(rng.IntN(3 * size))
			if last >= 0 {
				seq += last - 2*int64(size)
			}
			if rng.IntN(100) == 0 {
				seq += int64(rng.IntN(1000))
			}
			if seq < 0 {
				continue
			}
			want := !seen[uint32(seq)] && seq > last-int64(size)
			if got := w.take(uint32(seq)); got != want {
				t.Fatalf("size %d: number %d with %d as highest: %v, want %v", size, seq, last, got, want)
			}
			if want {
				seen[uint32(seq)] = true
				last = max(last, seq)
				accepted++
			}
		}
		if accepted < 100 {
			t.Errorf("size %d: %d accepted", size, accepted)
		}
	}
	w := newWindow(8) // the whole range
	for _, seq := range []uint32{0, MaxSeq - 1, 1<<32 - 1} {
		if !w.take(seq) || w.take(seq) {
			t.Errorf("number %d", seq)
		}
	}
}

// A client has at most as many numbers in use as the server's window, and no more than that between
// the highest and the oldest. The second limit holds only as long as a message may be late.
func TestNumbersKeepToTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		n := newNumbers(4)
		taken := make([]*number, 0, 20)
		take := func(want uint32, after time.Duration) {
			t.Helper()
			start := time.Now()
			got, err := n.take(ctx)
			if err != nil || got.seq != want || time.Since(start) != after {
				t.Fatalf("%+v, %v after %v, want %d after %v", got, err, time.Since(start), want, after)
			}
			taken = append(taken, got)
		}
		for i := range uint32(4) {
			take(i+1, 0)
		}
		short, stop := context.WithTimeout(ctx, time.Minute)
		if _, err := n.take(short); !errors.Is(err, context.DeadlineExceeded) { // by the count
			t.Errorf("a fifth number: %v", err)
		}
		stop()
		go func() {
			time.Sleep(time.Second)
			n.release(taken[3])
			n.release(taken[3]) // has no effect
		}()
		take(5, time.Second) // the others are too old to be late
		n.release(taken[0])
		n.release(taken[1])
		n.release(taken[2])
		for i := range uint32(3) {
			take(6+i, 0)
		}
		n.release(taken[5])
		n.release(taken[6])
		n.release(taken[7])
		take(9, time.Second) // 5 is the oldest, and may be on its way
		n.release(taken[4])
		n.release(taken[8])

		n.next = n.last
		take(MaxSeq-2, 0)
		if _, err := n.take(ctx); !errors.Is(err, errExhausted) || n.final() != MaxSeq-1 {
			t.Errorf("after the last number: %v, final %d", err, n.final())
		}
	})
}

// A client that was stopped for longer than patience, between taking a number and sending its
// message, hands out no number that makes the server drop the message.
func TestNumbersOfStoppedClient(t *testing.T) {
	n, now := newNumbers(4), time.Now()
	first, _, _ := n.try(now)
	for range 3 {
		u, _, _ := n.try(now)
		n.release(u)
	}
	now = now.Add(time.Hour)
	if u, _, _ := n.try(now); u != nil {
		t.Fatalf("number %d after a stop, though the server may not have seen %d", u.seq, first.seq)
	}
	start := now
	for {
		u, wait, err := n.try(now)
		if err != nil || wait.late <= 0 && u == nil {
			t.Fatal(wait.late, err)
		}
		if u != nil {
			break
		}
		now = now.Add(wait.late)
	}
	if took := now.Sub(start); took < n.patience*3/4 || took > n.patience {
		t.Errorf("the next number after %v, want %v at most", took, n.patience)
	}
}
