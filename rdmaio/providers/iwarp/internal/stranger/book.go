package stranger

import "fmt"

// Kind is the kind of an Event.
type Kind byte

// The kinds.
const (
	Message    Kind = iota // a Send of any opcode
	ReadDone               // a Read of this end has its data
	Terminated             // the other end sent a Terminate
	Failed                 // this end found an error and sent a Terminate
	Ended                  // the stream has ended
)

// Event is a message, or the end of a Read or of the stream.
type Event struct {
	Kind      Kind
	Opcode    Opcode // of a Message
	Payload   []byte
	STag      uint32    // invalidated by the Message
	Terminate Terminate // received or sent
	Err       error     // of the stream, if Ended
}

// String returns the event in words.
func (e Event) String() string {
	switch e.Kind {
	case Message:
		return fmt.Sprintf("message of %d bytes, opcode %d, STag %#x", len(e.Payload), e.Opcode, e.STag)
	case ReadDone:
		return "Read done"
	case Terminated:
		return fmt.Sprintf("got Terminate %v", e.Terminate.Code)
	case Failed:
		return fmt.Sprintf("sent Terminate %v", e.Terminate.Code)
	}
	return fmt.Sprintf("end of stream: %v", e.Err)
}

// book has what an Endpoint has seen of the other end.
type book struct {
	events     []Event // not taken yet
	wake       chan struct{}
	complaints []string
	received   []Segment // all segments, as they came
}

// emit appends an event.
func (b *book) emit(e Event) {
	b.events = append(b.events, e)
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take returns the next event, if there is one. Otherwise wake has a value when there is.
func (b *book) take() (e Event, ok bool) {
	if len(b.events) == 0 {
		return e, false
	}
	e, b.events = b.events[0], b.events[1:]
	return e, true
}

// complain notes a complaint.
func (b *book) complain(format string, args ...any) {
	b.complaints = append(b.complaints, fmt.Sprintf(format, args...))
}
