package spelling

import (
	"errors"
	"flag"
	"fmt"
	"strings"
)

// Flag returns the error of a flag set's Parse. If the flag is not defined, the error names the
// flags that may be meant. Other errors are returned unchanged.
func Flag(set *flag.FlagSet, err error) error {
	if err == nil {
		return nil
	}
	name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !ok {
		return err
	}
	var names []string
	set.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return errors.New(DidYouMean(fmt.Sprintf("unknown flag %.64q", "-"+name), Dashed(Flags(name, names))...))
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
