package compat

// Verdict is the effect of a change on one kind of user.
type Verdict int

// The verdicts. Partly applies to the two directions of reading only: values that both sides
// know are accepted, the others are rejected.
const (
	OK Verdict = iota
	Partly
	Breaks
)

// String returns "ok", "partly" or "breaks".
func (v Verdict) String() string {
	switch v {
	case OK:
		return "ok"
	case Partly:
		return "partly"
	}
	return "breaks"
}

// Effects holds the verdicts on a change.
type Effects struct {
	Wire        Verdict // on the bytes of values that both versions can express
	Source      Verdict // on Go code written for the old package, built with the new one
	OldReadsNew Verdict // on an old peer that reads messages of a new one
	NewReadsOld Verdict // on a new peer that reads messages of an old one
}

// Extension returns the worse verdict of the two directions of reading.
func (e Effects) Extension() Verdict { return max(e.OldReadsNew, e.NewReadsOld) }

// Rule is a class of change. Its code and name never change once published.
type Rule int

// Info describes a rule.
type Info struct {
	Code    string // "XDC0201"
	Name    string // "field-added"
	Effects Effects
	Section string // section of the RFC with the rule; empty if the rules of Go decide
	Reason  string // why the verdicts hold, in one sentence
}

// The rules: declarations and constants, structs, types, enums, unions,
// programs, code points of the sidecar.
const (
	DeclAdded Rule = iota
	DeclRemoved
	DeclRenamed
	ConstValue
	ConstBound
	MessageRemoved
	GoNameChanged

	FieldAdded
	FieldRemoved
	FieldMoved
	FieldRenamed
	FieldsRegrouped

	TypeWire
	TypeSource
	TypeValues
	TypeWidened
	TypeNarrowed
	LengthChanged
	BoundRaised
	BoundLowered
	VoidChanged

	MemberAdded
	MemberAddedOpen
	MemberRemoved
	MemberRemovedOpen
	MemberRenamed
	MemberAlias
	MemberAliasGone
	MemberValue
	MemberLimit
	EnumOpened
	EnumClosed

	DiscRenamed
	ArmAdded
	ArmRemoved
	ArmRenamed
	DefaultAdded
	DefaultRemoved
	ArmOfDefault

	ProgramNumber
	ProgramRemoved
	VersionAdded
	VersionRemoved
	VersionRenamed
	VersionNumber
	ProcAdded
	ProcRemoved
	ProcRenamed
	ProcNumber

	CodeAdded
	CodeRemoved
	CodeType

	numRules
)

// The effects that most rules share.
var (
	harmless     = Effects{}
	nameOnly     = Effects{Source: Breaks}
	otherBytes   = Effects{Wire: Breaks, Source: Breaks, OldReadsNew: Breaks, NewReadsOld: Breaks}
	otherMeaning = Effects{Wire: Breaks, OldReadsNew: Breaks, NewReadsOld: Breaks}
	moreValues   = Effects{OldReadsNew: Partly}
	fewerValues  = Effects{NewReadsOld: Partly}
	gone         = Effects{Source: Breaks, NewReadsOld: Breaks}
)

// withSource returns e with another verdict on Go code.
func (e Effects) withSource(source Verdict) Effects {
	e.Source = source
	return e
}

// rules has the description of each rule, in order of the constants.
var rules = [numRules]Info{
	DeclAdded:   {"XDC0101", "declaration-added", harmless, "RFC 4506 §6.4 (3)", "nothing in the old version refers to it"},
	DeclRemoved: {"XDC0102", "declaration-removed", nameOnly, "", "the Go package no longer has the name; changes to the types that used it are reported separately"},
	DeclRenamed: {"XDC0103", "declaration-renamed", nameOnly, "RFC 4506 §1", "names are not sent, so the bytes stay the same; the Go name changes"},
	ConstValue:  {"XDC0104", "constant-value", otherMeaning, "RFC 4506 §4.17", "the files do not use it as a bound or case, so it may be a value that peers send"},
	ConstBound:  {"XDC0105", "constant-bound", harmless, "RFC 4506 §4.17", "it is used as a bound or case; the effect of the change is reported there"},

	MessageRemoved: {"XDC0106", "message-removed", gone, "", "nothing refers to it and the files declare no program, so it may be a message that an old peer sends and a new one does not know"},
	GoNameChanged:  {"XDC0107", "go-name-changed", nameOnly, "", "the sidecar or another declaration gives it another Go name; a \"rename\" line in the sidecar keeps the old one"},

	FieldAdded:   {"XDC0201", "field-added", otherMeaning, "RFC 4506 §4.14", "fields are sent one after the other without marks, so everything after this one moves"},
	FieldRemoved: {"XDC0202", "field-removed", otherBytes, "RFC 4506 §4.14", "fields are sent one after the other without marks, so everything after this one moves"},
	FieldMoved:   {"XDC0203", "field-moved", otherMeaning, "RFC 4506 §4.14", "fields are sent in the order of the declaration"},
	FieldRenamed: {"XDC0204", "field-renamed", nameOnly, "RFC 4506 §4.14", "field names are not sent"},

	FieldsRegrouped: {"XDC0205", "fields-regrouped", nameOnly, "RFC 4506 §4.12, §4.14", "a struct is encoded as its fields and a fixed-length array as its elements, so moving fields into or out of one leaves the bytes the same"},

	TypeWire:      {"XDC0301", "type-wire", otherBytes, "RFC 4506 §4", "the two types are encoded differently"},
	TypeSource:    {"XDC0302", "type-source", nameOnly, "RFC 4506 §4.18", "the encoding is the same; the Go type differs"},
	TypeValues:    {"XDC0303", "type-values", Effects{Source: Breaks, OldReadsNew: Partly, NewReadsOld: Partly}, "RFC 4506 §4", "both types have the same width, but the other side reads some values as other numbers or rejects them"},
	TypeWidened:   {"XDC0304", "type-widened", moreValues.withSource(Breaks), "RFC 4506 §4.3", "both types have the same width; an old peer rejects values that the old type does not have"},
	TypeNarrowed:  {"XDC0305", "type-narrowed", fewerValues.withSource(Breaks), "RFC 4506 §4.3", "both types have the same width; a new peer rejects values that the new type does not have"},
	LengthChanged: {"XDC0306", "length-changed", otherBytes, "RFC 4506 §4.9, §4.12", "the length of fixed-length data is not sent, so both sides must agree on it"},
	BoundRaised:   {"XDC0307", "bound-raised", moreValues, "RFC 4506 §4.10 to §4.13", "an old peer rejects data longer than its own bound"},
	BoundLowered:  {"XDC0308", "bound-lowered", fewerValues, "RFC 4506 §4.10 to §4.13", "a new peer rejects data longer than its own bound"},
	VoidChanged:   {"XDC0309", "void-changed", otherBytes, "RFC 4506 §4.16", "there is data on the wire where there was none, or the reverse"},

	MemberAdded:       {"XDC0401", "member-added", moreValues, "RFC 4506 §4.3", "an old peer rejects a number that is not in its enum"},
	MemberAddedOpen:   {"XDC0402", "member-added-open", harmless, "RFC 4506 §4.3", "the sidecar declares the enum open, so it accepts any number"},
	MemberRemoved:     {"XDC0403", "member-removed", fewerValues.withSource(Breaks), "RFC 4506 §4.3", "a new peer rejects the number; the Go package no longer has the name"},
	MemberRemovedOpen: {"XDC0404", "member-removed-open", nameOnly, "RFC 4506 §4.3", "the sidecar declares the enum open, so it accepts any number; the Go package no longer has the name"},
	MemberRenamed:     {"XDC0405", "member-renamed", nameOnly, "RFC 4506 §4.3", "enums are sent as numbers"},
	MemberAlias:       {"XDC0406", "member-alias", harmless, "RFC 4506 §4.3", "the number already has a name"},
	MemberAliasGone:   {"XDC0407", "member-alias-removed", nameOnly, "RFC 4506 §4.3", "the number keeps another name; the Go package no longer has this one"},
	MemberValue:       {"XDC0408", "member-value", otherMeaning, "RFC 4506 §4.3", "enums are sent as numbers"},
	MemberLimit:       {"XDC0411", "member-limit", moreValues, "RFC 4506 §4.3", "the name marks the end of the numbers, as before; if an old peer sends it as a value, a new peer reads a new member"},
	EnumOpened:        {"XDC0409", "enum-opened", moreValues, "RFC 4506 §4.3", "an old peer rejects numbers that are not in its enum"},
	EnumClosed:        {"XDC0410", "enum-closed", fewerValues, "RFC 4506 §4.3", "a new peer rejects numbers that are not in its enum"},

	DiscRenamed:    {"XDC0501", "discriminant-renamed", nameOnly, "RFC 4506 §4.15", "the name of the discriminant is not sent"},
	ArmAdded:       {"XDC0502", "arm-added", moreValues, "RFC 4506 §4.15", "an old peer rejects a value for which its union has no arm"},
	ArmRemoved:     {"XDC0503", "arm-removed", fewerValues.withSource(Breaks), "RFC 4506 §4.15", "a new peer rejects a value for which its union has no arm"},
	ArmRenamed:     {"XDC0504", "arm-renamed", nameOnly, "RFC 4506 §4.15", "arm names are not sent"},
	DefaultAdded:   {"XDC0505", "default-added", moreValues, "RFC 4506 §4.15", "an old peer rejects a value for which its union has no arm"},
	DefaultRemoved: {"XDC0506", "default-removed", fewerValues.withSource(Breaks), "RFC 4506 §4.15", "a new peer rejects a value for which its union has no arm"},

	ArmOfDefault: {"XDC0507", "arm-of-default", harmless, "RFC 8178 §4.2", "an old peer whose decoder accepts numbers that its enum lacks, as rpcgen's does, reads the default arm"},

	ProgramNumber:  {"XDC0601", "program-number", otherMeaning, "RFC 5531 §8.1", "calls identify the program by its number"},
	ProgramRemoved: {"XDC0602", "program-removed", gone, "RFC 5531 §9", "a new server answers PROG_UNAVAIL"},
	VersionAdded:   {"XDC0603", "version-added", harmless, "RFC 5531 §9", "an old server answers PROG_MISMATCH with the range of versions that it supports"},
	VersionRemoved: {"XDC0604", "version-removed", gone, "RFC 5531 §9", "a new server answers PROG_MISMATCH"},
	VersionRenamed: {"XDC0605", "version-renamed", nameOnly, "RFC 5531 §8.1", "calls identify the version by its number"},
	VersionNumber:  {"XDC0606", "version-number", otherMeaning, "RFC 5531 §8.1", "calls identify the version by its number"},
	ProcAdded:      {"XDC0607", "procedure-added", harmless, "RFC 5531 §9", "an old server answers PROC_UNAVAIL"},
	ProcRemoved:    {"XDC0608", "procedure-removed", gone, "RFC 5531 §9", "a new server answers PROC_UNAVAIL"},
	ProcRenamed:    {"XDC0609", "procedure-renamed", nameOnly, "RFC 5531 §8.1", "calls identify the procedure by its number"},
	ProcNumber:     {"XDC0610", "procedure-number", otherMeaning, "RFC 5531 §8.1", "calls identify the procedure by its number"},

	CodeAdded:   {"XDC0701", "code-point-added", moreValues, "", "an old peer does not know the type that the code point carries"},
	CodeRemoved: {"XDC0702", "code-point-removed", fewerValues, "", "a new peer does not know the type that the code point carries"},
	CodeType:    {"XDC0703", "code-point-type", otherBytes, "", "the code point carries a type with another encoding"},
}

// Info returns the description of r.
func (r Rule) Info() Info {
	if r < 0 || r >= numRules {
		return Info{Code: "XDC0000", Name: "unknown"}
	}
	return rules[r]
}

// Rules returns all rules, in order of their codes.
func Rules() []Info { return append([]Info(nil), rules[:]...) }
