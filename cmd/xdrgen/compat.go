package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/compat"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gonames"
)

// compatCmd is the command "compat".
type compatCmd struct {
	inputFlags
	reportFlags
	findingsFlag
	documentFlags
	Allow []string `name:"allow"`
	All   bool     `name:"all"`
	Pure  bool     `name:"extends"`
	Names string   `name:"old-names"`
	Old   string   `arg:"" name:"old"`
	New   string   `arg:"" name:"new"`
}

// run compares two versions of a protocol and prints the changes to stdout. A
// version that does not compile is a failure, not a finding.
func (c *compatCmd) run(env environment) int {
	allow, err := compat.ParseAllow(c.Allow)
	if err != nil {
		return usage(env, fmt.Errorf("-allow: %w", err))
	}
	o, err := c.options()
	if err != nil {
		return usage(env, err)
	}
	var revisions [2]compat.Revision
	for i, name := range []string{atCommit(c.Old, c.New), atCommit(c.New, c.Old)} {
		r, err := c.compileRevision(name, o)
		if err != nil {
			return notCompiled(env, err)
		}
		if r.Unit == nil {
			if err := printErrors(env, r.Diags, c.reportFlags); err != nil {
				return failed(env, err)
			}
			return failed(env, fmt.Errorf("%s has errors, so it cannot be compared", name))
		}
		revisions[i] = compat.Revision{Unit: r.Unit, Bind: r.Bind, GoNames: gonames.Renames(r.Unit, r.Bind)}
	}
	if c.Names != "" {
		if err := recordedNames(c.Names, revisions[0].GoNames); err != nil {
			return failed(env, err)
		}
	}
	s := compatSummary{V: 1, Type: "summary"}
	var found []diag.Diagnostic
	for _, change := range compat.Compare(revisions[0], revisions[1]) {
		broken := allow.Broken(change)
		if c.Pure {
			if broken = nil; !change.Pure() && !allow[change.Rule.Info().Name] {
				broken = []string{"extends"}
			}
		}
		s.count(change, broken)
		if c.Format != "json" {
			if c.All || len(broken) > 0 || !c.Pure && len(change.Classes()) > 0 {
				found = append(found, changeFinding(change, broken))
			}
		} else if err := writeLine(env.stdout, jsonOf(change, broken)); err != nil {
			return failed(env, err)
		}
	}
	if c.Format == "json" {
		err = writeLine(env.stdout, s)
	} else {
		hidden := 0
		if c.Format == "text" { // other formats show all findings
			found, hidden = diag.Limit(found, c.Errors)
		}
		err = c.write(env, found, c.reportFlags)
		if c.Pure {
			s.printPure(env.stdout, c.Old, c.New)
		} else {
			s.print(env.stderr, hidden)
		}
	}
	switch {
	case err != nil:
		return failed(env, err)
	case s.Breaking > 0:
		return exitFindings
	}
	return exitClean
}

// atCommit completes git:REF to git:REF:other. Any other name is returned as it is.
func atCommit(name, other string) string {
	if ref, ok := strings.CutPrefix(name, "git:"); ok && !strings.Contains(ref, ":") && !strings.HasPrefix(other, "git:") {
		return name + ":" + other
	}
	return name
}

// changeFinding returns a change as a finding: an error if it breaks a class in broken,
// else a warning.
func changeFinding(change compat.Change, broken []string) diag.Diagnostic {
	classes := change.Classes()
	info := change.Rule.Info()
	severity, message, help := diag.Warning, change.Message, ""
	switch {
	case len(broken) > 0:
		severity, message = diag.Error, "breaks "+inWords(broken)+": "+message
		help = "undo the change, or allow it with -allow " + info.Name
	case len(classes) > 0:
		message = "breaks " + inWords(classes) + " (allowed): " + message
	default:
		message = "breaks nothing: " + message
	}
	d := diag.Diagnostic{
		Own:      &diag.Info{Code: info.Code, Name: info.Name, Severity: severity, Section: info.Section},
		Severity: severity, Span: change.New, Message: message, Help: help,
	}
	if change.New.Valid() {
		d = d.With(change.Old, "old version")
	} else {
		d.Span = change.Old
	}
	e := change.Effects
	return d.Note("%s", info.Reason).Note("%s", directions(e))
}

// inWords returns the names of classes as the messages spell them.
func inWords(classes []string) string {
	words := map[string]string{"wire": "the wire", "source": "Go source", "extension": "extension", "extends": "the rules for extensions"}
	var out []string
	for _, c := range classes {
		out = append(out, words[c])
	}
	return strings.Join(out, ", ")
}

// directions returns which peers can read each other's messages.
func directions(e compat.Effects) string {
	return fmt.Sprintf("an old peer can read what a new one sends: %s; a new peer can read what an old one sends: %s",
		reads(e.OldReadsNew), reads(e.NewReadsOld))
}

// reads returns a verdict on reading as the answer to a question.
func reads(v compat.Verdict) string {
	switch v {
	case compat.OK:
		return "yes"
	case compat.Partly:
		return "only values that it knows"
	}
	return "no"
}

// compatSummary is the last line of JSON output.
type compatSummary struct {
	V         int    `json:"v"`
	Type      string `json:"type"` // "summary"
	Changes   int    `json:"changes"`
	Wire      int    `json:"wire_breaks"` // changes that break the wire
	Source    int    `json:"source_breaks"`
	Extension int    `json:"extension_breaks"`
	Breaking  int    `json:"breaking"` // changes that break something that -allow does not name
}

// print writes the counts as text, unless nothing changed.
func (s *compatSummary) print(w io.Writer, hidden int) {
	if s.Changes == 0 {
		return
	}
	fmt.Fprintf(w, "xdrgen: %s: %d break the wire, %d Go source, %d extension; %d not allowed",
		count(s.Changes, "change"), s.Wire, s.Source, s.Extension, s.Breaking)
	if hidden > 0 {
		fmt.Fprintf(w, "; %d not shown (-errors 0 shows all)", hidden)
	}
	fmt.Fprintln(w)
}

// printPure prints the verdict on an extension.
func (s *compatSummary) printPure(w io.Writer, old, new string) {
	if s.Breaking > 0 {
		fmt.Fprintf(w, "%s is not a pure extension of %s: %s of %d\n", new, old, count(s.Breaking, "change"), s.Changes)
		return
	}
	fmt.Fprintf(w, "%s is a pure extension of %s: %s, all allowed; what a peer without it can send or receive has the same bytes\n", new, old, count(s.Changes, "change"))
}

// count adds a change to the counts.
func (s *compatSummary) count(c compat.Change, broken []string) {
	s.Changes++
	for _, k := range c.Classes() {
		switch k {
		case "wire":
			s.Wire++
		case "source":
			s.Source++
		case "extension":
			s.Extension++
		}
	}
	if len(broken) > 0 {
		s.Breaking++
	}
}

// jsonChange is one line of JSON output. Fields may be added, not changed.
type jsonChange struct {
	V           int         `json:"v"`
	Type        string      `json:"type"` // "change"
	Code        string      `json:"code"`
	Rule        string      `json:"rule"`
	Path        string      `json:"path"`
	Message     string      `json:"message"`
	Wire        string      `json:"wire"` // "ok", "partly" or "breaks"
	Source      string      `json:"source"`
	Extension   string      `json:"extension"`
	OldReadsNew string      `json:"old_reads_new"`
	NewReadsOld string      `json:"new_reads_old"`
	Breaks      []string    `json:"breaks"` // broken classes that -allow does not name
	Section     string      `json:"section,omitempty"`
	Reason      string      `json:"reason"`
	Old         *diag.Place `json:"old,omitempty"`
	New         *diag.Place `json:"new,omitempty"`
}

func jsonOf(c compat.Change, broken []string) jsonChange {
	info, e := c.Rule.Info(), c.Effects
	return jsonChange{
		V: 1, Type: "change", Code: info.Code, Rule: info.Name, Path: c.Path, Message: c.Message,
		Wire: e.Wire.String(), Source: e.Source.String(), Extension: e.Extension().String(),
		OldReadsNew: e.OldReadsNew.String(), NewReadsOld: e.NewReadsOld.String(),
		Breaks: append([]string{}, broken...), Section: info.Section, Reason: info.Reason,
		Old: diag.PlaceOf(c.Old), New: diag.PlaceOf(c.New),
	}
}

// writeLine writes v as one line of JSON.
func writeLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
