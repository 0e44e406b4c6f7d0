package oracle

import (
	"fmt"
	"regexp"
)

// Difference is a rule by which two servers may answer questions differently.
type Difference struct {
	Kernel   string // Kernel is the series of kernels that differ, such as "6.1". If empty, all do.
	Question string // Question is a regular expression that matches the names of the questions.
	// Ours and Theirs are regular expressions that match the answers. If empty, all match.
	Ours, Theirs string
	// Mask is a regular expression. If it is not empty, the answers are the same but for what it
	// matches outside its groups.
	Mask   string
	Reason string // Reason says why, and why it stays so.
}

// Compare returns a line for each question that two servers answer differently without a
// [Difference] that allows it, and the differences that no question needed.
func Compare(ours, theirs []Answer, allowed []Difference) (wrong []string, unused []Difference) {
	used := make([]bool, len(allowed))
	var rules []rule
	for _, d := range allowed {
		rules = append(rules, newRule(d))
	}
	if len(ours) != len(theirs) {
		wrong = append(wrong, fmt.Sprintf("%d answers, but %d of the other server", len(ours), len(theirs)))
	}
	for i := range min(len(ours), len(theirs)) {
		a, b := ours[i], theirs[i]
		if a.Question != b.Question {
			return append(wrong, fmt.Sprintf("question %d: %s, but %s of the other server", i, a.Question, b.Question)), nil
		}
		if a.Text == b.Text {
			continue
		}
		found := false
		for j, r := range rules {
			if r.allows(a.Question, a.Text, b.Text) {
				found, used[j] = true, true
				break
			}
		}
		if !found {
			wrong = append(wrong, fmt.Sprintf("%s\n\tours:   %s\n\ttheirs: %s", a.Question, a.Text, b.Text))
		}
	}
	for j, d := range allowed {
		if !used[j] {
			unused = append(unused, d)
		}
	}
	return wrong, unused
}

// rule is a Difference, compiled.
type rule struct{ question, ours, theirs, mask *regexp.Regexp }

func newRule(d Difference) rule {
	whole := func(s string) *regexp.Regexp {
		if s == "" {
			s = `.*`
		}
		return regexp.MustCompile(`^(?s:` + s + `)$`)
	}
	r := rule{question: whole(d.Question), ours: whole(d.Ours), theirs: whole(d.Theirs)}
	if d.Mask != "" {
		r.mask = regexp.MustCompile(`(?s:` + d.Mask + `)`)
	}
	return r
}

// allows reports whether the answers to a question may differ as they do.
func (r rule) allows(question, ours, theirs string) bool {
	if !r.question.MatchString(question) || !r.ours.MatchString(ours) || !r.theirs.MatchString(theirs) {
		return false
	}
	return r.mask == nil || r.mask.ReplaceAllString(ours, "$1$2") == r.mask.ReplaceAllString(theirs, "$1$2")
}
