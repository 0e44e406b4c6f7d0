package rdmaio

import (
	"bytes"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The error that a Call gets whose reply is kept.
var tooShort = header.Error{Code: header.ErrWriteResource, Index: 1, Need: 100}

// keptCall is the Call with this XID.
func keptCall(xid uint32) []byte { return append(binary.BigEndian.AppendUint32(nil, xid), "call"...) }

// keepingConn returns a connection of a version that can keep replies, and nothing else.
func keepingConn(version uint32) *Conn {
	c := &Conn{host: host{set: new(settings), shared: new(shared)}}
	c.join(admission.Source{Local: true})
	setVersion(c, version)
	return c
}

// keepReply keeps a reply to a Call, and returns the code of the error for the peer.
func keepReply(c *Conn, xid uint32, m Message) header.ErrorCode {
	call := keptCall(xid)
	code := c.answerer.kept.keep(call, &m, tooShort).Code
	clear(call) // both are used for other messages
	clear(m.Inline)
	for _, it := range m.Items {
		clear(it.Data)
	}
	return code
}

// keptSize is the memory of a reply to keptCall.
func keptSize(bytes, items int) int64 { return int64(keptOverhead + keptItem*items + 8 + bytes) }

// R209, R310: a kept reply is a copy for the Call with the same bytes, once. Its memory is counted
// while it is kept.
func TestKeptReplyIsTakenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := keepingConn(2)
		if _, ok := c.answerer.kept.take(keptCall(1)); ok {
			t.Error("a reply before any was kept")
		}
		for xid := range uint32(3) {
			m := Message{Inline: []byte("reply"), Items: []xdr.Item{{Data: []byte("item")}}}
			if code := keepReply(c, xid, m); code != tooShort.Code {
				t.Errorf("the peer gets error %d, want %d", code, tooShort.Code)
			}
		}
		each := keptSize(9, 1)
		if got := c.shared.memory.Used(); got != 3*each || c.answerer.kept.bytes != int(3*each) {
			t.Errorf("three replies count as %d and %d bytes, want %d", got, c.answerer.kept.bytes, 3*each)
		}
		other := keptCall(1)
		other[len(other)-1]++
		if _, ok := c.answerer.kept.take(other); ok {
			t.Error("another Call with the same XID gets the reply")
		}
		m, ok := c.answerer.kept.take(keptCall(1))
		if !ok || string(m.Inline) != "reply" || len(m.Items) != 1 || string(m.Items[0].Data) != "item" {
			t.Errorf("the Call that came again gets %q, %v", m.Inline, ok)
		}
		if got := c.shared.memory.Used(); got != 2*each || c.answerer.kept.bytes != int(2*each) {
			t.Errorf("two replies count as %d and %d bytes, want %d", got, c.answerer.kept.bytes, 2*each)
		}
		if _, ok := c.answerer.kept.take(keptCall(1)); ok {
			t.Error("the reply is taken twice")
		}
		for _, xid := range []uint32{0, 2} {
			if _, ok := c.answerer.kept.take(keptCall(xid)); !ok {
				t.Errorf("the reply to Call %d is gone", xid)
			}
		}
		c.answerer.kept.end()
	})
}

// The replies of a connection take keptBytes at most: the oldest give way. One that is longer is
// not kept, nor one for which there is no memory, and the peer hears SYSTEM.
func TestKeptRepliesHaveLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := keepingConn(2)
		reply := func(size int64) Message {
			return Message{Inline: bytes.Repeat([]byte("r"), int(size-keptSize(0, 0)))}
		}
		const half = keptBytes / 2
		for _, k := range []struct {
			xid  uint32
			size int64
			code header.ErrorCode
			left string // the Calls whose replies are kept
		}{
			{1, half, tooShort.Code, "1"},
			{2, half, tooShort.Code, "12"},
			{3, keptBytes + 1, header.ErrSystem, "12"},
			{4, half, tooShort.Code, "24"},
			{5, 1000, tooShort.Code, "45"},
			{6, half - 1000, tooShort.Code, "456"},
			{7, keptBytes, tooShort.Code, "7"},
		} {
			if code := keepReply(c, k.xid, reply(k.size)); code != k.code {
				t.Errorf("a reply of %d bytes: error %d, want %d", k.size, code, k.code)
			}
			left, sum := "", 0
			for _, r := range c.answerer.kept.list {
				left += string('0' + rune(r.call[3]))
				sum += r.size
			}
			if left != k.left || sum != c.answerer.kept.bytes || int64(sum) != c.shared.memory.Used() || sum > keptBytes {
				t.Errorf("after %d: kept are %s in %d bytes, counted as %d and %d, want %s", k.xid, left, sum, c.answerer.kept.bytes, c.shared.memory.Used(), k.left)
			}
		}
		c.shared.memory.Most = keptBytes + 999
		if code := keepReply(c, 8, reply(1000)); code != header.ErrSystem || len(c.answerer.kept.list) != 1 {
			t.Errorf("without memory: error %d, %d are kept", code, len(c.answerer.kept.list))
		}
		setVersion(c, 1)
		if code := keepReply(c, 9, reply(500)); code != header.ErrSystem || c.shared.memory.Used() != keptBytes {
			t.Errorf("in version 1: error %d", code)
		}
		c.answerer.kept.end()
	})
}

// Each reply is dropped keptTime after it was kept, by one timer for all. A Call that comes at that
// time is executed again.
func TestKeptRepliesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := keepingConn(2)
		short := Message{Inline: []byte("reply")}
		keepReply(c, 1, short)
		timer := c.answerer.kept.timer
		keepReply(c, 2, short)
		if c.answerer.kept.timer != timer {
			t.Error("the second reply has a timer of its own")
		}
		c.answerer.kept.list[0].until = time.Now() // before the timer
		if _, ok := c.answerer.kept.take(keptCall(1)); ok {
			t.Fatal("a reply that is too old was sent")
		}
		c.answerer.kept.list[0].until = time.Now().Add(1)
		if _, ok := c.answerer.kept.take(keptCall(2)); !ok {
			t.Fatal("a reply is too old before its time")
		}
		c.answerer.kept.end()

		c = keepingConn(2)
		for at, want := range []int64{1, 1, 2, 1, 1, 0, 0, 1, 1, 1, 0} { // each 10 s
			switch at {
			case 0, 2, 7:
				keepReply(c, uint32(at), short)
			}
			time.Sleep(1)
			synctest.Wait()
			if n := c.shared.memory.Used() / keptSize(5, 0); n != want {
				t.Errorf("after %d s %d replies are in memory, want %d", 10*at, n, want)
			}
			time.Sleep(10*time.Second - 1)
		}
	})
}

// The end of a connection drops its replies and their timer. Handlers that answer later keep none.
func TestKeptRepliesEndWithConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := keepingConn(2)
		keepReply(c, 1, Message{Inline: []byte("reply")})
		c.answerer.kept.end()
		if c.answerer.kept.timer.Stop() {
			t.Error("the timer goes on")
		}
		if code := keepReply(c, 2, Message{Inline: []byte("reply")}); code != tooShort.Code {
			t.Errorf("a late reply gets error %d", code)
		}
		if n := c.shared.memory.Used(); n != 0 || len(c.answerer.kept.list) != 0 || c.answerer.kept.bytes != 0 {
			t.Errorf("%d replies are left, %d bytes of memory", len(c.answerer.kept.list), n)
		}
	})
}
