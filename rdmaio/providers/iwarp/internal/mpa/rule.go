package mpa

import "fmt"

// Rule is a rule of MPA. It is an error, so that errors.Is(err, mpa.BadCRC) reports
// whether err is a breach of it.
type Rule uint8

// The rules.
const (
	// Rules on a request or reply. PrivateLength checks them in this order.
	Truncated Rule = iota + 1
	BadKey
	SameRole // a request where a reply is due, or the reverse
	BadRevision
	PrivateDataTooLong
	SetupMissing // flag S without set-up words
	BytesBehind  // bytes between the frame and the first FPDU
	DepthTooLarge

	// Rules on the negotiation.
	MarkersRefused
	Rejected        // the peer's application has refused the connection
	NotEnhanced     // an enhanced request has an unenhanced reply
	RevisionChanged // a reply of another revision than its request
	InsufficientIRD // the responder wants more outstanding Reads than we serve
	NoMatchingRTR   // no ready-to-receive indication that both sides know
	FirstNotRTR     // the first FPDU is none of the agreed indications
	OutOfTurn       // a step in a state that does not have it

	// Rules on an FPDU.
	EmptyULPDU
	FPDUTruncated
	BadCRC
)

// Error codes of a Terminate message from this layer (RFC 5044 §8, RFC 6581 §8).
const (
	CodeNone                = 0 // the connection is closed without a Terminate
	CodeCRC                 = 2
	CodeMarker              = 3 // Marker and length do not agree: of no use without Markers
	CodeLocalCatastrophic   = 5
	CodeInsufficientIRD     = 6
	CodeNoMatchingRTR       = 7
	codeInvalidStartupFrame = 4 // closes the connection, so that no Terminate carries it
)

// rules holds the name of each rule, its text, its section and its error code.
var rules = [...]struct {
	name, text, section string
	code                uint8
}{
	Truncated:          {"Truncated", "a request or reply is as long as its PD_Length says", "RFC 5044 §7.1.1", codeInvalidStartupFrame},
	BadKey:             {"BadKey", "a connection starts with the key of the peer's role", "RFC 5044 §7.1.2 rule 5", codeInvalidStartupFrame},
	SameRole:           {"SameRole", "one side is the initiator and the other the responder", "RFC 5044 §7.1.2 rule 8", codeInvalidStartupFrame},
	BadRevision:        {"BadRevision", "the revision is 1 or 2", "RFC 5044 §7.1.1 Rev, RFC 6581 §6", codeInvalidStartupFrame},
	PrivateDataTooLong: {"PrivateDataTooLong", "PD_Length is at most 512", "RFC 5044 §7.1.1 PD_Length", codeInvalidStartupFrame},
	SetupMissing:       {"SetupMissing", "with flag S, private data begins with 4 bytes of set-up", "RFC 6581 §6", codeInvalidStartupFrame},
	BytesBehind:        {"BytesBehind", "nothing follows a request before its reply", "RFC 5044 §7.1.2 rule 2", codeInvalidStartupFrame},
	DepthTooLarge:      {"DepthTooLarge", "IRD and ORD have 14 bits", "RFC 6581 §9", codeInvalidStartupFrame},
	MarkersRefused:     {"MarkersRefused", "Markers are not supported", "RFC 5044 §4.3", codeInvalidStartupFrame},
	Rejected:           {"Rejected", "the responder accepts the connection", "RFC 5044 §7.1.2 rule 3", CodeNone},
	NotEnhanced:        {"NotEnhanced", "the reply to an enhanced request is enhanced", "RFC 6581 §10", codeInvalidStartupFrame},
	RevisionChanged:    {"RevisionChanged", "a reply has the revision of its request", "RFC 6581 §10", codeInvalidStartupFrame},
	InsufficientIRD:    {"InsufficientIRD", "the responder's ORD is at most the initiator's IRD", "RFC 6581 §9.1", CodeInsufficientIRD},
	NoMatchingRTR:      {"NoMatchingRTR", "both sides know one ready-to-receive indication", "RFC 6581 §9.2", CodeNoMatchingRTR},
	FirstNotRTR:        {"FirstNotRTR", "the initiator sends an agreed ready-to-receive indication first", "RFC 6581 §9.2", CodeNoMatchingRTR},
	OutOfTurn:          {"OutOfTurn", "each step of the negotiation comes once, in order", "RFC 5044 §7.1.2", CodeLocalCatastrophic},
	EmptyULPDU:         {"EmptyULPDU", "an FPDU has a ULPDU of at least one byte", "RFC 5044 §3", CodeLocalCatastrophic},
	FPDUTruncated:      {"FPDUTruncated", "an FPDU extends to its length, padding and CRC", "RFC 5044 §4.1", CodeNone},
	BadCRC:             {"BadCRC", "the CRC32C covers length, ULPDU and padding", "RFC 5044 §4.4", CodeCRC},
}

// known reports whether the rule has an entry in rules.
func (r Rule) known() bool { return int(r) < len(rules) && rules[r].name != "" }

// Code returns the error code of the rule: layer LLP, error type MPA.
func (r Rule) Code() uint8 {
	if r.known() {
		return rules[r].code
	}
	return CodeNone
}

// Reportable reports whether a Terminate message can carry the error: the connection is
// in use, and its stream intact.
func (r Rule) Reportable() bool {
	switch r.Code() {
	case CodeNone, codeInvalidStartupFrame:
		return false
	}
	return true
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

// Error is a breach of a rule.
type Error struct {
	Rule Rule
	Got  uint64 // the value found
	Want uint64 // the value that the rule requires, or the limit
}

func fault(rule Rule, got, want int) error {
	return &Error{Rule: rule, Got: uint64(got), Want: uint64(want)}
}

// Error returns both values and the rule.
func (e *Error) Error() string {
	switch e.Rule {
	case MarkersRefused, Rejected, NotEnhanced, FirstNotRTR:
		return fmt.Sprintf("mpa: %v", e.Rule)
	case SameRole:
		return fmt.Sprintf("mpa: found an %v, want an %v: %v", Kind(e.Got), Kind(e.Want), e.Rule)
	case OutOfTurn:
		return fmt.Sprintf("mpa: in state %v, want %v: %v", State(e.Got), State(e.Want), e.Rule)
	case NoMatchingRTR:
		return fmt.Sprintf("mpa: the peer knows %v, this side %v: %v", RTR(e.Got), RTR(e.Want), e.Rule)
	}
	return fmt.Sprintf("mpa: found %#x, want %#x: %v", e.Got, e.Want, e.Rule)
}

// Unwrap returns the Rule.
func (e *Error) Unwrap() error { return e.Rule }
