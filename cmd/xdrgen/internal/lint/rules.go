// Package lint looks at a protocol that is correct XDR for what will hurt its
// users: data that a peer can make large, types whose decoding costs more than
// their bytes, unions that cannot grow, names that meet in other languages,
// and habits of the RPC world that the text does not follow.
//
// Each rule stands in one table with the reason and the fix. A comment
// "xdrgen:ignore rule-name reason" beside or above a line lets findings there
// pass, above a declaration those in all of it.
package lint

import "github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"

// Level is how much a finding matters.
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

// Info is what the table knows of a rule.
type Info struct {
	Code    string // "XDL0101"
	Name    string // "unbounded-data"
	Level   Level
	Section string // the text that speaks of it; empty where none does
	Reason  string // why it hurts, in one sentence
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

	BadIgnore
	StaleIgnore

	numRules
)

// rules is the one table of findings.
var rules = [numRules]Info{
	UnboundedData:  {"XDL0101", "unbounded-data", Warning, "RFC 4506 §8", "a peer can send up to 4 GB, and each reader invents a limit of its own", "write the bound that the protocol means: name<MAX>"},
	UnboundedList:  {"XDL0102", "unbounded-list", Warning, "RFC 4506 §4.19", "a list has no count: XDR cannot bound it, and readers that recurse run out of stack", "send an array with a bound: element name<MAX>; or say a limit in the text"},
	Amplification:  {"XDL0103", "amplification", Warning, "RFC 4506 §8", "few bytes from a peer make many in memory", "lower the bound of the array, or move the rare parts of the element behind a *"},
	NoSize:         {"XDL0104", "elements-without-size", Warning, "RFC 4506 §4.13", "a count of 4 billion costs a peer 4 bytes, and no check against the length of the message holds it back", "give the element a field, or send the count as a number"},
	RecursiveType:  {"XDL0105", "recursive-type", Warning, "RFC 4506 §8", "a peer chooses how deep readers recurse: each needs a depth limit", "say the greatest depth in the text, or send an array of nodes that refer to each other by index"},
	LargeFixed:     {"XDL0106", "large-fixed", Warning, "RFC 4506 §4.9, §4.12", "every value takes the whole length, on the wire and in memory", "use variable length: name<MAX>"},
	WideCharacters: {"XDL0107", "wide-characters", Warning, "RFC 4506 §4.12, §4.13", "each element of an array takes 4 bytes at least, also where C has one byte", "use opaque or string"},

	ClosedUnion:     {"XDL0201", "union-without-default", Warning, "RFC 4506 §4.15", "a number that gets a meaning later cannot be read by those who know today's text only", "add default: void;, or an opaque that carries what is not known"},
	MissingArm:      {"XDL0202", "missing-arm", Warning, "RFC 4506 §4.15", "values of the enum for which there is no arm can be neither sent nor read", "add the arms, void where there is no data, or a default"},
	DeadDefault:     {"XDL0203", "dead-default", Advice, "RFC 4506 §4.15", "all values that the discriminant can have are cases", "remove the default, or make the discriminant an int if more values are to come"},
	EnumWithoutZero: {"XDL0204", "enum-without-zero", Advice, "RFC 4506 §4.3", "cleared memory, which is the zero value in Go and C, holds no member", "give 0 a member"},
	NumericCase:     {"XDL0205", "numeric-case", Advice, "RFC 4506 §4.15", "the number has a name in the enum", "write the name"},
	BoolTrap:        {"XDL0206", "bool-trap", Advice, "RFC 4506 §4.4", "each bool takes 4 bytes, nobody remembers their order, and none can get a third value", "use one word of flags, or enums"},

	NameClash:    {"XDL0301", "name-clash", Warning, "RFC 4506 §6.2", "names that differ in case or underscores only become one in Go and other languages", "rename one of the two: the wire does not change"},
	ShadowedName: {"XDL0302", "shadowed-name", Warning, "RFC 4506 §6.4", "the name has another meaning in C headers and other protocols", "choose a name of the protocol's own"},
	Prefix:       {"XDL0303", "inconsistent-prefix", Advice, "RFC 4506 §6.4 (3)", "members share one name space with everything else: a prefix keeps them apart", "begin the name as the others do"},
	MagicNumber:  {"XDL0304", "magic-number", Advice, "RFC 4506 §4.17", "a number that stands in several places changes in some of them", "declare it with const and use the name"},
	Unused:       {"XDL0305", "unused-declaration", Advice, "", "no procedure or code point leads to it", "remove it, or say in a comment who uses it"},

	NullProcedure: {"XDL0401", "null-procedure", Warning, "RFC 5531 §12.1", "procedure 0 with no argument and no result is how clients and monitors ask whether a server is there", "add void NAME_NULL(void) = 0;"},
	ProgramNumber: {"XDL0402", "program-number", Warning, "RFC 5531 §8.3", "the number is 0, transient or reserved: it is not this protocol's alone", "use 0x20000000 to 0x3fffffff at home, or ask IANA for a number"},

	BadIgnore:   {"XDL0901", "bad-ignore", Warning, "", "who reads it later cannot tell what is let pass, and why", "write xdrgen:ignore rule-name reason"},
	StaleIgnore: {"XDL0902", "stale-ignore", Warning, "", "there is nothing left to ignore", "remove the comment"},
}

// Info returns what the table knows of r.
func (r Rule) Info() Info {
	if r < 0 || r >= numRules {
		return Info{Code: "XDL0000", Name: "unknown"}
	}
	return rules[r]
}

// Rules returns all rules, in order of their codes.
func Rules() []Info { return append([]Info(nil), rules[:]...) }

// ruleNamed returns the rule with a name.
func ruleNamed(name string) (Rule, bool) {
	for i, r := range rules {
		if r.Name == name {
			return Rule(i), true
		}
	}
	return 0, false
}

// nearest returns the name of a rule that a misspelled one may mean.
func nearest(name string) (string, bool) {
	var names []string
	for _, r := range rules {
		names = append(names, r.Name)
	}
	return diag.Nearest(name, names)
}
