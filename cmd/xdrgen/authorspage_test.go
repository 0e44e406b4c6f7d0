package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAuthorsPageIsTrue writes the files of docs/protocol-authors.md, runs its commands, and
// compares the output that it shows.
func TestAuthorsPageIsTrue(t *testing.T) {
	page := readText(t, "../../docs/protocol-authors.md")
	spec, err := filepath.Abs("../../spec")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(spec, "spec"); err != nil {
		t.Skip("no symbolic links: ", err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	commands, files, shown := 0, 0, 0
	stdout := ""
	for i, part := range strings.Split(page, "```\n") {
		if i%2 == 1 {
			before := strings.Split(page, "```\n")[i-1]
			if at := strings.LastIndex(before, "`"); strings.HasSuffix(before, "`:\n\n") {
				name := before[strings.LastIndex(before[:at], "`")+1 : at]
				write(name, part)
				files++
				continue
			}
			if stdout != part {
				t.Errorf("the page shows\n%sthe command prints\n%s", part, stdout)
			}
			for line := range strings.Lines(part) {
				if len(line) > 70 {
					t.Errorf("%d columns: %s", len(line)-1, line)
				}
			}
			shown++
			continue
		}
		for line := range strings.Lines(part) {
			command, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "    xdrgen ")
			if !ok {
				continue
			}
			command, to, _ := strings.Cut(command, " >")
			var stderr string
			var code int
			stdout, stderr, code = runCommand(t, strings.Fields(command)...)
			commands++
			if to != "" {
				write(to, stdout)
			}
			_, after, _ := strings.Cut(part, line)
			want := exitClean
			if strings.HasPrefix(after, "\nfails,") {
				want = exitFindings
			}
			if code != want {
				t.Errorf("xdrgen %s: exit code %d, want %d\n%s%s", command, code, want, stdout, stderr)
			}
			if strings.HasPrefix(after, "\nprints nothing") && stdout+stderr != "" {
				t.Errorf("xdrgen %s prints\n%s%s", command, stdout, stderr)
			}
		}
	}
	if commands != 10 || files != 5 || shown != 3 {
		t.Errorf("%d commands, %d files and %d outputs", commands, files, shown)
	}
}

// TestDumpsFitAWidth folds the lines of a dump, and loses nothing.
func TestDumpsFitAWidth(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{"a.x": "struct inner { string a_rather_long_name_of_a_field<40>; opaque data<400>; };\nstruct outer { inner the_first_of_the_parts; inner another_of_them[2]; };\n"}))
	value := strings.Repeat("00000009"+"616263642065666768000000"+"000000640"+strings.Repeat("1", 199), 3)
	long, _, code := runCommand(t, "dump", "-all", "-type", "outer", "-hex", value, "a.x")
	if code != exitClean {
		t.Fatalf("exit code %d", code)
	}
	words := func(s string) string {
		return strings.Join(strings.Fields(strings.ReplaceAll(s, "|", " ")), "")
	}
	notes := func(s string, column int) (out []string) {
		for line := range strings.Lines(s) {
			if note := strings.TrimSuffix(line, "\n")[column:]; !strings.HasPrefix(note, "  |") {
				if strings.HasPrefix(note, "  ") {
					out[len(out)-1] += words(note)
				} else {
					out = append(out, words(note))
				}
			}
		}
		return out
	}
	for _, width := range []string{"48", "60", "72"} {
		short, stderr, code := runCommand(t, "dump", "-all", "-width", width, "-type", "outer", "-hex", value, "a.x")
		if code != exitClean {
			t.Fatalf("-width %s: exit code %d\n%s", width, code, stderr)
		}
		for line := range strings.Lines(short) {
			if len(line)-1 > map[string]int{"48": 48, "60": 60, "72": 72}[width] {
				t.Errorf("-width %s: %d columns: %s", width, len(line)-1, line)
			}
		}
		if a, b := strings.Join(notes(long, 35), "\n"), strings.Join(notes(short, 23), "\n"); a != b {
			t.Errorf("-width %s:\n%s\nwithout:\n%s", width, b, a)
		}
	}
	for _, args := range []string{"-width 47", "-width 72 -format json"} {
		if _, stderr, code := runCommand(t, strings.Fields("dump "+args+" -type outer -hex 00 a.x")...); code != exitUsage || !strings.Contains(stderr, "expected 48 columns or more, and -format text") {
			t.Errorf("%s: exit code %d, %s", args, code, stderr)
		}
	}
}
