package diag

// Rule is a class of fault. Its code and name do not change after a release.
type Rule int

// Info describes a rule.
type Info struct {
	Code     string // "XDR0101"
	Name     string // "undefined-type"
	Severity Severity
	Section  string // section of the document that has the rule, or empty
	Fix      string // what to do, in one line
}

// The rules. Letters, then words, then names, values, types, unions, programs,
// files, dialect, sidecar, Go names.
const (
	BadCharacter Rule = iota
	UnclosedComment
	BadNumber
	SyntaxError
	MissingSemicolon
	MissingBrace
	UnclosedBrace
	MissingEquals
	TooDeep
	NotText
	MissingComma

	UndefinedType
	UndefinedConst
	DuplicateName
	DuplicateField
	DuplicateMember
	NotAType
	NotAConst
	ReversedTypedef
	TagKind
	AmbiguousName

	ConstRange
	EnumRange
	ConstCycle
	BadBound

	ContainsItself
	BadVoid
	BadOpaque
	BadOptional

	BadDiscriminant
	DuplicateCase
	CaseNotInEnum
	CaseRange
	DuplicateDefault
	DuplicateArm
	ArmWithTwo
	ArmWithNone
	NoArms

	DuplicateProc
	DuplicateVersion
	DuplicateProgram
	ProgramRange
	EmptyProgram

	IncludeNotFound
	ImportCycle
	ImportPackage
	BadDirective
	UnbalancedIf
	IncludeTooDeep
	OriginMap
	ImportViews
	UnknownMark
	UnclosedDefinition

	CTypeName
	BareUnsigned
	TypedConst
	TrailingComma
	MemberNoValue
	LineComment
	UnknownDirective
	Pragma
	BareString
	StringConst
	SelfTypedef
	EmptyStruct
	NestedTag
	RepeatedValue
	EmptyArgs
	OptionalInProc
	RepeatedTypedef
	CDefinition
	CHeader
	Prelude
	OutputOnly
	ExtraSemicolon
	ForwardDecl
	DefaultPlace
	ConstForm
	ArmAsDisc
	NumberAsConst
	RPCWord
	LanguageName
	StructOfUnion
	NoDefinitions

	BindSyntax
	BindUnknownWord
	BindUnknownName
	BindDuplicate
	BindCode
	BindPath
	BindAmbiguous
	BindOfFolder
	BindNotRead
	AmendWhich
	AmendUnknown
	AmendKind
	AmendConflict
	AmendGuess

	GoName

	numRules
)

// rules is the table of faults. A fault with only one possible meaning is a warning. Other faults
// are errors.
var rules = [numRules]Info{
	BadCharacter:     {"XDR0001", "bad-character", Error, "RFC 4506 §6.2", "remove the character, or put it into a comment"},
	UnclosedComment:  {"XDR0002", "unclosed-comment", Error, "RFC 4506 §6.2", "end the comment with */"},
	BadNumber:        {"XDR0003", "bad-number", Error, "RFC 4506 §6.2", "write a decimal, 0x hexadecimal or 0 octal number of at most 64 bits"},
	SyntaxError:      {"XDR0004", "syntax-error", Error, "RFC 4506 §6.3", "compare with the grammar of RFC 4506 §6.3 and RFC 5531 §12.2"},
	MissingSemicolon: {"XDR0005", "missing-semicolon", Error, "RFC 4506 §6.3", "put a ; here"},
	MissingBrace:     {"XDR0006", "missing-brace", Error, "RFC 4506 §6.3", "put a { after it"},
	UnclosedBrace:    {"XDR0007", "unclosed-brace", Error, "RFC 4506 §6.3", "put a }; before the next definition"},
	MissingEquals:    {"XDR0008", "missing-equals", Error, "RFC 4506 §6.3", "put a = between the name and the value"},
	TooDeep:          {"XDR0009", "too-deep", Error, "", "give the inner types names of their own"},
	NotText:          {"XDR0010", "not-text", Error, "", "check that this is an XDR file in ASCII or UTF-8, of at most 16 MiB"},
	MissingComma:     {"XDR0011", "missing-comma", Error, "RFC 4506 §6.3", "put a , here"},

	UndefinedType:   {"XDR0101", "undefined-type", Error, "RFC 4506 §6.4", "declare it with typedef, struct, union or enum, or include the file that does"},
	UndefinedConst:  {"XDR0102", "undefined-constant", Error, "RFC 4506 §6.4", "declare it with const or in an enum, or give it with -D name=value"},
	DuplicateName:   {"XDR0103", "duplicate-name", Error, "RFC 4506 §6.4 (3)", "rename one of the two"},
	DuplicateField:  {"XDR0104", "duplicate-field", Error, "RFC 4506 §6.4 (4)", "rename one of the two"},
	DuplicateMember: {"XDR0105", "duplicate-member", Error, "RFC 4506 §4.3", "rename one of the two"},
	NotAType:        {"XDR0106", "not-a-type", Error, "RFC 4506 §6.3", "use the name of a type here"},
	NotAConst:       {"XDR0107", "not-a-constant", Error, "RFC 4506 §6.4 (2)", "use a number, a const or an enum member here"},
	ReversedTypedef: {"XDR0108", "reversed-typedef", Error, "RFC 4506 §4.18", "write the existing type first and the new name second"},
	TagKind:         {"XDR0109", "wrong-tag", Error, "RFC 4506 §6.3", "drop the word before the name, or use the one it was declared with"},
	AmbiguousName:   {"XDR0110", "ambiguous-name", Error, "RFC 4506 §6.4 (3)", "add a line \"from UNIT NAME\" to the sidecar for the unit that is meant"},

	ConstRange: {"XDR0201", "constant-range", Error, "RFC 4506 §4.17", "use a value from -2^63 to 2^64-1"},
	EnumRange:  {"XDR0202", "enum-range", Error, "RFC 4506 §4.3", "use a value from -2147483648 to 2147483647"},
	ConstCycle: {"XDR0203", "constant-cycle", Error, "RFC 4506 §4.17", "give one of them a number"},
	BadBound:   {"XDR0204", "bad-bound", Error, "RFC 4506 §6.4 (2)", "use an unsigned constant of at most 4294967295"},

	ContainsItself: {"XDR0301", "contains-itself", Error, "RFC 4506 §4.19", "make one of the fields optional with *, or an array with <>, or add a union arm without the type"},
	BadVoid:        {"XDR0302", "bad-void", Error, "RFC 4506 §4.16", "use void alone: as a union arm, as the argument or as the result"},
	BadOpaque:      {"XDR0303", "bad-opaque", Error, "RFC 4506 §4.9", "write opaque name[n], opaque name<n> or string name<n>"},
	BadOptional:    {"XDR0304", "bad-optional", Error, "RFC 4506 §4.19", "write type *name; with no bounds after it"},

	BadDiscriminant:  {"XDR0401", "bad-discriminant", Error, "RFC 4506 §6.4 (5)", "use int, unsigned int, bool or an enum"},
	DuplicateCase:    {"XDR0402", "duplicate-case", Error, "RFC 4506 §6.4 (5)", "remove one of the two"},
	CaseNotInEnum:    {"XDR0403", "case-not-in-enum", Error, "RFC 4506 §6.4 (5)", "use a member of the discriminant's enum"},
	CaseRange:        {"XDR0404", "case-range", Error, "RFC 4506 §6.4 (5)", "use a value that the discriminant can have"},
	DuplicateDefault: {"XDR0405", "duplicate-default", Error, "RFC 4506 §4.15", "keep one default"},
	DuplicateArm:     {"XDR0406", "duplicate-arm-name", Error, "RFC 4506 §6.4 (4)", "give each arm a name of its own; the wire does not change"},
	ArmWithTwo:       {"XDR0407", "two-declarations-in-arm", Error, "RFC 4506 §4.15", "put both into a struct; the wire does not change"},
	ArmWithNone:      {"XDR0408", "arm-without-declaration", Error, "RFC 4506 §4.15", "write void; if the arm has no data"},
	NoArms:           {"XDR0409", "union-without-arms", Error, "RFC 4506 §4.15", "write at least one case"},

	DuplicateProc:    {"XDR0501", "duplicate-procedure", Error, "RFC 5531 §12.3", "give each procedure of a version a name and number of its own"},
	DuplicateVersion: {"XDR0502", "duplicate-version", Error, "RFC 5531 §12.3", "give each version of a program a name and number of its own"},
	DuplicateProgram: {"XDR0503", "duplicate-program", Error, "RFC 5531 §12.3", "give each program a number of its own, or number the versions so that each number occurs once"},
	ProgramRange:     {"XDR0504", "program-range", Error, "RFC 5531 §12.3", "use a value from 0 to 4294967295"},
	EmptyProgram:     {"XDR0505", "empty-program", Error, "RFC 5531 §12.2", "write at least one version with one procedure"},

	IncludeNotFound:    {"XDR0601", "include-not-found", Error, "", "check the name, or give the folder above it with -I"},
	ImportCycle:        {"XDR0602", "import-cycle", Error, "", "move what both need into a unit of its own"},
	ImportPackage:      {"XDR0603", "import-package", Error, "", "add a line \"package PATH\" to that unit's sidecar, or give -import-root"},
	BadDirective:       {"XDR0604", "bad-directive", Error, "", "correct the line that begins with #"},
	UnbalancedIf:       {"XDR0605", "unbalanced-if", Error, "", "end each #if, #ifdef and #ifndef with one #endif"},
	IncludeTooDeep:     {"XDR0606", "include-too-deep", Error, "", "include fewer files within each other"},
	OriginMap:          {"XDR0607", "bad-origin-map", Warning, "", "extract the document again"},
	ImportViews:        {"XDR0608", "import-views", Error, "", "add a line \"views\" to that unit's sidecar and generate it again, or leave out views here"},
	UnknownMark:        {"XDR0609", "unknown-mark", Warning, "", "write @@FILE NAME.x before each file of the document, or /* FILE ENDS: NAME.x; */ after it"},
	UnclosedDefinition: {"XDR0610", "unclosed-definition", Error, "RFC 4506 §6.3", "close the definition, or name the sections with XDR with -section"},

	CTypeName:        {"XDR0701", "c-type-name", Warning, "RFC 4506 §6.3", "use int, unsigned int, hyper or unsigned hyper, or declare the name with typedef"},
	BareUnsigned:     {"XDR0702", "bare-unsigned", Warning, "RFC 4506 §6.3", "write unsigned int"},
	TypedConst:       {"XDR0703", "typed-const", Warning, "RFC 4506 §4.17", "remove the type: constants have none"},
	TrailingComma:    {"XDR0704", "trailing-comma", Warning, "RFC 4506 §6.3", "remove the comma after the last member"},
	MemberNoValue:    {"XDR0705", "member-without-value", Warning, "RFC 4506 §6.3", "write = and the value"},
	LineComment:      {"XDR0706", "line-comment", Warning, "RFC 4506 §6.2", "write /* */"},
	UnknownDirective: {"XDR0707", "ignored-directive", Warning, "", "remove the line, or begin it with % to keep it for C"},
	Pragma:           {"XDR0708", "ignored-pragma", Warning, "RFC 4506 §6.3", "remove it"},
	BareString:       {"XDR0709", "bare-string", Warning, "RFC 4506 §4.11", "write string name<>"},
	StringConst:      {"XDR0710", "string-constant", Warning, "RFC 4506 §4.17", "XDR constants are integers: this one is left out"},
	SelfTypedef:      {"XDR0711", "self-typedef", Warning, "RFC 4506 §4.18", "remove it: the name is a type already"},
	EmptyStruct:      {"XDR0712", "empty-struct", Warning, "RFC 4506 §4.14", "use void, or give it a field"},
	NestedTag:        {"XDR0713", "nested-tag", Warning, "RFC 4506 §6.3", "declare the type by itself, before this one"},
	RepeatedValue:    {"XDR0714", "repeated-value", Warning, "RFC 4506 §4.3", "keep them if two names for one value are intended"},
	EmptyArgs:        {"XDR0715", "empty-arguments", Warning, "RFC 5531 §12.2", "write (void)"},
	RepeatedTypedef:  {"XDR0717", "repeated-typedef", Warning, "RFC 4506 §6.4 (3)", "remove one of the two"},
	CDefinition:      {"XDR0718", "c-definition", Warning, "RFC 4506 §4.17", "declare it with const: NAME = VALUE"},
	CHeader:          {"XDR0719", "c-header", Warning, "", "include the .x file that the header is made of"},
	Prelude:          {"XDR0720", "from-prelude", Warning, "RFC 4506 §6.4", "declare it in the file, or include the file that does"},
	OutputOnly:       {"XDR0721", "rpcgen-output", Warning, "", "take the lines out of the #if, or define the name with -D"},
	ExtraSemicolon:   {"XDR0722", "extra-semicolon", Warning, "RFC 4506 §6.3", "remove it"},
	ForwardDecl:      {"XDR0723", "forward-declaration", Warning, "RFC 4506 §6.3", "remove it: names can be used before they are declared"},
	DefaultPlace:     {"XDR0724", "default-place", Warning, "RFC 4506 §6.3", "put default after the last case; a union has at least one case"},
	ConstForm:        {"XDR0725", "constant-form", Warning, "RFC 4506 §6.2", "write a decimal, 0x hexadecimal or 0 octal number"},
	ArmAsDisc:        {"XDR0726", "arm-named-as-discriminant", Warning, "RFC 4506 §6.4 (4)", "give the arm another name; the wire does not change"},
	NumberAsConst:    {"XDR0727", "number-as-constant", Warning, "RFC 4506 §6.4 (2)", "declare a constant with the number, and use it in both places"},
	RPCWord:          {"XDR0728", "rpc-keyword", Warning, "RFC 5531 §12.3", "choose another name: other compilers refuse this one; the wire does not change"},
	LanguageName:     {"XDR0729", "declared-by-language", Warning, "RFC 4506 §4.4", "remove it: the language declares FALSE = 0, TRUE = 1 and bool"},
	StructOfUnion:    {"XDR0730", "struct-of-union", Warning, "RFC 4506 §6.3", "drop the word struct: the type is a union; C has a struct for it, so rpcgen accepts the word"},
	NoDefinitions:    {"XDR0731", "no-definitions", Warning, "", "check that this is the file that you mean"},
	OptionalInProc:   {"XDR0716", "pointer-in-procedure", Warning, "RFC 5531 §12.2", "declare the optional type with typedef and use its name"},

	BindSyntax:      {"XDR0801", "bind-syntax", Error, "", "see xdrgen help sidecar for its syntax"},
	BindUnknownWord: {"XDR0802", "bind-unknown-word", Error, "", "use one of the statements that xdrgen help sidecar lists"},
	BindUnknownName: {"XDR0803", "bind-unknown-name", Error, "", "use a name that the unit declares"},
	BindDuplicate:   {"XDR0804", "bind-duplicate", Error, "", "remove one of the two"},
	BindCode:        {"XDR0805", "bind-code", Error, "", "name a constant from 0 to 4294967295 and a type of the unit"},
	BindPath:        {"XDR0806", "bind-path", Error, "", "list the fields from the argument or result down to an opaque, string or array (RFC 8166 §6.1)"},
	BindOfFolder:    {"XDR0808", "sidecar-of-folder", Warning, "", "give all files of the folder, or the sidecar with -bind"},
	BindNotRead:     {"XDR0809", "sidecar-not-read", Warning, "", "rename it after the .x file, or give it with -bind"},
	BindAmbiguous:   {"XDR0807", "bind-ambiguous", Error, "RFC 8166 §6.1", "use a separate type in each of the two places"},

	AmendWhich:    {"XDR0810", "amends-which", Error, "RFC 8178 §4", "name the type in a line \"amend NAME\" of the sidecar"},
	AmendUnknown:  {"XDR0811", "amend-unknown", Error, "", "name what an included unit declares and this unit adds to"},
	AmendKind:     {"XDR0812", "amend-kind", Error, "", "amend enums, unions and programs; declare other types again, and replace them"},
	AmendConflict: {"XDR0813", "amend-conflict", Error, "RFC 8178 §4", "use names and numbers that are not in use"},
	AmendGuess:    {"XDR0814", "amend-guess", Warning, "", "name the type in a comment above the lines"},

	GoName: {"XDR0901", "go-name-clash", Error, "", "add a rename to the sidecar"},
}

// Info returns the description of r.
func (r Rule) Info() Info {
	if r < 0 || r >= numRules {
		return Info{Code: "XDR0000", Name: "unknown"}
	}
	return rules[r]
}

// Rules returns all rules, in order of their codes.
func Rules() []Info {
	return append([]Info(nil), rules[:]...)
}
