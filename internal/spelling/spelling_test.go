package spelling

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
)

// TestNearestProposesSimilarNames has words at zero to three edits from the names.
func TestNearestProposesSimilarNames(t *testing.T) {
	names := []string{"uint32", "uint64", "cookie", "a", "status", "statuses"}
	for word, want := range map[string]string{
		"uint23": "uint32", "cokie": "cookie", "cookies": "cookie", "statsu": "status", "b": "", "nothing": "", "cookie": "", "": "",
		"uint65": "uint64", "kookey": "",
	} {
		if got, ok := Nearest(word, names); got != want || ok != (want != "") {
			t.Errorf("%q: %q %v, expected %q", word, got, ok, want)
		}
	}
}

func TestUndefinedFlagNamesTheNearest(t *testing.T) {
	set := flag.NewFlagSet("ls", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Int("port", 0, "")
	set.Int("mountport", 0, "")
	set.Bool("l", false, "")
	set.Duration("wait", 0, "")
	set.Uint("least", 0, "")
	set.Func("other", "", func(string) error { return errors.New("not this") })
	set.Bool("R", false, "")
	for in, want := range map[string]string{
		"-mountprt 1": `unknown flag "-mountprt"; did you mean -mountport?`,
		"--mount 1":   `unknown flag "-mount"; did you mean -mountport?`,
		"-lR":         `unknown flag "-lR"; did you mean -l -R?`,
		"-lRl":        `unknown flag "-lRl"; did you mean -l -R -l?`,
		"-lRlR":       `unknown flag "-lRlR"; did you mean -l?`, // four letters are a word
		"-long":       `unknown flag "-long"; did you mean -l?`,
		"-zzz":        `unknown flag "-zzz"`,
		"-port x":     `-port: found "x", expected a number`,
		"-port 1e99":  `-port: found "1e99", expected a number`,
		"-l=7":        `-l: found "7", expected true or false`,
		"-wait 5":     `-wait: found "5", expected a duration with its unit, such as 500ms or 5s`,
		"-least -5":   `-least: found "-5", expected a number, 0 or more`,
		"-other x":    `invalid value "x" for flag -other: not this`,
		"-port":       `-port: the value is missing`,
	} {
		if got := Flag(set, set.Parse(strings.Fields(in))); got == nil || got.Error() != want {
			t.Errorf("%s: found %v, expected %s", in, got, want)
		}
	}
	if err := Flag(set, nil); err != nil {
		t.Error(err)
	}
	if err := Flag(set, flag.ErrHelp); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
}

func TestLateFlagsAreNamed(t *testing.T) {
	if err := Late([]string{"a", "-", "--", "b"}); err != nil {
		t.Error(err)
	}
	if err := Late([]string{"a", "-v", "b"}); err == nil || err.Error() != `found the flag "-v" after an argument: flags come before the arguments` {
		t.Error(err)
	}
}

func TestProposalsAreAtMostFour(t *testing.T) {
	if got, want := DidYouMean("no x", strings.Split("abcdef", "")...), "no x; did you mean a, b, c or d?"; got != want {
		t.Errorf("found %q, expected %q", got, want)
	}
}
