package compat

// Verdict is what a change does to one kind of user.
type Verdict int

// The verdicts. Partly is for readers only: all values that the other side
// knows too are read, the rest are refused.
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

// Effects are the verdicts on a change.
type Effects struct {
	Wire        Verdict // are values that both sides can express the same bytes?
	Source      Verdict // does Go code against the old package build with the new one?
	OldReadsNew Verdict // does an old peer take what a new one sends?
	NewReadsOld Verdict // does a new peer take what an old one sends?
}

// Extension is the worse of the two directions.
func (e Effects) Extension() Verdict { return max(e.OldReadsNew, e.NewReadsOld) }

// Rule is a class of change. Its code and name never change once published.
type Rule int

// Info is what the table knows of a rule.
type Info struct {
	Code    string // "XDC0201"
	Name    string // "field-added"
	Effects Effects
	Section string // the text that the verdicts follow from; empty where it is Go's rules
	Reason  string // why, in one sentence
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

// also returns e with Go code broken as well.
func (e Effects) also(source Verdict) Effects {
	e.Source = source
	return e
}

// rules is the one table of changes.
var rules = [numRules]Info{
	DeclAdded:   {"XDC0101", "declaration-added", harmless, "RFC 4506 §6.4 (3)", "nothing that exists refers to it"},
	DeclRemoved: {"XDC0102", "declaration-removed", nameOnly, "", "its name is gone from the Go package; what used it on the wire is reported where it did"},
	DeclRenamed: {"XDC0103", "declaration-renamed", nameOnly, "RFC 4506 §1", "typing is implicit, names are not sent: the bytes stay, the Go name changes"},
	ConstValue:  {"XDC0104", "constant-value", otherMeaning, "RFC 4506 §4.17", "nothing in the text uses it as a bound or case, so its number may be one that is sent"},
	ConstBound:  {"XDC0105", "constant-bound", harmless, "RFC 4506 §4.17", "it is used as a bound or case: what that changes is reported there"},

	MessageRemoved: {"XDC0106", "message-removed", gone, "", "nothing refers to it and no program says what is sent: it may be a message of its own, which a new peer does not know"},
	GoNameChanged:  {"XDC0107", "go-name-changed", nameOnly, "", "the sidecar, or what is declared beside it, gives it another Go name; a line \"rename\" in the sidecar keeps the old one"},

	FieldAdded:   {"XDC0201", "field-added", otherMeaning, "RFC 4506 §4.14", "fields follow each other with nothing between: all that comes after moves"},
	FieldRemoved: {"XDC0202", "field-removed", otherBytes, "RFC 4506 §4.14", "fields follow each other with nothing between: all that comes after moves"},
	FieldMoved:   {"XDC0203", "field-moved", otherMeaning, "RFC 4506 §4.14", "fields are sent in the order of the declaration"},
	FieldRenamed: {"XDC0204", "field-renamed", nameOnly, "RFC 4506 §4.14", "names of fields are not sent"},

	FieldsRegrouped: {"XDC0205", "fields-regrouped", nameOnly, "RFC 4506 §4.12, §4.14", "a struct is its fields and nothing else, an array of fixed length its elements: putting fields into one, or taking them out, moves nothing"},

	TypeWire:      {"XDC0301", "type-wire", otherBytes, "RFC 4506 §4", "the two types have different forms on the wire"},
	TypeSource:    {"XDC0302", "type-source", nameOnly, "RFC 4506 §4.18", "the form on the wire is the same, the Go type is another"},
	TypeValues:    {"XDC0303", "type-values", Effects{Source: Breaks, OldReadsNew: Partly, NewReadsOld: Partly}, "RFC 4506 §4", "the words are as wide, but some values mean other numbers, or are refused, on the other side"},
	TypeWidened:   {"XDC0304", "type-widened", moreValues.also(Breaks), "RFC 4506 §4.3", "the words are as wide; values that the old type has not are refused by an old peer"},
	TypeNarrowed:  {"XDC0305", "type-narrowed", fewerValues.also(Breaks), "RFC 4506 §4.3", "the words are as wide; values that the new type has not are refused by a new peer"},
	LengthChanged: {"XDC0306", "length-changed", otherBytes, "RFC 4506 §4.9, §4.12", "the length of fixed data is not sent: both sides must know the same"},
	BoundRaised:   {"XDC0307", "bound-raised", moreValues, "RFC 4506 §4.10 to §4.13", "an old peer refuses what is longer than its own bound"},
	BoundLowered:  {"XDC0308", "bound-lowered", fewerValues, "RFC 4506 §4.10 to §4.13", "a new peer refuses what is longer than its own bound"},
	VoidChanged:   {"XDC0309", "void-changed", otherBytes, "RFC 4506 §4.16", "there is data where there was none, or the reverse"},

	MemberAdded:       {"XDC0401", "member-added", moreValues, "RFC 4506 §4.3", "an old peer refuses a number that its enum has not"},
	MemberAddedOpen:   {"XDC0402", "member-added-open", harmless, "RFC 4506 §4.3", "the sidecar has the enum take any number"},
	MemberRemoved:     {"XDC0403", "member-removed", fewerValues.also(Breaks), "RFC 4506 §4.3", "a new peer refuses the number; the Go name is gone"},
	MemberRemovedOpen: {"XDC0404", "member-removed-open", nameOnly, "RFC 4506 §4.3", "the sidecar has the enum take any number; the Go name is gone"},
	MemberRenamed:     {"XDC0405", "member-renamed", nameOnly, "RFC 4506 §4.3", "enums are sent as numbers"},
	MemberAlias:       {"XDC0406", "member-alias", harmless, "RFC 4506 §4.3", "the number has a name already"},
	MemberAliasGone:   {"XDC0407", "member-alias-removed", nameOnly, "RFC 4506 §4.3", "the number keeps another name; this Go name is gone"},
	MemberValue:       {"XDC0408", "member-value", otherMeaning, "RFC 4506 §4.3", "enums are sent as numbers"},
	MemberLimit:       {"XDC0411", "member-limit", moreValues, "RFC 4506 §4.3", "the name marks the end of the numbers, as before; who sends it all the same means a new member to a new peer"},
	EnumOpened:        {"XDC0409", "enum-opened", moreValues, "RFC 4506 §4.3", "an old peer refuses numbers that its enum has not"},
	EnumClosed:        {"XDC0410", "enum-closed", fewerValues, "RFC 4506 §4.3", "a new peer refuses numbers that its enum has not"},

	DiscRenamed:    {"XDC0501", "discriminant-renamed", nameOnly, "RFC 4506 §4.15", "the name of the discriminant is not sent"},
	ArmAdded:       {"XDC0502", "arm-added", moreValues, "RFC 4506 §4.15", "an old peer refuses a value for which its union has no arm"},
	ArmRemoved:     {"XDC0503", "arm-removed", fewerValues.also(Breaks), "RFC 4506 §4.15", "a new peer refuses a value for which its union has no arm"},
	ArmRenamed:     {"XDC0504", "arm-renamed", nameOnly, "RFC 4506 §4.15", "the names of arms are not sent"},
	DefaultAdded:   {"XDC0505", "default-added", moreValues, "RFC 4506 §4.15", "an old peer refuses a value for which its union has no arm"},
	DefaultRemoved: {"XDC0506", "default-removed", fewerValues.also(Breaks), "RFC 4506 §4.15", "a new peer refuses a value for which its union has no arm"},

	ProgramNumber:  {"XDC0601", "program-number", otherMeaning, "RFC 5531 §8.1", "calls name the program by its number"},
	ProgramRemoved: {"XDC0602", "program-removed", gone, "RFC 5531 §9", "a new server answers PROG_UNAVAIL"},
	VersionAdded:   {"XDC0603", "version-added", harmless, "RFC 5531 §9", "an old server answers PROG_MISMATCH and tells the versions that it has"},
	VersionRemoved: {"XDC0604", "version-removed", gone, "RFC 5531 §9", "a new server answers PROG_MISMATCH"},
	VersionRenamed: {"XDC0605", "version-renamed", nameOnly, "RFC 5531 §8.1", "calls name the version by its number"},
	VersionNumber:  {"XDC0606", "version-number", otherMeaning, "RFC 5531 §8.1", "calls name the version by its number"},
	ProcAdded:      {"XDC0607", "procedure-added", harmless, "RFC 5531 §9", "an old server answers PROC_UNAVAIL"},
	ProcRemoved:    {"XDC0608", "procedure-removed", gone, "RFC 5531 §9", "a new server answers PROC_UNAVAIL"},
	ProcRenamed:    {"XDC0609", "procedure-renamed", nameOnly, "RFC 5531 §8.1", "calls name the procedure by its number"},
	ProcNumber:     {"XDC0610", "procedure-number", otherMeaning, "RFC 5531 §8.1", "calls name the procedure by its number"},

	CodeAdded:   {"XDC0701", "code-point-added", moreValues, "", "an old peer does not know what the code point carries"},
	CodeRemoved: {"XDC0702", "code-point-removed", fewerValues, "", "a new peer does not know what the code point carries"},
	CodeType:    {"XDC0703", "code-point-type", otherBytes, "", "the code point carries another form on the wire"},
}

// Info returns what the table knows of r.
func (r Rule) Info() Info {
	if r < 0 || r >= numRules {
		return Info{Code: "XDC0000", Name: "unknown"}
	}
	return rules[r]
}

// Rules returns all rules, in order of their codes.
func Rules() []Info { return append([]Info(nil), rules[:]...) }
