package spelling

import (
	"errors"
	"flag"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Flag returns the error of a flag set's Parse in words for people. If the flag is not defined, the
// error names the flags that may be meant; if its value is wrong, the value that is expected. Other
// errors are returned unchanged.
func Flag(set *flag.FlagSet, err error) error {
	if err == nil {
		return nil
	}
	if m := wrongValue.FindStringSubmatch(err.Error()); m != nil {
		if f := set.Lookup(m[2]); f != nil && expected(f) != "" {
			return fmt.Errorf("-%s: found %s, expected %s", m[2], m[1], expected(f))
		}
		return err
	}
	if name, ok := strings.CutPrefix(err.Error(), "flag needs an argument: "); ok {
		return fmt.Errorf("%s: the value is missing", name)
	}
	name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !ok {
		return err
	}
	var names []string
	set.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return errors.New(DidYouMean(fmt.Sprintf("unknown flag %.64q", "-"+name), Dashed(Flags(name, names))...))
}

// wrongValue matches the error of a flag set about a value that a flag cannot have.
var wrongValue = regexp.MustCompile(`(?s)^invalid (?:boolean )?value (".*") for (?:flag )?-(\S+): `)

// expected returns the values that a flag can have, or "" for a type that package flag does not
// have.
func expected(f *flag.Flag) string {
	g, ok := f.Value.(flag.Getter)
	if !ok {
		return ""
	}
	switch g.Get().(type) {
	case int, int64, float64:
		return "a number"
	case uint, uint64:
		return "a number, 0 or more"
	case bool:
		return "true or false"
	case time.Duration:
		return "a duration with its unit, such as 500ms or 5s"
	}
	return ""
}

// Late returns an error if one of the arguments after the flags is a flag, which package flag takes
// for an argument.
func Late(args []string) error {
	for _, a := range args {
		if len(a) > 1 && a[0] == '-' && a != "--" {
			return fmt.Errorf("found the flag %.64q after an argument: flags come before the arguments", a)
		}
	}
	return nil
}

// Flags returns the flags that a word without its dashes may mean, best first: the one with the
// nearest spelling, those that begin with the word, the flags of one letter that the word is
// composed of, or the one that is its first letter.
func Flags(word string, names []string) []string {
	if near, ok := Nearest(word, names); ok {
		return []string{near}
	}
	known := map[string]bool{}
	var longer, letters []string
	for _, n := range names {
		known[n] = true
		if len(word) > 1 && strings.HasPrefix(n, word) {
			longer = append(longer, n)
		}
	}
	if len(longer) > 0 {
		return longer
	}
	for _, letter := range strings.Split(word, "") {
		if !known[letter] {
			letters = nil
			break
		}
		letters = append(letters, letter)
	}
	switch {
	case len(letters) > 1 && len(letters) < 4:
		return []string{strings.Join(letters, " -")}
	case len(word) > 1 && known[word[:1]]:
		return []string{word[:1]}
	}
	return nil
}

// Dashed returns flags as they are written on a command line.
func Dashed(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = "-" + n
	}
	return out
}

// maxProposals is the largest number of names that DidYouMean lists.
const maxProposals = 4

// DidYouMean adds proposals to a message. Without proposals it returns the message unchanged.
func DidYouMean(message string, proposals ...string) string {
	proposals = proposals[:min(len(proposals), maxProposals)]
	switch n := len(proposals); n {
	case 0:
		return message
	case 1:
		return message + "; did you mean " + proposals[0] + "?"
	default:
		return message + "; did you mean " + strings.Join(proposals[:n-1], ", ") + " or " + proposals[n-1] + "?"
	}
}
