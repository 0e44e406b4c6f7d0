package cli

import (
	"io"
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
			t.Errorf("Long(%q): found %q, expected %q", in, got, want)
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
