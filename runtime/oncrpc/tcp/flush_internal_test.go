package tcp

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Messages that are queued while the goroutine that reads has records at hand start no goroutine,
// and stop one that has written all before them.
func TestMessagesAreHeldUntilFlush(t *testing.T) {
	c := bare(settings{})
	c.out.hold()
	c.out.writes = true
	c.out.queue.push(&message{Message: oncrpc.Message{Inline: make([]byte, 40)}, request: &request{}})
	if c.out.take() || c.out.writes {
		t.Error("a goroutine writes a message that is held")
	}
	c.mu.Lock()
	c.enqueue(&message{Message: oncrpc.Message{Inline: make([]byte, 40)}, request: &request{}})
	c.mu.Unlock()
	if c.out.writes || !c.out.busy() {
		t.Errorf("a message that is held: writes is %v, busy %v", c.out.writes, c.out.busy())
	}
	c.out.held = open
	if !c.out.take() || len(c.out.batch) != 2 {
		t.Errorf("%d messages leave together, want 2", len(c.out.batch))
	}
}

// Messages that a flush leaves to the goroutine that writes leave, although further ones are held.
func TestHeldMessagesDoNotKeepThoseBefore(t *testing.T) {
	c := bare(settings{})
	push := func() {
		c.out.queue.push(&message{Message: oncrpc.Message{Inline: make([]byte, 40)}, request: &request{}})
	}
	c.out.writes = true
	c.out.hold()
	push()
	push()
	c.out.flush()
	c.out.hold()
	if !c.out.take() || len(c.out.batch) != 2 {
		t.Errorf("%d messages leave after flush, want 2", len(c.out.batch))
	}
	push()
	c.out.hold()
	if c.out.take() {
		t.Error("a message leaves that was queued after hold")
	}
}

// A write that the system takes in part is finished by a goroutine, with each byte once. The memory
// of its Calls is free at once.
func TestRestOfAWriteFollows(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ours, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	theirs, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	_ = ours.(*net.TCPConn).SetWriteBuffer(1)
	_ = theirs.(*net.TCPConn).SetReadBuffer(1)
	c := bare(settings{})
	c.out.nc, c.out.vector = ours, true
	c.out.direct.open(ours)
	if !c.out.direct.ok() {
		t.Skip("this system cannot write to a socket without a wait")
	}
	var want []byte
	for round, parts := 0, 0; parts == 0; round++ {
		if round == 1000 {
			t.Fatalf("the system took all of %d bytes at once", len(want))
		}
		c.out.hold()
		var calls []*pending
		c.mu.Lock()
		for k := range 8 {
			p := c.newPending().(*pending)
			p.call = nullCall(t, 7)
			p.out.Message.Inline = bytes.Repeat([]byte{byte(round), byte(k), 3, 4}, 1500)
			want = append(appendMark(want, 6000), p.out.Message.Inline...)
			calls = append(calls, p)
			c.enqueue(&p.out)
		}
		c.mu.Unlock()
		c.out.flush()
		c.mu.Lock()
		for _, p := range calls {
			if p.out.state == writing {
				t.Error("a Call's memory is in use after flush")
			}
			clear(p.out.Message.Inline)
		}
		if c.out.writes {
			parts++
		}
		c.mu.Unlock()
		// The peer reads, and the goroutine writes the rest.
		_ = theirs.SetReadDeadline(time.Now().Add(time.Minute))
		got := make([]byte, len(want))
		if _, err := io.ReadFull(theirs, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("round %d: the peer got other bytes", round)
		}
		want = want[:0]
		c.wg.Wait()
	}
}
