package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// codePackage is the code of one generator for one unit, in the module of the measurement.
type codePackage struct {
	unit      *unit
	generator generator
	path      string // import path
	dir       string
	compile   []string // command that compiles the package
	lines     int
	bytes     int
	binary    int64 // of the program, beyond the one that copies its input
	cpu       []time.Duration
}

// module is the import path of the module of the measurement.
const module = "example.org"

// measureCode generates the packages of all units and compiles each of them once a round.
func (w *workshop) measureCode(list []*unit, rounds int, report func(string)) ([]*codePackage, error) {
	empty, err := w.newModule()
	if err != nil {
		return nil, err
	}
	for _, u := range list {
		if err := w.prepare(u); err != nil {
			return nil, fmt.Errorf("%s: %w", u.name, err)
		}
	}
	var packages []*codePackage
	for i, g := range w.generators(list[0], report) {
		for _, u := range list {
			if g.name == "protobuf-go" && !u.proto {
				continue
			}
			p := &codePackage{unit: u, generator: g, path: fmt.Sprintf("%s/%s/g%d", module, u.name, i)}
			p.dir = filepath.Join(w.dir, "code", u.name, fmt.Sprintf("g%d", i))
			if err := w.build(p, empty); err != nil {
				report(fmt.Sprintf("%s without %s: %v", u.name, g.name, err))
				continue
			}
			packages = append(packages, p)
		}
	}
	for round := range rounds {
		for i := range packages {
			p := packages[(i+round)%len(packages)]
			used, err := p.time()
			if err != nil {
				return nil, err
			}
			p.cpu = append(p.cpu, used)
		}
	}
	slices.SortStableFunc(packages, func(a, b *codePackage) int {
		return slices.Index(list, a.unit) - slices.Index(list, b.unit)
	})
	return packages, nil
}

// newModule writes a module with the requirements of this one. It returns the size of a program
// that copies its input.
func (w *workshop) newModule() (empty int64, err error) {
	gomod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return 0, err
	}
	file := strings.TrimSpace(string(gomod))
	mod, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	sum, err := os.ReadFile(strings.TrimSuffix(file, ".mod") + ".sum")
	if err != nil {
		return 0, err
	}
	text := strings.Replace(string(mod), "module github.com/rpcrdma/rpcrdma/bench", "module "+module, 1)
	text = strings.Replace(text, "=> ../", "=> "+w.root, 1)
	dir := filepath.Join(w.dir, "code")
	err = errors.Join(
		os.MkdirAll(filepath.Join(dir, "empty"), 0o777),
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o666),
		os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o666),
		os.WriteFile(filepath.Join(dir, "empty/main.go"), []byte(mainFile("", "\tout := in\n")), 0o666),
	)
	if err != nil {
		return 0, err
	}
	return w.link("./empty")
}

// mainFile returns a program with a body that makes out from in.
func mainFile(imports, body string) string {
	return "package main\n\nimport (\n\t\"io\"\n\t\"os\"\n\n\t" + imports + "\n)\n\n" +
		"func check(err error) {\n\tif err != nil {\n\t\tpanic(err)\n\t}\n}\n\n" +
		"func main() {\n\tin, err := io.ReadAll(os.Stdin)\n\tcheck(err)\n" + body + "\t_, err = os.Stdout.Write(out)\n\tcheck(err)\n}\n"
}

// link builds a program and returns its size.
func (w *workshop) link(path string) (int64, error) {
	out := filepath.Join(w.dir, "program")
	if err := command(filepath.Join(w.dir, "code"), "go", "build", "-mod=mod", "-trimpath", "-o", out, path); err != nil {
		return 0, err
	}
	info, err := os.Stat(out)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// build generates the package, builds it, its imports and its program, and sets all fields of p but
// cpu.
func (w *workshop) build(p *codePackage, empty int64) error {
	if err := os.MkdirAll(filepath.Join(p.dir, "program"), 0o777); err != nil {
		return err
	}
	if err := p.generator.generate(p.unit, p.dir); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(p.dir, "*.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		p.lines += strings.Count(string(text), "\n")
		p.bytes += len(text)
	}
	program := mainFile(p.generator.imports+"\n\tp \""+p.path+"\"", p.generator.program(p.unit))
	if err := os.WriteFile(filepath.Join(p.dir, "program/main.go"), []byte(program), 0o666); err != nil {
		return err
	}
	size, err := w.link(p.path + "/program")
	if err != nil {
		return err
	}
	p.binary = size - empty
	return w.command(p, files)
}

// command sets the command that compiles the package. Its imports are in the build cache.
func (w *workshop) command(p *codePackage, files []string) error {
	list := exec.Command("go", "list", "-mod=mod", "-trimpath", "-export", "-deps", "-f", "{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}", p.path)
	list.Dir = filepath.Join(w.dir, "code")
	imports, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	config := filepath.Join(p.dir, "importcfg")
	if err := os.WriteFile(config, imports, 0o666); err != nil {
		return err
	}
	tool, err := exec.Command("go", "tool", "-n", "compile").Output()
	if err != nil {
		return fmt.Errorf("go tool: %w", err)
	}
	// With -c=1 the compiler's own threads do not compete.
	p.compile = append([]string{strings.TrimSpace(string(tool)), "-o", filepath.Join(p.dir, "p.a"), "-p", p.path, "-complete", "-c=1", "-pack", "-importcfg", config}, files...)
	return nil
}

// time compiles the package and returns the processor time.
func (p *codePackage) time() (time.Duration, error) {
	cmd := exec.Command(p.compile[0], p.compile[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %s: %w\n%.2000s", p.unit.name, p.generator.name, err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
