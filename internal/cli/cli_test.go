package cli

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestLongMakesLongFlags(t *testing.T) {
	for in, want := range map[string]string{
		"-json x":        "--json x",
		"--json":         "--json",
		"-o=dir -o dir":  "-o=dir -o dir",
		"-c3 -c 3 -W5s":  "-c3 -c 3 -W5s",
		"-Iinc -DA=1 -I": "-Iinc -DA=1 -I",
		"-size=4k -- -x": "--size=4k -- -x",
		"-":              "-",
		"-P 2 -remote":   "-P 2 --remote",
	} {
		if got := strings.Join(Long(strings.Fields(in), "ID"), " "); got != want {
			t.Errorf("Long(%q): found %q, expected %q", in, got, want)
		}
	}
}

func TestComplaintNamesTheFlagGiven(t *testing.T) {
	var line struct { // two commands with different short names for the same long one
		Ping struct {
			Count uint64 `short:"c"`
		} `cmd:""`
		Perf struct {
			Count uint64 `short:"n"`
		} `cmd:""`
	}
	parser, err := kong.New(&line)
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`--count: expected a valid 64 bit uint but got "x"`:                                 `-n: found "x", expected a number, 0 or more`,
		`--count: expected uint value but got "-1" (short flag); perhaps try --count="-1"?`: `-n: found "-1", expected a number, 0 or more`,
		`--name: expected string value but got "-x" (short flag)`:                           `-name: found "-x", expected a value that does not begin with -`,
		`--time: expected duration value but got "-1s" (short flag)`:                        `-time: found "-1s", expected a duration that is not negative`,
		`--time: expected duration value but got "-x"`:                                      `-time: found "-x", expected a value that does not begin with -`,
		`--count: expected uint value but got "EOL" (<EOL>)`:                                `-n: the value is missing`,
		`--count: missing value, expecting "<arg>"`:                                         `-n: the value is missing`,
		`--vers: expected a valid 32 bit uint but got "99999999999"`:                        `-vers: found "99999999999", expected a number from 0 to 4294967295`,
		`--depth: expected a valid 64 bit int but got "1.5"`:                                `-depth: found "1.5", expected a number`,
		`--time: expected duration but got "5": time: missing unit in duration "5"`:         `-time: found "5", expected a duration with its unit, such as 500ms or 5s`,
		`--json: bool value must be true, 1, yes, false, 0 or no but got "x"`:               `-json: found "x", expected true or false`,
		`--format must be one of "text","json" but got "xml"`:                               `-format: found "xml", expected one of "text","json"`,
		`--size: found "1q", expected a number of bytes`:                                    `-size: found "1q", expected a number of bytes`,
		`missing flags: --count=STRING`:                                                     `-n is missing`,
		`expected "<file> ..."`:                                                             `FILE is missing`,
		`expected "<old> <new>"`:                                                            `OLD is missing`,
	} {
		if got := Complaint(parser.Model, "perf", errors.New(in)).Error(); got != want {
			t.Errorf("Complaint(%q): found %q, expected %q", in, got, want)
		}
	}
}

func TestWantsHelp(t *testing.T) {
	for in, want := range map[string]string{
		"": "help: ", "help": "help: ", "help a b": "help: a b", "-h": "help: ", "a -help x": "help: a", "-x --help": "help: ", "a b": "", "a -- -h": "",
	} {
		got := ""
		if topic, ok := WantsHelp(strings.Fields(in)); ok {
			got = "help: " + topic
		}
		if got != want {
			t.Errorf("WantsHelp(%q): found %q, expected %q", in, got, want)
		}
	}
}

func TestIsTerminal(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	// The null device is a character device, as terminals are.
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for name, w := range map[string]io.Writer{"a file": file, os.DevNull: null, "a strings.Builder": new(strings.Builder)} {
		if IsTerminal(w) {
			t.Errorf("%s is taken for a terminal", name)
		}
	}
	// A pseudo-terminal, so that the test can run without a terminal.
	terminal, err := os.Open("/dev/ptmx")
	if err != nil {
		t.Skip("this system has no /dev/ptmx")
	}
	defer terminal.Close()
	if !IsTerminal(terminal) {
		t.Error("a pseudo-terminal is not recognized")
	}
}
