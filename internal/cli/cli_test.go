package cli

import (
	"os"
	"strings"
	"testing"
)

func TestLong(t *testing.T) {
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
			t.Errorf("%s: %s, want %s", in, got, want)
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
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestIsTerminal(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if IsTerminal(f) || IsTerminal(new(strings.Builder)) {
		t.Error("neither is one")
	}
	terminal, err := os.Open("/dev/ptmx") // a pseudo-terminal, which needs no terminal around the test
	if err != nil {
		t.Skip("this system has no /dev/ptmx")
	}
	defer terminal.Close()
	if !IsTerminal(terminal) {
		t.Error("a pseudo-terminal is one")
	}
}
