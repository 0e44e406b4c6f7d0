package segment

import "fmt"

// Rule is a rule of the format. It is an error, so that errors.Is(err, segment.BadCRC)
// reports whether err is a breach of it.
type Rule uint8

// The rules, in the order in which they are checked: for a header that breaks several,
// the first is reported.
const (
	// Rules on the start of a segment.
	BadVersion        Rule = iota + 1
	LengthBelowHeader      // the Segment Length is smaller than the header
	Truncated              // fewer bytes than the Segment Length announces

	// Rules on a header by itself.
	WrongConnectionID
	ControlTooLong     // CLEN words of control data do not fit into the Segment Length
	RequestWithPayload // a Read_Request has payload
	RequestNotWhole    // a Read_Request is not one segment

	// Rules on a header after others.
	MissingBegin      // the first segment of a message has no B
	UnexpectedBegin   // B inside a message
	NumberNotNext     // a new message of group 1 has the wrong number
	WrongReadNumber   // a Read_Response does not answer the oldest request
	NumberChanged     // within a message
	TypeChanged       // within a message
	DataOffsetNotZero // on the first segment
	OffsetNotNext     // the offset does not follow from the payload before
	OffsetWraps       // an RDMA range ends beyond 2^32
	BufferIDChanged   // within a Write
	RDMALengthChanged // within a Write
	NoReadOutstanding // a Read_Response without a Read_Request
	PayloadTooLong    // more payload than RDMA Length, the Read's length or 2^32-1
	PayloadTooShort   // the last segment ends before that length

	// Rules on the end of a segment.
	BadCRC
)

// rules holds the name of each rule, its text and its section of the draft.
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

// String returns the name of the rule in this package.
func (r Rule) String() string {
	if int(r) < len(rules) && rules[r].name != "" {
		return rules[r].name
	}
	return fmt.Sprintf("Rule(%d)", uint8(r))
}

// Error returns the text of the rule and its section of the draft.
func (r Rule) Error() string {
	if int(r) < len(rules) && rules[r].name != "" {
		return fmt.Sprintf("%s (draft-williams-rdmatcp-00 §%s)", rules[r].text, rules[r].section)
	}
	return r.String()
}

// Error is a breach of a rule by a segment.
type Error struct {
	Rule Rule
	Type Type   // the type of the segment; Send if it was not read
	Got  uint64 // the value found
	Want uint64 // the value that the rule requires, or the limit
}

// Error returns the type of the segment, both values and the rule.
func (e *Error) Error() string {
	if e.Rule == BadVersion { // then e.Type means nothing
		return fmt.Sprintf("segment: found %#x, want %#x: %v", e.Got, e.Want, e.Rule)
	}
	return fmt.Sprintf("segment: %v: found %#x, want %#x: %v", e.Type, e.Got, e.Want, e.Rule)
}

// Unwrap returns the Rule.
func (e *Error) Unwrap() error { return e.Rule }
