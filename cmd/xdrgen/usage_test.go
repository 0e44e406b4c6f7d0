package main

import (
	"strings"
	"testing"
)

// TestWrongCommandLinesAreExplained checks the messages on wrong command lines.
func TestWrongCommandLinesAreExplained(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{"a.x": "struct a { int b; };\n", "none/a.txt": "", "unit/a.x": "struct a { b c; };\n", "unit/b.x": "typedef int b;\n"}))
	for args, want := range map[string]string{
		"chek a.x":               "no command \"chek\"; did you mean check?\ntry xdrgen help\n",
		"a.x":                    "\"a.x\" is not a command; to check the file, run xdrgen check a.x\ntry xdrgen help\n",
		"generate a.x":           "no command \"generate\"; did you mean gen?\ntry xdrgen help\n",
		"-o out a.x":             "found \"-o\", expected a command first, such as xdrgen check; did you mean xdrgen gen -o, xdrgen diff -o, xdrgen wireshark -o or xdrgen doc -o?\ntry xdrgen help\n",
		"-packge p a.x":          "found \"-packge\", expected a command first, such as xdrgen check; did you mean xdrgen gen -package or xdrgen diff -package?\n",
		"genn a.x":               "no command \"genn\"; did you mean gen?\n",
		"compile a.x":            "no command \"compile\"; did you mean xdrgen gen?\n",
		"gen --packge p a.x":     "unknown flag -packge; did you mean -package?\nusage: xdrgen gen",
		"gen -output p a.x":      "unknown flag -output; did you mean -o?\nusage: xdrgen gen",
		"gen a.x -o":             "-o: the value is missing\nusage: xdrgen gen -o DIR",
		"check a.x -I":           "-I: the value is missing\nusage: xdrgen check",
		"gen -o a.x a.x":         "-o a.x: found a file, expected a folder for the package, such as -o a\n",
		"diff -o a.x a.x":        "-o a.x: found a file, expected a folder",
		"zzzzzz":                 "no command \"zzzzzz\"\ntry xdrgen help\n",
		"help chek":              "no help on \"chek\"; did you mean check?\ntry xdrgen help\n",
		"check -strickt a.x":     "unknown flag -strickt; did you mean -strict?\nusage: xdrgen check [-strict]",
		"check":                  "FILE is missing\nusage: xdrgen check [-strict]",
		"gen a.x":                "-o is missing\nusage: xdrgen gen -o DIR [-package NAME]",
		"check -errors x a.x":    "-errors: found \"x\", expected a number\nusage: xdrgen check [-strict]",
		"compat a.x":             "NEW is missing\nusage: xdrgen compat",
		"gen -o . -package 4 .":  "-package 4: expected a Go package name",
		"gen -o 9-To.p a.x":      "the folder name \"9-To.p\" is not a Go package name: give one with -package, such as -package NAME\n",
		"gen -o my-proto a.x":    "the folder name \"my-proto\" is not a Go package name: give one with -package, such as -package myproto\n",
		"dump -type b -hex 00 .": "no .x file and no document with XDR: name the one that declares the type\ntry xdrgen help dump\n",
	} {
		_, stderr, code := runCommand(t, strings.Fields(args)...)
		if code != exitUsage || !strings.HasPrefix(stderr, "xdrgen: "+want) {
			t.Errorf("%s: exit code %d, %s", args, code, stderr)
		}
		for line := range strings.Lines(stderr) {
			if _, usage, _ := strings.Cut(stderr, "\nusage: "); strings.Contains(usage, line) && len(line) > 81 {
				t.Errorf("%s: a line of usage has %d columns, at most 80 are expected: %s", args, len(line)-1, line)
			}
		}
	}
	for args, want := range map[string]int{"check unit": exitClean, "lint unit": exitClean, "gen -o out -package p unit": exitClean, "gen -o myproto unit": exitClean, "check none": exitFailed, "-version": exitClean, "--version": exitClean} {
		if stdout, stderr, code := runCommand(t, strings.Fields(args)...); code != want || code == exitFailed && !strings.Contains(stderr, "no .x files") {
			t.Errorf("%s: exit code %d, %s%s", args, code, stdout, stderr)
		}
	}
}

// gen counts warnings, and says which command shows them.
func TestGenWarns(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{"a.x": "struct a { unsigned b; };\n"}))
	const want = "xdrgen: a.x: 1 warning; xdrgen check shows them\n"
	if _, stderr, code := runCommand(t, "gen", "-o", "out", "-package", "p", "a.x"); code != exitClean || stderr != want {
		t.Errorf("exit code %d, %q, expected %q", code, stderr, want)
	}
}
