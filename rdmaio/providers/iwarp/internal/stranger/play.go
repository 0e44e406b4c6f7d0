package stranger

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Side is the end of a connection that a Vector is played against.
type Side interface {
	// Expose registers memory before the connection. Without rights, STag and TO are not used.
	Expose(name string, size int, fill byte, read, write, invalidate bool) (stag uint32, to uint64)
	Post(size int)

	// Start connects, and returns when the Side can send. For a rejected Request it returns the
	// private data.
	Start(conn net.Conn, initiator bool, s Startup) (rejected []byte, err error)

	Send(op Opcode, payload []byte, stag uint32) error
	Write(stag uint32, to uint64, payload []byte) error
	Read(sink string, at, size int, stag uint32, to uint64) error

	// Gets waits for a message, Done for the end of a Read.
	Gets(op Opcode, payload []byte, stag uint32) error
	Done() error
	Memory(name string) []byte

	// Ends waits for the end of the connection, for a reason that was sent or received.
	Ends(reason Code) error
}

// player plays a Vector.
type player struct {
	*Vector
	side      Side
	initiator bool // the role of side
	conn      net.Conn
	began     bool
	started   chan started
	result    *started
	known     map[string]bool // variables of the side that have their value
}

// started is the result of Start.
type started struct {
	rejected []byte
	err      error
}

// Play plays the other end of a connection against a side in one role. conn is this end of the
// stream, and theirs the side's. It checks each octet that the side sends, and each act.
func (v *Vector) Play(side Side, initiator bool, conn, theirs net.Conn) error {
	copied := *v
	copied.vars = make(map[string][]byte)
	for name, b := range v.vars {
		copied.vars[name] = b
	}
	p := &player{Vector: &copied, side: side, initiator: initiator, conn: conn, started: make(chan started, 1), known: make(map[string]bool)}
	for _, s := range v.Steps {
		if err := p.step(s, theirs); err != nil {
			return fmt.Errorf("%s.txt:%d: %w", v.Name, s.Line, err)
		}
	}
	return p.ready()
}

func (p *player) step(s Step, theirs net.Conn) error {
	own := s.Initiator == p.initiator
	switch {
	case len(s.Words) > 0 && own:
		return p.act(s.Words)
	case len(s.Words) > 0:
		return nil
	case !p.began:
		p.began = true
		go func() {
			rejected, err := p.side.Start(theirs, p.initiator, p.Frames[end(map[bool]string{true: "i"}[p.initiator])])
			p.started <- started{rejected, err}
		}()
	}
	if own {
		return p.compare(s)
	}
	b := p.Expand(s)
	if p.CRC && isFPDU(b) {
		if b = Reseal(b); !s.Sealed {
			b[len(b)-1] ^= 1
		}
	}
	_, err := p.conn.Write(b)
	return err
}

// compare reads the octets of the side. Its variables get their values where they occur first.
func (p *player) compare(s Step) error {
	got := make([]byte, len(p.Expand(s)))
	p.conn.SetReadDeadline(time.Now().Add(Patience))
	if n, err := io.ReadFull(p.conn, got); err != nil {
		return errors.Join(fmt.Errorf("the side sent %x, want %x: %w", got[:n], p.Expand(s), err), p.failed())
	}
	at := 0
	mine := map[bool]string{true: "i.", false: "r."}[p.initiator]
	for _, piece := range s.Octets {
		n := len(p.value(piece))
		if piece.name != "" && strings.HasPrefix(piece.name, mine) && !p.known[piece.name] {
			p.vars[piece.name] = number(toUint(got[at:at+n])-piece.plus, n)
			p.known[piece.name] = true
		}
		at += n
	}
	want := p.Expand(s)
	switch {
	case !isFPDU(want):
	case p.CRC:
		want = Reseal(want)
	default:
		copy(want[len(want)-4:], got[len(want)-4:]) // any value (RFC 5044 §4.1)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("the side sent\n%x, want\n%x", got, want)
	}
	return nil
}

// failed returns the error of Start, if it has failed.
func (p *player) failed() error {
	select {
	case r := <-p.started:
		p.started <- r
		return r.err
	default:
		return nil
	}
}

// ready waits for the end of Start.
func (p *player) ready() error {
	if p.result == nil && p.began {
		select {
		case r := <-p.started:
			p.result = &r
		case <-time.After(Patience):
			return errors.New("the side does not end its startup")
		}
	}
	if p.result != nil {
		return p.result.err
	}
	return nil
}

// act makes the side do something.
func (p *player) act(w []string) error {
	if err := p.ready(); err != nil {
		return err
	}
	switch w[0] {
	case "region":
		return p.region(w)
	case "post":
		for _, size := range w[1:] {
			p.side.Post(atoi(size))
		}
		return nil
	case "send":
		payload, err := literal(w[2])
		return errors.Join(err, p.side.Send(Opcode(atoi(w[1])), payload, p.stag(w, 3)))
	case "gets":
		payload, err := literal(w[2])
		return errors.Join(err, p.side.Gets(Opcode(atoi(w[1])), payload, p.stag(w, 3)))
	case "write":
		payload, err := literal(w[3])
		return errors.Join(err, p.side.Write(p.stag(w, 1), p.to(w[1], w[2]), payload))
	case "read":
		return p.side.Read(w[1], atoi(w[2]), atoi(w[3]), p.stag(w, 4), p.to(w[4], w[5]))
	case "done":
		return p.side.Done()
	case "memory":
		want, err := literal(w[3])
		got := p.side.Memory(w[1])[atoi(w[2]):][:len(want)]
		if !bytes.Equal(got, want) {
			return errors.Join(err, fmt.Errorf("memory is %x, want %x", got, want))
		}
		return err
	case "rejected":
		want, err := literal(w[1])
		if !bytes.Equal(p.result.rejected, want) {
			return errors.Join(err, fmt.Errorf("rejected with %q, want %q", p.result.rejected, want))
		}
		return err
	case "ends":
		return p.side.Ends(Code{byte(atoi(w[1])), byte(atoi(w[2])), byte(atoi(w[3]))})
	}
	return fmt.Errorf("unknown act %q", w)
}

func atoi(w string) int {
	n, err := strconv.Atoi(w)
	if err != nil {
		panic(err)
	}
	return n
}

// region registers memory, and sets the variables of its STag and TO.
func (p *player) region(w []string) error {
	rights := strings.Join(w[3:], " ")
	fill, err := hex.DecodeString(rights[strings.Index(rights, "fill=")+5:])
	if err != nil {
		return err
	}
	read, write := strings.Contains(rights, "read"), strings.Contains(rights, "write")
	stag, to := p.side.Expose(w[1], atoi(w[2]), fill[0], read, write, strings.Contains(rights, "invalidate"))
	if read || write {
		p.vars[w[1]+".stag"], p.vars[w[1]+".to"] = number(uint64(stag), 4), number(to, 8)
		p.known[w[1]+".stag"], p.known[w[1]+".to"] = true, true
	}
	return nil
}

// stag returns the STag of the region that word n names, or 0 if there is no such word.
func (p *player) stag(w []string, n int) uint32 {
	if n >= len(w) {
		return 0
	}
	return uint32(toUint(p.vars[w[n]+".stag"]))
}

func (p *player) to(name, offset string) uint64 {
	return toUint(p.vars[name+".to"]) + uint64(atoi(offset))
}
