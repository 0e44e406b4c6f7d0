package diag

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// The objects of SARIF 2.1.0 that WriteSARIF writes, with the names of the standard (OASIS, 27
// March 2020) and its sections.
type (
	sarifLog struct { // §3.13
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct { // §3.14
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct { // §3.18
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct { // §3.19
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct { // §3.49
		ID      string        `json:"id"`
		Name    string        `json:"name"`
		Short   sarifMessage  `json:"shortDescription"`
		Help    *sarifMessage `json:"help,omitempty"`
		Default sarifConfig   `json:"defaultConfiguration"`
	}
	sarifConfig struct { // §3.50
		Level string `json:"level"`
	}
	sarifMessage struct { // §3.11
		Text string `json:"text"`
	}
	sarifResult struct { // §3.27
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
		Related   []sarifLocation `json:"relatedLocations,omitempty"`
		Fixes     []sarifFix      `json:"fixes,omitempty"`
	}
	sarifFix struct { // §3.55
		Description sarifMessage  `json:"description"`
		Changes     []sarifChange `json:"artifactChanges"`
	}
	sarifChange struct { // §3.56
		Artifact     sarifArtifact      `json:"artifactLocation"`
		Replacements []sarifReplacement `json:"replacements"`
	}
	sarifReplacement struct { // §3.57
		Deleted  sarifRegion   `json:"deletedRegion"`
		Inserted *sarifContent `json:"insertedContent,omitempty"`
	}
	sarifContent struct { // §3.3
		Text string `json:"text"`
	}
	sarifLocation struct { // §3.28
		ID       int           `json:"id,omitempty"`
		Physical sarifPhysical `json:"physicalLocation"`
		Message  *sarifMessage `json:"message,omitempty"`
	}
	sarifPhysical struct { // §3.29
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct { // §3.4
		URI string `json:"uri"`
	}
	sarifRegion struct { // §3.30
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
		EndColumn   int `json:"endColumn"`
	}
)

// WriteSARIF writes findings as a SARIF 2.1.0 log, with the rules of the findings.
func WriteSARIF(w io.Writer, ds []Diagnostic) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "xdrgen", Rules: []sarifRule{}}
	index := map[string]int{} // by code
	for _, d := range ds {
		info := d.Info()
		if _, ok := index[info.Code]; !ok {
			index[info.Code] = len(run.Tool.Driver.Rules)
			rule := sarifRule{
				ID: info.Code, Name: info.Name, Short: sarifMessage{ruleTitle(info)}, Default: sarifConfig{info.Severity.String()},
			}
			if info.Fix != "" {
				rule.Help = &sarifMessage{info.Fix}
			}
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule)
		}
		r := sarifResult{
			RuleID: info.Code, RuleIndex: index[info.Code], Level: d.Severity.String(),
			Message: sarifMessage{longMessage(d)},
		}
		if d.Span.Valid() {
			r.Locations = []sarifLocation{{Physical: physical(d.Span)}}
		}
		for i, rel := range d.Related {
			r.Related = append(r.Related, sarifLocation{ID: i + 1, Physical: physical(rel.Span), Message: &sarifMessage{clean(rel.Label)}})
		}
		if len(d.Fix) > 0 {
			r.Fixes = []sarifFix{fixOf(d)}
		}
		run.Results = append(run.Results, r)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

// fixOf returns the edits of check -fix as changes of files.
func fixOf(d Diagnostic) sarifFix {
	out := sarifFix{Description: sarifMessage{clean(d.HelpText())}}
	for _, e := range d.Fix {
		p := physical(e.Span)
		r := sarifReplacement{Deleted: p.Region}
		if e.Text != "" {
			r.Inserted = &sarifContent{e.Text}
		}
		if n := len(out.Changes); n > 0 && out.Changes[n-1].Artifact == p.Artifact {
			out.Changes[n-1].Replacements = append(out.Changes[n-1].Replacements, r)
		} else {
			out.Changes = append(out.Changes, sarifChange{p.Artifact, []sarifReplacement{r}})
		}
	}
	return out
}

func ruleTitle(i Info) string {
	title := strings.ReplaceAll(i.Name, "-", " ")
	if i.Section != "" {
		title += " (" + i.Section + ")"
	}
	return title
}

// physical returns the place of a span. Columns count characters from 1. The end column is the
// one after the last character (§3.30.8).
func physical(s source.Span) sarifPhysical {
	from, to := s.Position(), s.EndPosition()
	return sarifPhysical{
		Artifact: sarifArtifact{uri(s.File.Name)},
		Region:   sarifRegion{from.Line, from.Column, to.Line, to.Column},
	}
}

// uri returns a file name as a URI reference. A relative name gives a relative reference (§3.4.3).
func uri(name string) string {
	u := url.URL{Path: filepath.ToSlash(name)}
	if strings.HasPrefix(u.Path, "/") {
		u.Scheme = "file"
	}
	return u.String()
}
