package ddp

import "fmt"

// Rule is a rule of DDP. It is an error, so that errors.Is(err, ddp.BadVersion) reports
// whether err is a breach of it.
type Rule uint8

// The rules.
const (
	// Rules on a header by itself.
	Truncated Rule = iota + 1
	BadVersion

	// Rules on an untagged segment after others of its queue.
	BadQN
	NumberNotNext // the message sequence number
	NoBuffer
	OffsetNotNext // the message offset
	ULPChanged    // the RsvdULP field within a message
	MessageTooLong

	// Rules on a tagged segment after others.
	STagChanged
	TONotNext
	TOWraps
	TaggedULPChanged

	// Rules on the buffer of a tagged segment, which the layer above checks.
	InvalidSTag
	Bounds
	NotAssociated
)

// Error types of a Terminate message from this layer (RFC 5041 §7.2).
const (
	TypeLocal    = 0
	TypeTagged   = 1
	TypeUntagged = 2
)

// rules holds the name of each rule, its text, its section, and its error codes in tagged
// and untagged segments: RFC 5041 has a code for the version in each list.
var rules = [...]struct {
	name, text, section string
	etype, code         uint8
}{
	Truncated:        {"Truncated", "a segment has a whole header", "RFC 5041 §4.4", TypeLocal, 0},
	BadVersion:       {"BadVersion", "the DDP version is 1", "RFC 5041 §4.1 DV", TypeUntagged, 6},
	BadQN:            {"BadQN", "the queue is one of this stream", "RFC 5041 §7.1", TypeUntagged, 1},
	NoBuffer:         {"NoBuffer", "a buffer waits for the message", "RFC 5041 §7.1", TypeUntagged, 2},
	NumberNotNext:    {"NumberNotNext", "message sequence numbers start at 1 and grow by one", "RFC 5041 §4.3 MSN", TypeUntagged, 3},
	OffsetNotNext:    {"OffsetNotNext", "a message offset grows by the payload of the segments before", "RFC 5041 §4.3 MO", TypeUntagged, 4},
	ULPChanged:       {"ULPChanged", "all segments of a message have one RsvdULP", "RFC 5041 §4.3", TypeUntagged, 3},
	MessageTooLong:   {"MessageTooLong", "a message fits into its buffer", "RFC 5041 §7.1", TypeUntagged, 5},
	STagChanged:      {"STagChanged", "all segments of a message have one STag", "RFC 5041 §4.2 STag", TypeTagged, 0},
	TONotNext:        {"TONotNext", "a tagged offset grows by the payload of the segments before", "RFC 5041 §5.2", TypeTagged, 1},
	TOWraps:          {"TOWraps", "a tagged offset and payload end below 2^64", "RFC 5041 §7.1", TypeTagged, 3},
	TaggedULPChanged: {"TaggedULPChanged", "all segments of a message have one RsvdULP", "RFC 5041 §4.2", TypeTagged, 1},
	InvalidSTag:      {"InvalidSTag", "the STag is valid and has the right", "RFC 5041 §7.1", TypeTagged, 0},
	Bounds:           {"Bounds", "the payload lies within the buffer", "RFC 5041 §7.1", TypeTagged, 1},
	NotAssociated:    {"NotAssociated", "the STag belongs to the stream", "RFC 5041 §7.1", TypeTagged, 2},
}

// known reports whether the rule has an entry in rules.
func (r Rule) known() bool { return int(r) < len(rules) && rules[r].name != "" }

// Code returns error type and error code of the rule for a Terminate message about a
// segment, which may be tagged.
func (r Rule) Code(tagged bool) (etype, code uint8) {
	switch {
	case !r.known():
		return TypeLocal, 0
	case r == BadVersion && tagged:
		return TypeTagged, 4
	}
	return rules[r].etype, rules[r].code
}

// String returns the name of the rule in this package.
func (r Rule) String() string {
	if r.known() {
		return rules[r].name
	}
	return fmt.Sprintf("Rule(%d)", uint8(r))
}

// Error returns the text of the rule and its section.
func (r Rule) Error() string {
	if r.known() {
		return fmt.Sprintf("%s (%s)", rules[r].text, rules[r].section)
	}
	return r.String()
}

// Error is a breach of a rule by a segment.
type Error struct {
	Rule   Rule
	Tagged bool
	Got    uint64 // the value found
	Want   uint64 // the value that the rule requires, or the limit
}

// Code returns error type and error code for a Terminate message.
func (e *Error) Code() (etype, code uint8) { return e.Rule.Code(e.Tagged) }

// Error returns both values and the rule.
func (e *Error) Error() string {
	model := "untagged"
	if e.Tagged {
		model = "tagged"
	}
	return fmt.Sprintf("ddp: %s segment: found %#x, want %#x: %v", model, e.Got, e.Want, e.Rule)
}

// Unwrap returns the Rule.
func (e *Error) Unwrap() error { return e.Rule }
