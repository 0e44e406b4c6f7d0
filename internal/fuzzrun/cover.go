package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// goal is the part of a codec's statements, in percent, that its corpora reach.
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
			for _, b := range blocks {
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

// addProfile adds a coverage profile to what earlier ones reached.
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
