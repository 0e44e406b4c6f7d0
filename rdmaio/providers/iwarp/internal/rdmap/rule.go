package rdmap

import "fmt"

// Rule is a rule of RDMAP. It is an error, so that errors.Is(err, rdmap.BadOpcode) reports
// whether err is a breach of it.
type Rule uint8

// The rules.
const (
	// Rules on a segment by itself.
	BadVersion Rule = iota + 1
	BadOpcode
	WrongModel // tagged or not
	WrongQueue
	BadReadRequest
	BadTerminate

	// Rules on a Read Response.
	NoReadOutstanding
	WrongSink
	WrongSinkOffset
	WrongReadSize

	// Rules on memory and resources, which the caller checks.
	InvalidSTag
	Bounds
	Access
	NotAssociated
	TOWraps
	CannotInvalidate
	TooManyReads
)

// rules holds the name of each rule, its text, its section and its cause.
var rules = [...]struct {
	name, text, section string
	cause               Cause
}{
	BadVersion:        {"BadVersion", "the RDMAP version is 1", "RFC 5040 §4.1", Cause{LayerRDMAP, TypeOperation, 5}},
	BadOpcode:         {"BadOpcode", "the opcode is at most 7", "RFC 5040 §4.1", Cause{LayerRDMAP, TypeOperation, 6}},
	WrongModel:        {"WrongModel", "Writes and Read Responses are tagged, all others are not", "RFC 5040 §4.1", Cause{LayerRDMAP, TypeOperation, 6}},
	WrongQueue:        {"WrongQueue", "Sends use queue 0, Read Requests 1, Terminates 2", "RFC 5040 §4.1", Cause{LayerRDMAP, TypeOperation, 6}},
	BadReadRequest:    {"BadReadRequest", "a Read Request is one segment with 28 bytes", "RFC 5040 §4.4", Cause{LayerRDMAP, TypeOperation, 7}},
	BadTerminate:      {"BadTerminate", "a Terminate is one segment with at most 52 bytes", "RFC 5040 §4.8", Cause{LayerRDMAP, TypeOperation, 7}},
	NoReadOutstanding: {"NoReadOutstanding", "a Read Response answers a Read Request", "RFC 5040 §5.2", Cause{LayerRDMAP, TypeOperation, 6}},
	WrongSink:         {"WrongSink", "a Read Response has the sink STag of the oldest Read Request", "RFC 5040 §5.2.2", Cause{LayerDDP, 1, 0}},
	WrongSinkOffset:   {"WrongSinkOffset", "a Read Response starts at the sink offset of the oldest Read Request", "RFC 5040 §5.2.2", Cause{LayerDDP, 1, 1}},
	WrongReadSize:     {"WrongReadSize", "a Read Response is as long as its Read Request says", "RFC 5040 §5.2.2", Cause{LayerDDP, 1, 1}},
	InvalidSTag:       {"InvalidSTag", "the source STag is valid", "RFC 5040 §7.2", Cause{LayerRDMAP, TypeProtection, 0}},
	Bounds:            {"Bounds", "the range lies within the source buffer", "RFC 5040 §7.2", Cause{LayerRDMAP, TypeProtection, 1}},
	Access:            {"Access", "the source buffer may be read", "RFC 5040 §4.8", Cause{LayerRDMAP, TypeProtection, 2}},
	NotAssociated:     {"NotAssociated", "the STag belongs to the stream", "RFC 5040 §7.2", Cause{LayerRDMAP, TypeProtection, 3}},
	TOWraps:           {"TOWraps", "source offset and size end below 2^64", "RFC 5040 §7.2", Cause{LayerRDMAP, TypeProtection, 4}},
	CannotInvalidate:  {"CannotInvalidate", "the STag to invalidate is valid, and belongs to the stream", "RFC 5040 §5.3", Cause{LayerRDMAP, TypeProtection, 9}},
	TooManyReads:      {"TooManyReads", "no more Reads are outstanding than negotiated", "RFC 5040 §6.1", Cause{LayerRDMAP, TypeOperation, 7}},
}

// known reports whether the rule has an entry in rules.
func (r Rule) known() bool { return int(r) < len(rules) && rules[r].name != "" }

// Cause returns the cause of a Terminate message for the rule.
func (r Rule) Cause() Cause {
	if r.known() {
		return rules[r].cause
	}
	return Cause{}
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

// Error is a breach of a rule by a message.
type Error struct {
	Rule   Rule
	Opcode Opcode
	Got    uint64 // the value found
	Want   uint64 // the value that the rule requires, or the limit
}

func fault(rule Rule, op Opcode, got, want uint64) error {
	return &Error{Rule: rule, Opcode: op, Got: got, Want: want}
}

// Error returns the operation, both values and the rule.
func (e *Error) Error() string {
	return fmt.Sprintf("rdmap: %v: found %#x, want %#x: %v", e.Opcode, e.Got, e.Want, e.Rule)
}

// Unwrap returns the Rule.
func (e *Error) Unwrap() error { return e.Rule }
