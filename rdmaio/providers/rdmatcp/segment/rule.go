package segment

import "fmt"

// Rule is a sentence of the format that a segment can break. It is an error
// itself: errors.Is(err, segment.BadCRC) asks for it.
type Rule uint8

// The rules, in the order in which they are checked: of two faults in one
// header the first is named.
const (
	// The beginning of a segment.
	BadVersion        Rule = iota + 1
	LengthBelowHeader      // Segment Length counts the header
	Truncated              // fewer bytes than the Segment Length announces

	// A header alone.
	WrongConnectionID
	ControlTooLong     // CLEN words of control data do not fit into Segment Length
	RequestWithPayload // Read_Request carries no payload
	RequestNotWhole    // Read_Request is one segment

	// A header after others.
	MissingBegin      // first segment of a message without B
	UnexpectedBegin   // B inside a message
	NumberNotNext     // of a new message in group 1
	WrongReadNumber   // a Read_Response to another request than the oldest
	NumberChanged     // within a message
	TypeChanged       // within a message
	DataOffsetNotZero // on the first segment
	OffsetNotNext     // does not follow from the payload before
	OffsetWraps       // an RDMA range beyond 2^32
	BufferIDChanged   // within a Write
	RDMALengthChanged // within a Write
	NoReadOutstanding // a Read_Response nobody asked for
	PayloadTooLong    // more payload than RDMA Length, the Read's length or 2^32-1
	PayloadTooShort   // the last segment ends before that length

	// The end of a segment.
	BadCRC
)

// rules holds for each rule its name, what it says and where it stands in the draft.
var rules = [...]struct{ name, text, section string }{
	BadVersion:         {"BadVersion", "Version must be 1", "3.4 Version"},
	LengthBelowHeader:  {"LengthBelowHeader", "Segment Length includes the header", "3.4 Segment Length"},
	Truncated:          {"Truncated", "the segment extends to its Segment Length, padding and CRC", "5"},
	ControlTooLong:     {"ControlTooLong", "control data lies within Segment Length", "3.4 CLEN, control data"},
	RequestWithPayload: {"RequestWithPayload", "a Read_Request has no payload", "3.3"},
	RequestNotWhole:    {"RequestNotWhole", "a Read_Request is exactly one segment, with B and E", "3.3"},
	WrongConnectionID:  {"WrongConnectionID", "all segments of a connection carry one Connection ID", "3.4 Connection ID"},
	MissingBegin:       {"MissingBegin", "a message starts with a segment that has B", "3.4 B, E"},
	UnexpectedBegin:    {"UnexpectedBegin", "B only begins a message: all segments of one come before the next of its group", "4"},
	TypeChanged:        {"TypeChanged", "all segments of a message have one type", "4"},
	NumberChanged:      {"NumberChanged", "all segments of a message have one Message Number", "4"},
	NumberNotNext:      {"NumberNotNext", "Message Numbers are sequential", "3.4 Message Number"},
	DataOffsetNotZero:  {"DataOffsetNotZero", "the first segment has Data Offset 0", "3.4 Data Offset"},
	OffsetNotNext:      {"OffsetNotNext", "an offset grows by the payload of the segments before", "3.4 Data Offset; RDMA Buffer Offset"},
	BufferIDChanged:    {"BufferIDChanged", "RDMA Buffer ID is constant in a message", "3.4 RDMA Buffer ID"},
	RDMALengthChanged:  {"RDMALengthChanged", "RDMA Length is repeated in each segment", "3.4 RDMA Length"},
	OffsetWraps:        {"OffsetWraps", "an RDMA range ends at 2^32 or before", "3.4 RDMA Buffer Offset"},
	PayloadTooLong:     {"PayloadTooLong", "a message has no more payload than was announced", "3.4 RDMA Length"},
	PayloadTooShort:    {"PayloadTooShort", "a message has as much payload as was announced", "3.4 RDMA Length"},
	NoReadOutstanding:  {"NoReadOutstanding", "a Read_Response answers a Read_Request", "3.4 Message Number"},
	WrongReadNumber:    {"WrongReadNumber", "Read_Responses are in order", "4"},
	BadCRC:             {"BadCRC", "the CRC covers the whole segment", "3.4 CRC-32"},
}

// String is the rule's name in this package.
func (r Rule) String() string {
	if int(r) < len(rules) && rules[r].name != "" {
		return rules[r].name
	}
	return fmt.Sprintf("Rule(%d)", uint8(r))
}

// Error says the rule and where it stands.
func (r Rule) Error() string {
	if int(r) < len(rules) && rules[r].name != "" {
		return fmt.Sprintf("%s (draft-williams-rdmatcp-00 §%s)", rules[r].text, rules[r].section)
	}
	return r.String()
}

// Error is a broken rule: what was found, and what would have been right where
// there is one such value.
type Error struct {
	Rule Rule
	Type Type   // of the segment, where it was read
	Got  uint64 // the value found
	Want uint64 // the value, or limit, that the rule asks for
}

// Error tells all of it.
func (e *Error) Error() string {
	return fmt.Sprintf("segment: %v: found %#x, want %#x: %v", e.Type, e.Got, e.Want, e.Rule)
}

// Unwrap gives the Rule.
func (e *Error) Unwrap() error { return e.Rule }
