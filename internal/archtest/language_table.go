package archtest

import (
	"regexp"
	"slices"
	"strings"
)

// Wording is a turn of phrase that reads as a literal translation, and the
// plain English to write in its place.
type Wording struct {
	rule    string   // "wording" or "accent"
	words   []string // each match has one of these, in lower case; empty: not known
	match   *regexp.Regexp
	except  *regexp.Regexp // matches of it are plain after all; may be nil
	instead string
}

// wording compiles a Wording. In both patterns a blank stands for any white
// space, line breaks included, and letters for both cases.
func wording(match, except, instead string) Wording {
	compile := func(pattern string) *regexp.Regexp {
		return regexp.MustCompile(`(?i)` + blank.ReplaceAllString(pattern, `\s+`))
	}
	w := Wording{rule: "wording", match: compile(match), instead: instead}
	if except != "" {
		w.except = compile(except)
	}
	return w
}

var blank = regexp.MustCompile(` `)

// Wordings returns the patterns that CheckLanguage counts. Each is chosen to
// have few matches that are plain English.
func Wordings() []Wording {
	const (
		be     = `(?:is|are|was|were|be)`
		noun   = `name the thing ("inline data", "pending calls") or the one that acts`
		doer   = `name the caller, the peer, the provider, the engine or the server`
		report = `"returns", "logs", "reports", "advertises", "says" or "distinguishes"`
		again  = `"again", or "new" before the noun`
	)
	return []Wording{
		wording(`\b`+be+` what\b`, ``, `a noun or a verb: "Config holds the settings of", "Kind is the purpose of"`),
		wording(`\bwhat (?:is|are|was|were|has|have|had|comes|came|goes|stands|stood|lies|cannot)\b`, ``, noun),
		wording(`\bthat which\b`, ``, noun),
		wording(`(?:\b[a-z]+ )?\bwho\b`, `^(?:people|person|users?|readers?|authors?|engineers?|anyone|everyone) `, doer),
		wording(`\b`+be+` (?:how|why)\b`, ``, `the verb itself, or the noun: "sends", "is the number of"`),
		wording(`\b`+be+` one (?:that|which|of which|whose)\b`, ``, `the verb itself: "file counts the bytes that it writes"`),
		wording(`\b`+be+` that of\b`, ``, `the noun again, or "from": "the default port of NFS"`),
		wording(`(?:\btells\b|\btold\b)(?: [a-z]+)?(?: apart)?`, ` apart$`, report),
		wording(`\blest\b`, ``, `"so that ... not", or say what happens otherwise`),
		wording(`\banew\b`, ``, again),
		wording(`\bbe it\b`, ``, `"whether"`),
		wording(`\bhe\b|\bhim\b|\bhimself\b|\bshe\b|\bherself\b`, ``, `"it", or `+doer),
		wording(`\blately\b`, ``, `"recently", or since when`),
		wording(`\bfor ever\b`, ``, `"indefinitely", "permanently" or "without a limit"`),
		wording(`\b(?:no|some)body\b`, ``, doer+`; or the passive: "is not read"`),
		wording(`\b(?:has|had|have) it so\b`, ``, `"enables", "requires" or "configures"`),
		wording(`\beach way the lesser\b`, ``, `"each direction uses the smaller"`),
		wording(`\b(?:is|are) for it\b`, ``, `"wants it" or "supports it"`),
	}
}

// possible reports whether a text, in lower case, can have a match.
func (w Wording) possible(lower string) bool {
	return len(w.words) == 0 || slices.ContainsFunc(w.words, func(word string) bool { return strings.Contains(lower, word) })
}
