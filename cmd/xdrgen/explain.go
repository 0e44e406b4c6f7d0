package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/compat"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/explain"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/lint"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// explainCmd is the command "explain".
type explainCmd struct {
	List bool     `name:"list"`
	Code []string `arg:"" optional:"" name:"code"`
}

// run explains findings, given by code or name, or lists all.
func (c *explainCmd) run(env environment) int {
	entries, err := explain.Entries()
	if err != nil {
		return failed(env, err)
	}
	texts, err := explain.Others()
	if err != nil {
		return failed(env, err)
	}
	others := otherRules()
	switch {
	case c.List && len(c.Code) > 0:
		return usage(env, errors.New("found -list and a code; expected one of them"))
	case c.List:
		for _, e := range entries {
			fmt.Fprintf(env.stdout, "%s %-8s %-24s %s\n", e.Code, e.Severity, e.Name, e.Fix)
		}
		for _, o := range others {
			fmt.Fprintf(env.stdout, "%s %-8s %-24s %s\n", o.code, o.kind, o.name, o.words)
		}
		return exitClean
	case len(c.Code) == 0:
		return usage(env, errors.New("no code: give one, such as XDR0101 or undefined-type, or -list"))
	}
	for i, word := range c.Code {
		text, ok := explained(entries, others, texts, word)
		if !ok {
			return usage(env, unknownCode(entries, others, word))
		}
		if i > 0 {
			fmt.Fprintln(env.stdout)
		}
		fmt.Fprint(env.stdout, text)
	}
	return exitClean
}

// otherRule is a rule of lint or compat.
type otherRule struct{ code, name, kind, words, section, help string }

func otherRules() []otherRule {
	var out []otherRule
	for _, r := range lint.Rules() {
		out = append(out, otherRule{r.Code, r.Name, "lint", r.Reason, r.Section, r.Fix})
	}
	for _, r := range compat.Rules() {
		e := r.Effects
		verdicts := fmt.Sprintf("the wire: %s; Go source: %s; %s", e.Wire, e.Source, directions(e))
		out = append(out, otherRule{r.Code, r.Name, "compat", r.Reason, r.Section, verdicts})
	}
	return out
}

// text returns the explanation of a rule. e has its paragraphs and examples; it is nil if the rule
// has no entry.
func (o otherRule) text(e *explain.Entry) string {
	if e == nil {
		e = &explain.Entry{}
	}
	words, help, heads := e.Words, "Help", [2]string{"Wrong", "Right"}
	if words == "" {
		words = o.words + "\n"
	}
	if o.kind == "compat" {
		help, heads = "Effect", [2]string{"Before", "After"}
	}
	text := fmt.Sprintf("%s %s (%s)\n\n%s\n", o.code, o.name, o.kind, words)
	if o.section != "" {
		text += "Rule: " + o.section + "\n"
	}
	return text + help + ": " + o.help + "\n" + explain.Example(heads[0], e.Bad) + explain.Example(heads[1], e.Good)
}

// explained returns the explanation of a code or name, in any case of letters.
func explained(entries []explain.Entry, others []otherRule, texts map[string]*explain.Entry, word string) (text string, ok bool) {
	if e, ok := explain.Find(entries, word); ok {
		return e.Text(), true
	}
	for _, o := range others {
		if strings.EqualFold(o.code, word) || strings.EqualFold(o.name, word) {
			return o.text(texts[o.code]), true
		}
	}
	return "", false
}

// unknownCode returns the error for a word that is neither a code nor a name.
func unknownCode(entries []explain.Entry, others []otherRule, word string) error {
	var names []string
	for _, e := range entries {
		names = append(names, e.Code, e.Name)
	}
	for _, o := range others {
		names = append(names, o.code, o.name)
	}
	for _, w := range []string{strings.ToUpper(word), strings.ToLower(word)} {
		if near, ok := spelling.Nearest(w, names); ok {
			return fmt.Errorf("no code or name %s; did you mean %s?", diag.Quote(word), near)
		}
	}
	return fmt.Errorf("no code or name %s; xdrgen explain -list shows them all", diag.Quote(word))
}
