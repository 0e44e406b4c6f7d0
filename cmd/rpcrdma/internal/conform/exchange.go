package conform

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// exchange is the traffic of one case on its connection.
type exchange struct {
	t   *Target
	w   wire
	c   *Case
	end time.Time // the limit

	answers map[uint32]string // by XID, of the step
	waits   bool              // a step waits for answers
	closed  bool              // by the server
	why     string            // of closed
	asked   uint32            // the XID of the probe
	probed  bool              // it was answered
	last    string            // answer to the probe, if it was not SUCCESS
	stray   string            // an answer that is not expected
}

// again is the time after which a datagram is sent once more.
const again = time.Second

// step sends the messages of a step and looks at their answers. It returns false when the case is
// over.
func (x *exchange) step(ctx context.Context, s *step, res *Result) bool {
	x.waits = true
	for _, b := range s.send {
		if err := x.put(b, s.raw); err != nil {
			x.lost(err)
			break
		}
	}
	if r, ok := x.w.(*rdma); ok && s.build != nil {
		if err := x.put(s.build(r), true); err != nil {
			x.lost(err)
		}
	}
	if s.end {
		x.w.endOfStream()
	}
	optional := false
	for _, e := range s.want {
		optional = optional || e.allows(noReply)
	}
	switch {
	case !optional:
		x.wait(s, x.end, func() bool { return x.have(s.want) })
	case x.c.unusable:
		x.wait(s, x.sooner(3*quiet), func() bool { return x.have(s.want) })
	default:
		x.probe()
		if !x.have(s.want) && !x.closed {
			x.wait(nil, x.sooner(quiet), func() bool { return x.have(s.want) })
		}
	}
	for _, e := range s.want {
		came, ok := x.answers[e.xid]
		switch {
		case ok:
		case x.closed:
			came = closed
		default:
			came = noReply
		}
		if ctx.Err() != nil {
			came = "interrupted"
		}
		if res.Passed {
			res.Expected, res.Came = e.text(), came
		}
		if !e.allows(came) {
			res.fail(e.text(), came)
			return false
		}
	}
	clear(x.answers) // the next step may use an XID again
	x.waits = false
	return !x.closed
}

// put sends one message.
func (x *exchange) put(b []byte, raw bool) error {
	if raw {
		return x.w.write(b, x.end)
	}
	return x.w.send(b, x.end)
}

// have reports whether all messages of a step are answered.
func (x *exchange) have(want []expect) bool {
	for _, e := range want {
		if _, ok := x.answers[e.xid]; !ok {
			return false
		}
	}
	return true
}

// sooner returns the time after d, or the limit.
func (x *exchange) sooner(d time.Duration) time.Time {
	if at := time.Now().Add(d); at.Before(x.end) {
		return at
	}
	return x.end
}

// probe makes a null call, and reports whether it succeeded.
func (x *exchange) probe() bool {
	c := x.t.null()
	x.asked = c.xid
	s := &step{send: [][]byte{c.bytes()}}
	if x.closed {
		return false
	}
	if err := x.put(s.send[0], false); err != nil {
		x.lost(err)
		return false
	}
	x.wait(s, x.end, func() bool { return x.probed || x.last != "" })
	return x.probed
}

// after returns the answer to the probe, or the reason why it is missing.
func (x *exchange) after() string {
	switch {
	case x.last != "":
		return x.last
	case x.closed:
		return closed + ": " + x.why
	}
	return noReply
}

// wait reads answers until done or a time. It sends the datagrams of s again, if it is given.
func (x *exchange) wait(s *step, until time.Time, done func() bool) {
	for !done() && !x.closed && time.Now().Before(until) {
		turn := until
		if x.t.Carrier == UDP && s != nil {
			turn = x.sooner(again)
		}
		b, err := x.w.receive(turn)
		switch {
		case errors.Is(err, errSilent):
			if s == nil || x.t.Carrier != UDP || !time.Now().Before(until) {
				continue
			}
			for _, b := range s.send {
				if err := x.put(b, s.raw); err != nil {
					x.lost(err)
				}
			}
		case err != nil:
			x.lost(err)
		default:
			x.got(b)
		}
	}
}

// lost notes the end of the connection.
func (x *exchange) lost(err error) { x.closed, x.why = true, err.Error() }

// got notes an answer.
func (x *exchange) got(b []byte) {
	xid, text := x.w.outcome(b)
	_, twice := x.answers[xid]
	switch {
	case xid == x.asked && x.asked != 0:
		if x.probed = text == "SUCCESS"; !x.probed {
			x.last = text
		}
	case x.t.Carrier != UDP && (twice || !x.waits):
		x.stray = fmt.Sprintf("a second answer to XID %#x, %s", xid, text)
	default:
		x.answers[xid] = text
	}
}
