package main

import (
	"bufio"
	"context"
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// goal is the part of a codec's decoding statements, in percent, that its corpora reach.
const goal = 95

// block is a block of statements in a coverage profile.
type block struct {
	statements int
	reached    bool
}

// coverage runs the seeds and the kept inputs of the targets, without fuzzing, and prints which
// part of each parser's statements they reach.
func coverage(ctx context.Context, b *builder, chosen []target, stdout io.Writer) int {
	var dirs, packages []string
	for _, t := range chosen {
		if !slices.Contains(dirs, t.dir) {
			dirs = append(dirs, t.dir)
		}
	}
	for _, p := range parsers {
		if pkg := path.Join(b.module, p.dir); !slices.Contains(packages, pkg) {
			packages = append(packages, pkg)
		}
	}
	files := make(map[string]map[string]block) // by file, by place
	for _, dir := range dirs {
		bin := b.build(ctx, "cover", dir, "-cover", "-covermode=set", "-coverpkg="+strings.Join(packages, ","))
		out, err := bin.out, bin.err
		profile := filepath.Join(b.temp, "profile")
		if err == nil {
			cmd := exec.CommandContext(ctx, bin.path, "-test.run=^Fuzz", "-test.coverprofile="+profile)
			cmd.Dir = filepath.Join(b.root, filepath.FromSlash(dir))
			out, err = cmd.CombinedOutput()
		}
		if ctx.Err() != nil {
			return interrupted
		}
		if err == nil {
			err = addProfile(profile, files)
		}
		if err != nil {
			fmt.Fprintf(stdout, "FAIL  %s\n%s%v\n", dir, out, err)
			return failure
		}
	}
	for _, p := range parsers {
		reached, all := 0, 0
		for name, blocks := range files {
			if path.Dir(name) != path.Join(b.module, p.dir) || len(p.files) > 0 && !slices.Contains(p.files, path.Base(name)) {
				continue
			}
			counts := func(line int) bool { return true }
			if p.codec {
				var err error
				if counts, err = decoding(filepath.Join(b.root, strings.TrimPrefix(name, b.module))); err != nil {
					fmt.Fprintf(stdout, "FAIL  %s\n%v\n", name, err)
					return failure
				}
			}
			for place, b := range blocks {
				line, _ := strconv.Atoi(place[:strings.IndexByte(place, '.')])
				if !counts(line) {
					continue
				}
				if all += b.statements; b.reached {
					reached += b.statements
				}
			}
		}
		if all == 0 {
			continue // its targets are not chosen
		}
		part, note := 100*float64(reached)/float64(all), ""
		if p.codec && part < goal {
			note = fmt.Sprintf("  below %d%%", goal)
		}
		fmt.Fprintf(stdout, "%5.1f%% of %5d statements  %s %s%s\n", part, all, p.dir, strings.Join(p.files, " "), note)
	}
	return 0
}

// decoders matches the names of functions that decode.
var decoders = regexp.MustCompile(`(?i)^_?(decode|get|read|open|check|parse|prefix|chunk|flags|body|scan|pass|unmarshal)`)

// decoding returns a function that reports whether a line of a file is in a function that decodes.
// The others encode, or compare and print values.
func decoding(file string) (func(line int) bool, error) {
	set := token.NewFileSet()
	f, err := goparser.ParseFile(set, file, nil, goparser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var ranges [][2]int
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && decoders.MatchString(d.Name.Name) {
			ranges = append(ranges, [2]int{set.Position(d.Pos()).Line, set.Position(d.End()).Line})
		}
	}
	return func(line int) bool {
		return slices.ContainsFunc(ranges, func(r [2]int) bool { return line >= r[0] && line <= r[1] })
	}, nil
}

// addProfile merges a coverage profile into the coverage of earlier profiles.
func addProfile(name string, files map[string]map[string]block) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// FILE:LINE.COLUMN,LINE.COLUMN STATEMENTS COUNT
		file, rest, ok := strings.Cut(lines.Text(), ":")
		fields := strings.Fields(rest)
		if !ok || len(fields) != 3 {
			continue // the mode
		}
		n, err := strconv.Atoi(fields[1])
		if err != nil {
			return fmt.Errorf("%s: %w", lines.Text(), err)
		}
		if files[file] == nil {
			files[file] = make(map[string]block)
		}
		files[file][fields[0]] = block{n, files[file][fields[0]].reached || fields[2] != "0"}
	}
	return lines.Err()
}
