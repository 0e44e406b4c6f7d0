package tcp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// passedOver is the error of a record over a limit that was passed over. The stream continues after
// the record, so only the Call in it, or the Call that it answers, fails.
type passedOver struct{ why error }

func (p *passedOver) Error() string { return p.why.Error() }

func (p *passedOver) Unwrap() error { return p.why }

// Limits of a record that is passed over. A longer or slower one closes the connection.
const (
	mostPassed = 1 << 30 // bytes, marks included
	passTimes  = 10      // Config.RecordTimeout
	headSize   = 64      // bytes of the record that are read
)

// passOver reads the rest of a record that is over a limit, and returns its first bytes with a
// *passedOver. It takes no memory for the others, and gives back what the record had. word is the
// mark of the fragment that follows.
//
//	next ── over a limit ──> passOver ──┬── *passedOver: this was the last fragment
//	                                    └── another error: no RPC message, mostPassed, passTimes
func (rd *records) passOver(buf []byte, word uint32, over error) ([]byte, error) {
	first := word
	head := append(make([]byte, 0, 512), buf[:min(len(buf), headSize)]...)
	total := int64(len(buf))
	keep(buf)
	rd.drop()
	for end := time.Now().Add(passTimes * rd.timeout); ; {
		n := int64(word &^ lastFragment)
		if total += markSize + n; total > mostPassed {
			return head, fmt.Errorf("%w: %d bytes or more, too many to be passed over", over, total)
		}
		for { // also for an empty fragment, or those could go on without end
			if rd.timeout > 0 && time.Now().After(end) {
				return head, fmt.Errorf("%w: a record over its limit took longer than %v, ten times Config.RecordTimeout: %w", ErrTimeout, passTimes*rd.timeout, over)
			}
			if n == 0 {
				break
			}
			got, err := rd.skip(&head, n)
			if n -= int64(got); err != nil {
				return head, fmt.Errorf("fragment, %d bytes before its end: %w", n, noEOF(err))
			}
			if err := rd.checkHead(first, head); err != nil {
				return head, err
			}
		}
		if word&lastFragment != 0 {
			break
		}
		rd.arm(markSize)
		mark, err := rd.r.peek(markSize)
		if err != nil {
			return head, fmt.Errorf("record mark: %w", noEOF(err))
		}
		word = binary.BigEndian.Uint32(mark)
		_, _ = rd.r.discard(markSize)
		rd.due -= markSize
	}
	if _, _, ok := oncrpc.Peek(head); !ok {
		return head, fmt.Errorf("%w: %d bytes, which begin with %x (RFC 5531 §9)", ErrMessage, total, head)
	}
	rd.begun = true
	return head, &passedOver{over}
}

// skip reads at most n bytes of a record that is passed over, the first ones into head.
func (rd *records) skip(head *[]byte, n int64) (got int, err error) {
	part := int(min(n, progress))
	missing := headSize - len(*head)
	if missing > 0 {
		part = min(part, missing)
	}
	if rd.arm(part); rd.armed {
		part = min(part, rd.due)
	}
	if missing > 0 {
		at := len(*head)
		got, err = io.ReadFull(&rd.r, (*head)[at:at+part])
		*head = (*head)[:at+got]
	} else {
		got, err = rd.r.discard(part)
	}
	rd.due -= got
	rd.parts.Add(1)
	return got, err
}

// checkHead returns an error if the first bytes of a record, which follow the mark first, cannot
// begin an RPC message. It does so before the rest has come.
func (rd *records) checkHead(first uint32, head []byte) error {
	if len(head) < 8 {
		return nil
	}
	if _, _, ok := oncrpc.Peek(head); ok {
		return nil
	}
	if !rd.begun {
		if err := speaksRPC(append(binary.BigEndian.AppendUint32(nil, first), head[:min(len(head), firstQuoted-markSize)]...)); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: it begins with %x (RFC 5531 §9)", ErrMessage, head[:8])
}

// refuseLong answers a Call that was passed over with GARBAGE_ARGS, or fails the Call whose reply
// was. head is the beginning of the record.
func (c *Conn) refuseLong(head []byte, why *passedOver) error {
	xid, typ, _ := oncrpc.Peek(head) // passOver has checked it
	if typ == oncrpc.MsgReply {
		c.noteFirst()
		c.failReply(xid, why)
		return nil
	}
	refusal, _ := c.screen(head)
	c.noteFirst()
	if refusal == nil {
		refusal = &oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}
	}
	c.log.Warn("tcp: a Call was passed over and refused", "xid", fmt.Sprintf("0x%08x", xid), "reason", why.why)
	return c.accept(xid, refusalOf(xid, refusal))
}

// failReply fails the Call whose reply was passed over.
func (c *caller) failReply(xid uint32, why error) {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	if c.cancelReply(xid, nil) {
		return
	}
	c.seen.Received++
	p := c.calls.Get(xid)
	if p == nil || p.out.state < writing { // of a cancelled Call, or of none
		if !c.abandoned.remove(xid) {
			c.conn.counts.strayReplies++
		}
		return
	}
	c.seen.Replied = true
	c.end(p, why)
}

// failsAlone reports whether an error is of a Call whose reply was passed over. Another connection
// cannot change it.
func failsAlone(err error) bool {
	var over *passedOver
	return errors.As(err, &over)
}
