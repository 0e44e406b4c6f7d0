package rdmatcp_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// R289: Redirect returns in the middle of a segment that the peer writes slowly. No byte of the
// rest is placed in the old memory. The rest is placed in the new memory, however often it is
// replaced, and the connection continues.
func TestRedirectWithinSegment(t *testing.T) {
	p, v := attack(t, device(t, rawConfig()), true)
	old := v.mr.Bytes()
	payload := bytes.Repeat([]byte{0xee}, 60_000)
	b := p.whole(segment.Header{Type: segment.Write, BufferID: v.mr.RKey()}, nil, payload)
	const step = 15_000
	p.write(b[:step])
	b = b[step:]
	for len(b) > 0 {
		time.Sleep(50 * time.Millisecond) // the reader waits for the rest
		next := make([]byte, len(old))
		quick(t, func() error { return v.mr.(verbs.Redirector).Redirect(next) })
		copy(old, bytes.Repeat([]byte{0xa5}, len(old))) // it belongs to its owner again
		n := min(step, len(b))
		p.write(b[:n])
		if b = b[n:]; len(b) == 0 {
			v.recv(t, 10, 1)
			p.put(segment.Header{}, nil, nil)
			if wc := v.next(); wc.Err() != nil {
				t.Fatalf("%v: %v", wc.Err(), v.qp.Err())
			}
			if !bytes.HasSuffix(next[:len(payload)], payload[:n/2]) {
				t.Error("the rest is not in the new memory")
			}
		} else {
			time.Sleep(20 * time.Millisecond)
		}
		if got := bytes.Count(old, []byte{0xa5}); got != len(old) {
			t.Errorf("%d bytes were placed in memory that Redirect had freed", len(old)-got)
		}
		old = next
	}
}

// R289: so it is with a Send whose Receive has several elements: each byte arrives at its place, no
// matter in which element the message is when memory is replaced.
func TestRedirectWithinReceive(t *testing.T) {
	sizes := []int{700, 20_000, 40_000}
	total := 0
	for _, n := range sizes {
		total += n
	}
	payload := make([]byte, total)
	for i := range payload {
		payload[i] = byte(i*7+i>>8) | 1 // no byte is 0
	}
	for _, at := range []int{300, 700, 5_000, 20_700, 20_701, 50_000, total - 1} {
		p, v := attack(t, device(t, rawConfig()), true)
		var list []verbs.SGE
		var memory [][2][]byte // of each element, before and after
		for _, n := range sizes {
			old := make([]byte, n)
			mr, err := v.pd.RegisterMemory(old, verbs.AccessLocalWrite)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				v.qp.Close()
				mr.Deregister()
			})
			list, memory = append(list, verbs.SGE{MR: mr, Length: n}), append(memory, [2][]byte{old, make([]byte, n)})
		}
		if _, err := v.qp.PostRecv([]verbs.RecvWR{{SGL: list}}); err != nil {
			t.Fatal(err)
		}
		b := p.whole(segment.Header{Type: segment.Send}, nil, payload)
		cut := len(b) - total - 4 + at // the checksum follows the payload
		p.write(b[:cut])
		time.Sleep(20 * time.Millisecond) // the reader waits for the rest
		for i := range list {
			quick(t, func() error { return list[i].MR.(verbs.Redirector).Redirect(memory[i][1]) })
		}
		p.write(b[cut:])
		if wc := v.next(); wc.Err() != nil || int(wc.ByteLen) != total {
			t.Fatalf("replaced after %d bytes: %+v: %v", at, wc, v.qp.Err())
		}
		var got []byte
		for _, m := range memory {
			for k, x := range m[0] {
				if m[1][k] != 0 {
					x = m[1][k]
				}
				got = append(got, x)
			}
		}
		for i := range got {
			if got[i] != payload[i] {
				t.Fatalf("replaced after %d bytes: byte %d of %d is %#x, want %#x", at, i, total, got[i], payload[i])
			}
		}
	}
}

// A Read whose target has several elements, and long Sends into several, arrive as they were, in
// pieces of any size.
func TestElementsInPieces(t *testing.T) {
	sizes := []int{1, 9_000, 30_000, 7}
	total := 0
	for _, n := range sizes {
		total += n
	}
	payload := make([]byte, total)
	for i := range payload {
		payload[i] = byte(i*11 + i>>7)
	}
	for _, piece := range []int{1_000, 9_001, 13_337} {
		p, v := attack(t, device(t, rawConfig()), true)
		var list []verbs.SGE
		for i, n := range sizes {
			list = append(list, verbs.SGE{MR: v.mr, Offset: 100_000 * i, Length: n})
		}
		if _, err := v.qp.PostRecv([]verbs.RecvWR{{SGL: list}}); err != nil {
			t.Fatal(err)
		}
		for b := p.whole(segment.Header{Type: segment.Send}, nil, payload); len(b) > 0; {
			n := min(piece, len(b))
			p.write(b[:n])
			b = b[n:]
			time.Sleep(time.Millisecond) // the reader finds no further input at hand
		}
		if wc := v.next(); wc.Err() != nil || int(wc.ByteLen) != total {
			t.Fatalf("pieces of %d bytes: %+v: %v", piece, wc, v.qp.Err())
		}
		var got []byte
		for _, e := range list {
			got = append(got, v.mr.Bytes()[e.Offset:e.Offset+e.Length]...)
		}
		if !bytes.Equal(got, payload) {
			t.Errorf("pieces of %d bytes: others than those sent arrive", piece)
		}
	}
}
