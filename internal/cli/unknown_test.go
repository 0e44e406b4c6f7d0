package cli

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// wordsLine is a command line with flags of each kind.
type wordsLine struct {
	Call struct {
		Carrier string `enum:"tcp,rdma" default:"tcp"`
		Output  string `short:"o"`
	} `cmd:""`
	Generate struct {
		Package string
		O       string `name:"o"`
	} `cmd:""`
	Diff struct {
		Package string
	} `cmd:""`
}

// TestUnknownWordsHaveProposals gives wrong first words and wrong flags to a parser.
func TestUnknownWordsHaveProposals(t *testing.T) {
	words := Words{"listen": "tool serve [ADDRESS]"}
	for in, want := range map[string]string{
		"cal":                `no command "cal"; did you mean call?`,
		"generator":          `no command "generator"; did you mean generate?`,
		"gen":                `no command "gen"; did you mean generate?`,
		"zzzz":               `no command "zzzz"`,
		"Listen":             `no command "Listen"; did you mean tool serve [ADDRESS]?`,
		"-listen :1":         `found "-listen", expected a command first, such as tool call; did you mean tool serve [ADDRESS]?`,
		"-tcp host":          `found "-tcp", expected a command first, such as tool call; did you mean tool call -carrier tcp?`,
		"-package=p x":       `found "-package=p", expected a command first, such as tool call; did you mean tool generate -package or tool diff -package?`,
		"-carier tcp":        `found "-carier", expected a command first, such as tool call; did you mean tool call -carrier?`,
		"--diff":             `found "--diff", expected a command first, such as tool call; did you mean tool diff?`,
		"-":                  `found "-", expected a command first, such as tool call`,
		"generate -packge x": `unknown flag -packge; did you mean -package?`,
		"generate --pack x":  `unknown flag -pack; did you mean -package?`,
		"generate -output x": `unknown flag -output; did you mean -o?`,
		"call -rdma x":       `unknown flag -rdma; did you mean -carrier rdma?`,
		"call -package x":    `unknown flag -package: it belongs to the commands generate and diff`,
		"diff -carrier x":    `unknown flag -carrier: it belongs to the command call`,
		"call -zzz":          `unknown flag -zzz`,
	} {
		parser, err := kong.New(&wordsLine{}, kong.Name("tool"), kong.NoDefaultHelp())
		if err != nil {
			t.Fatal(err)
		}
		args := strings.Fields(in)
		got := ""
		if _, err := parser.Parse(Long(args, "")); err == nil {
			t.Errorf("%s: accepted", in)
		} else if !IsCommand(parser.Model, args[0]) {
			got = NoCommand(parser.Model, args[0], words).Error()
		} else {
			got = Complaint(parser.Model, args[0], err).Error()
		}
		if got != want {
			t.Errorf("%s:\nfound    %s\nexpected %s", in, got, want)
		}
	}
}
