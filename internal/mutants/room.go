package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	switchName = "mutantSwitch"
	// switchVariable is the environment variable with the number of the mutant to run.
	switchVariable = "MUTANT"
	switchText     = `
import "os"

var ` + switchName + ` = func() (n int) {
	for _, c := range os.Getenv("` + switchVariable + `") {
		n = 10*n + int(c-'0')
	}
	return n
}()
`
)

// room is a build that contains many mutants. The environment variable MUTANT selects one.
type room struct {
	root, dir string               // dir has the changed files and the test binaries
	sources   map[string]*source   // by file, as in mutant
	copies    map[string][]*copied // by file
	lines     map[string][]int     // of copies, see switched
	names     map[string]string    // of files, by the name of that in dir
	alone     map[int]string       // why a mutant is not in this build, by number
	list      []mutant             // the number of a mutant is its index plus 1
}

// newRoom builds the packages of the mutants with a copy of each function for each mutant in it.
// Mutants without such a copy, or whose copy does not compile, are in alone.
func newRoom(ctx context.Context, root string, list []mutant) (_ *room, err error) {
	r := &room{
		root: root, list: list, alone: make(map[int]string),
		sources: make(map[string]*source), copies: make(map[string][]*copied), lines: make(map[string][]int),
	}
	if r.root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	if r.dir, err = os.MkdirTemp("", "mutants"); err != nil {
		return nil, err
	}
	for i := range list {
		if err := r.add(i+1, &list[i]); err != nil {
			r.alone[i+1] = err.Error()
		}
	}
	for err == nil {
		if err = r.write(); err == nil {
			var again bool
			if again, err = r.compile(ctx); !again {
				break
			}
		}
	}
	if err != nil {
		r.remove()
		return nil, err
	}
	return r, nil
}

// remove removes the files of the build.
func (r *room) remove() { os.RemoveAll(r.dir) }

// add makes the copy for a mutant.
func (r *room) add(number int, m *mutant) error {
	if strings.HasSuffix(m.file, "_test.go") {
		return fmt.Errorf("it is in a test")
	}
	changed, err := m.mutate(r.root)
	if err != nil {
		return err
	}
	if r.sources[m.file] == nil {
		text, err := os.ReadFile(filepath.Join(r.root, m.file))
		if err != nil {
			return err
		}
		s, err := parse(text)
		if err != nil {
			return err
		}
		r.sources[m.file] = s
	}
	c, err := copyOf(r.sources[m.file], changed, number)
	if err != nil {
		return err
	}
	r.copies[m.file] = append(r.copies[m.file], c)
	return nil
}

func (r *room) overlay() string { return filepath.Join(r.dir, "overlay.json") }

// write writes the files and the list for the go command's -overlay.
func (r *room) write() error {
	replace := make(map[string]string)
	r.names = make(map[string]string)
	put := func(file string, text []byte) error {
		name := filepath.Join(r.dir, strconv.Itoa(len(replace))+".go")
		replace[filepath.Join(r.root, file)] = name
		r.names[name] = file
		return os.WriteFile(name, text, 0o600)
	}
	packages := make(map[string]bool)
	for _, file := range slices.Sorted(maps.Keys(r.copies)) {
		s := r.sources[file]
		text, lines := s.switched(r.copies[file])
		r.lines[file] = lines
		if err := put(file, text); err != nil {
			return err
		}
		if dir := filepath.Dir(file); !packages[dir] {
			packages[dir] = true
			if err := put(filepath.Join(dir, "mutant_switch.go"), []byte("package "+s.file.Name.Name+"\n"+switchText)); err != nil {
				return err
			}
		}
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(r.overlay(), text, 0o600)
}

// goCommand returns a go command that reads the files of the build.
func (r *room) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), withOverlay(r.overlay()))
	return cmd
}

// compile compiles the packages. If copies do not compile, it drops them and reports that the
// rest must be compiled again.
func (r *room) compile(ctx context.Context) (again bool, err error) {
	args := []string{"build", "-o", os.DevNull}
	for file := range r.copies {
		if dir := "./" + filepath.ToSlash(filepath.Dir(file)); !slices.Contains(args, dir) {
			args = append(args, dir)
		}
	}
	if len(r.copies) == 0 {
		return false, nil
	}
	out, err := r.goCommand(ctx, args...).CombinedOutput()
	if err == nil {
		return false, nil
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	bad := r.blame(out)
	if len(bad) == 0 {
		return false, fmt.Errorf("build of the mutants: %w\n%s", err, bytes.TrimSpace(out))
	}
	maps.Copy(r.alone, bad)
	for file, copies := range r.copies {
		copies = slices.DeleteFunc(copies, func(c *copied) bool { return bad[c.number] != "" })
		if r.copies[file] = copies; len(copies) == 0 {
			delete(r.copies, file)
		}
	}
	return true, nil
}

// compileError matches a line of the compiler: file, line and message.
var compileError = regexp.MustCompile(`(?m)^(\S+\.go):(\d+)(?::\d+)?: (.*)$`)

// blame returns the numbers of the copies that do not compile, with the compiler's messages. An
// error outside the copies blames all copies of the file.
func (r *room) blame(out []byte) map[int]string {
	bad := make(map[int]string)
	for _, match := range compileError.FindAllSubmatch(out, -1) {
		name := string(match[1])
		if !filepath.IsAbs(name) {
			name = filepath.Join(r.root, name)
		}
		file := r.names[name]
		line, _ := strconv.Atoi(string(match[2]))
		copies, lines := r.copies[file], r.lines[file]
		inside := len(copies) > 0 && line >= lines[0]
		for i, c := range copies {
			if !inside || lines[i] <= line && line < lines[i+1] {
				bad[c.number] = "does not compile: " + string(match[3])
			}
		}
	}
	return bad
}
