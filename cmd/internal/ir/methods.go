package ir

// Methods is the set of optional methods of generated types.
type Methods struct {
	String bool // "string": String() string
	Clone  bool // "clone": Clone() (*T, error)
	Equal  bool // "equal": Equal(*T) bool
	Stream bool // "stream": EncodeTo(io.Writer) error, DecodeFrom(io.Reader, int) error
	JSON   bool // "json": MarshalJSON and UnmarshalJSON
}

// DefaultMethods returns the methods that generated types have unless the sidecar or the flag
// -with says otherwise.
func DefaultMethods() Methods { return Methods{String: true} }

// MethodWords are the words of the sidecar's "with" line and of the flag -with: the names of the
// optional methods, and "none".
func MethodWords() []string { return []string{"none", "string", "clone", "equal", "stream", "json"} }

// Apply changes the set by one word: the name of a method adds it, "none" removes all. It reports
// false if the word is unknown.
func (m *Methods) Apply(word string) bool {
	switch word {
	case "none":
		*m = Methods{}
	case "string":
		m.String = true
	case "clone":
		m.Clone = true
	case "equal":
		m.Equal = true
	case "stream":
		m.Stream = true
	case "json":
		m.JSON = true
	default:
		return false
	}
	return true
}

// MethodsWith returns the default methods, changed by lists of words in order. Unknown words change
// nothing.
func MethodsWith(lists ...[]string) Methods {
	m := DefaultMethods()
	for _, list := range lists {
		for _, w := range list {
			m.Apply(w)
		}
	}
	return m
}
