package hostauth

import "fmt"

// Kinds of values: their first byte. The package comment has the format.
const (
	lastPart  = 0 // the last part of a message
	part      = 1 // a part of a message that has more
	finalPart = 2 // the last part of the last message of the sender, which is done
	noPart    = 3 // the sender is done, and sends no further message
)

// LeastPart is the size in bytes of the smallest part of a message that is not its last.
const LeastPart = 1024

// Values returns the values of property 6 that carry the Step to the peer, in their order. None is
// longer than size, which must be more than LeastPart. Values returns no value if the Step neither
// sends nor is Done.
func (s Step) Values(size int) (values [][]byte) {
	if !s.Send {
		if s.Done {
			values = append(values, []byte{noPart})
		}
		return values
	}
	msg, last, room := s.Message, byte(lastPart), max(size-1, LeastPart)
	if s.Done {
		last = finalPart
	}
	for ; len(msg) > room; msg = msg[room:] {
		values = append(values, append([]byte{part}, msg[:room]...))
	}
	return append(values, append([]byte{last}, msg...))
}

// ReceiveValue takes a value of property 6, other than the first one of the peer, which has no
// bytes. It calls Receive for each message that is complete, and returns the Step. Before that it
// refuses a message that exceeds the Limits. It does not keep value.
func (s *Session) ReceiveValue(value []byte) (Step, error) {
	switch {
	case s.err != nil:
		return Step{}, s.err
	case s.peerDone:
		return s.fail(ErrOrder, fmt.Sprintf("a value of %d bytes came after the peer was done", len(value)))
	case len(value) == 0:
		return s.fail(ErrMalformed, "a value of no bytes, expected its kind: only the first set of properties has such a value")
	case value[0] > noPart:
		return s.fail(ErrMalformed, fmt.Sprintf("value of kind %d, expected 0 to %d", value[0], noPart))
	}
	kind, data := value[0], value[1:]
	switch {
	case kind == noPart && (len(data) > 0 || len(s.parts) > 0):
		return s.fail(ErrMalformed, fmt.Sprintf("the peer is done inside a message, with %d bytes behind and %d before: expected none", len(data), len(s.parts)))
	case kind == noPart:
		return s.ended(Step{})
	case kind == part && len(data) < LeastPart:
		return s.fail(ErrMalformed, fmt.Sprintf("a part of %d bytes that is not the last, expected at least %d", len(data), LeastPart))
	case kind == part && len(data) > s.MaxMessage()-len(s.parts):
		s.err = s.tooLong(len(s.parts) + len(data))
		return Step{}, s.err
	case kind == part:
		s.parts = append(s.parts, data...)
		return Step{}, nil
	}
	msg := data
	if len(s.parts) > 0 {
		msg, s.parts = append(s.parts, data...), nil
	}
	step, err := s.Receive(msg)
	if err == nil && kind == finalPart {
		return s.ended(step)
	}
	return step, err
}

// ended records that the peer is done. This side must be done then, too, as no message can come.
func (s *Session) ended(step Step) (Step, error) {
	s.peerDone = true
	if !s.done {
		return s.fail(ErrOrder, "the peer is done, and this side expects another message")
	}
	return step, nil
}

// Complete reports whether both sides are done: this side accepts the peer, and the peer has said
// that it accepts this side. A connection carries RPC messages from then on.
func (s *Session) Complete() bool { return s.err == nil && s.done && s.peerDone }
