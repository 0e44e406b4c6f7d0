// Package lint reports hazards in a protocol that is correct XDR: data that a
// peer can make large, types that take much more memory than bytes on the wire,
// unions that cannot be extended, names that clash in other languages, and
// departures from the conventions of RPC.
//
// A table has the reason and the fix for each rule. A comment
// "xdrgen:ignore rule-name reason" beside or above a line suppresses findings on
// that line; above a declaration, it suppresses findings in all of it.
package lint

import "github.com/rpcrdma/rpcrdma/internal/spelling"

// Level is the importance of a finding.
type Level int

// The levels: a Warning is a hazard, Advice is style.
const (
	Warning Level = iota + 1
	Advice
)

// String returns "warning" or "advice".
func (l Level) String() string {
	if l == Warning {
		return "warning"
	}
	return "advice"
}

// Rule is a class of finding. Its code and name never change once published.
type Rule int

// Info describes a rule.
type Info struct {
	Code    string // "XDL0101"
	Name    string // "unbounded-data"
	Level   Level
	Section string // section of the RFC about it; empty if there is none
	Reason  string // the harm, in one sentence
	Fix     string // what to do, in one line
}

// The rules: cost, unions and enums, names, programs, pragmas.
const (
	UnboundedData Rule = iota
	UnboundedList
	Amplification
	NoSize
	RecursiveType
	LargeFixed
	WideCharacters

	ClosedUnion
	MissingArm
	DeadDefault
	EnumWithoutZero
	NumericCase
	BoolTrap

	NameClash
	ShadowedName
	Prefix
	MagicNumber
	Unused

	NullProcedure
	ProgramNumber
	UnboundedResults

	BadIgnore
	StaleIgnore

	numRules
)

// rules has the description of each rule, in order of the constants.
var rules = [numRules]Info{
	UnboundedData:  {"XDL0101", "unbounded-data", Warning, "RFC 4506 §8", "a peer can send up to 4 GB, and each reader chooses a limit of its own", "declare the bound that the protocol intends: name<MAX>"},
	UnboundedList:  {"XDL0102", "unbounded-list", Warning, "RFC 4506 §4.19", "XDR cannot bound the length of a list, and readers that recurse run out of stack", "use an array with a bound, element name<MAX>, or state a limit in the protocol's text"},
	Amplification:  {"XDL0103", "amplification", Warning, "RFC 4506 §8", "a peer can fill much memory with few bytes", "lower the bound of the array, or make the rare parts of the element optional with *"},
	NoSize:         {"XDL0104", "elements-without-size", Warning, "RFC 4506 §4.13", "a peer can announce 4 billion elements with 4 bytes, and the length of the message does not limit them", "give the element a field, or send the count as a number"},
	RecursiveType:  {"XDL0105", "recursive-type", Warning, "RFC 4506 §8", "the peer decides how deep readers recurse, so each reader needs a depth limit", "state a maximum depth in the protocol's text, or use an array of nodes that refer to each other by index"},
	LargeFixed:     {"XDL0106", "large-fixed", Warning, "RFC 4506 §4.9, §4.12", "every value takes the full length, on the wire and in memory", "use variable length: name<MAX>"},
	WideCharacters: {"XDL0107", "wide-characters", Warning, "RFC 4506 §4.12, §4.13", "each element of an array takes at least 4 bytes on the wire, even if it is one byte in C", "use opaque or string"},

	ClosedUnion:     {"XDL0201", "union-without-default", Warning, "RFC 4506 §4.15", "readers of today's protocol cannot read a value that is added later", "add default: void; or a default arm with an opaque"},
	MissingArm:      {"XDL0202", "missing-arm", Warning, "RFC 4506 §4.15", "values of the discriminant without an arm can be neither sent nor read", "add an arm for each of them (void if it has no data), or a default"},
	DeadDefault:     {"XDL0203", "dead-default", Advice, "RFC 4506 §4.15", "every value of the discriminant has a case, so the default is never taken", "remove the default, or make the discriminant an int if values may be added"},
	EnumWithoutZero: {"XDL0204", "enum-without-zero", Advice, "RFC 4506 §4.3", "the zero value in Go, and cleared memory in C, is not a member", "add a member with the value 0"},
	NumericCase:     {"XDL0205", "numeric-case", Advice, "RFC 4506 §4.15", "the enum has a name for this number", "use the name"},
	BoolTrap:        {"XDL0206", "bool-trap", Advice, "RFC 4506 §4.4", "each bool takes 4 bytes, several in a row are easily confused, and a bool cannot get a third value", "use one unsigned int of flags, or enums"},

	NameClash:    {"XDL0301", "name-clash", Warning, "RFC 4506 §6.2", "names that differ only in case or underscores become the same name in Go and other languages", "rename one of the two; the wire does not change"},
	ShadowedName: {"XDL0302", "shadowed-name", Warning, "RFC 4506 §6.4", "C headers and other protocols use the name for something else", "choose another name"},
	Prefix:       {"XDL0303", "inconsistent-prefix", Advice, "RFC 4506 §6.4 (3)", "all names share one scope; a common prefix shows which enum a member belongs to", "give the name the same prefix as the others"},
	MagicNumber:  {"XDL0304", "magic-number", Advice, "RFC 4506 §4.17", "if a number is written in several places, a later change can miss one of them", "declare it with const and use the name"},
	Unused:       {"XDL0305", "unused-declaration", Advice, "", "no procedure or code point uses it", "remove it, or say in an xdrgen:ignore comment what uses it"},

	NullProcedure: {"XDL0401", "null-procedure", Warning, "RFC 5531 §12.1", "clients and monitors call procedure 0, without argument and result, to test whether a server answers", "add void NAME_NULL(void) = 0;"},
	ProgramNumber: {"XDL0402", "program-number", Warning, "RFC 5531 §8.3", "the number is 0, transient or reserved, so other programs may use it too", "use a number from 0x20000000 to 0x3fffffff within one site, or ask IANA for one"},

	UnboundedResults: {"XDL0403", "unbounded-results", Warning, "RFC 8166 §4.5.3", "a client over RDMA offers memory for the reply before the call: 512 KiB without a bound, and a larger reply fails there, though not over TCP", "bound the data in the XDR, or name the argument that bounds it with reply in the sidecar"},

	BadIgnore:   {"XDL0901", "bad-ignore", Warning, "", "readers cannot tell which rule is suppressed, or why", "write xdrgen:ignore rule-name reason"},
	StaleIgnore: {"XDL0902", "stale-ignore", Warning, "", "the comment suppresses nothing, and would hide a later finding", "remove the comment"},
}

// Info returns the description of r.
func (r Rule) Info() Info {
	if r < 0 || r >= numRules {
		return Info{Code: "XDL0000", Name: "unknown"}
	}
	return rules[r]
}

// Rules returns all rules, in order of their codes.
func Rules() []Info { return append([]Info(nil), rules[:]...) }

// ruleNamed returns the rule with the given name.
func ruleNamed(name string) (Rule, bool) {
	for i, r := range rules {
		if r.Name == name {
			return Rule(i), true
		}
	}
	return 0, false
}

// nearest returns the name of a rule closest to a misspelled one.
func nearest(name string) (string, bool) {
	var names []string
	for _, r := range rules {
		names = append(names, r.Name)
	}
	return spelling.Nearest(name, names)
}
