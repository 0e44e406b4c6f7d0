package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/trial"
)

// corpusTimes holds the times that the steps of corpus -measure took: elapsed time of generating,
// processor time of the go command and its children.
type corpusTimes struct {
	Generate time.Duration `json:"generate_ns,omitzero"`
	Build    time.Duration `json:"build_ns,omitzero"`
	Vet      time.Duration `json:"vet_ns,omitzero"`
}

func (t corpusTimes) String() string {
	return fmt.Sprintf("processor time: build %.1f s, vet %.1f s; elapsed: generate %.1f s", t.Build.Seconds(), t.Vet.Seconds(), t.Generate.Seconds())
}

// measure builds and vets the packages, all of them again, and records the results in rows. The
// packages that they import are in the build cache before.
func measure(ctx context.Context, mod trial.Module, rows []corpusRow) (t corpusTimes, err error) {
	if err := fill(ctx, mod); err != nil {
		return t, err
	}
	// The content differs in each run, so no package is in the build cache.
	stamp := time.Now().UnixNano()
	for _, r := range rows {
		if r.Accepted {
			if err := mod.Write(r.dir+"/stamp.go", fmt.Appendf(nil, "package %s\n\n// %d\n", r.dir, stamp)); err != nil {
				return t, err
			}
		}
	}
	build, err := mod.Timed(ctx, &t.Build, "build", "./p...")
	if err != nil {
		return t, err
	}
	vet, err := mod.Timed(ctx, &t.Vet, "vet", "./p...")
	if err != nil {
		return t, err
	}
	built, vetted := trial.Faults(build), trial.Faults(vet)
	for i := range rows {
		r := &rows[i]
		r.Vet = r.Accepted && built[r.dir] == "" && vetted[r.dir] == ""
		r.fault(vetted[r.dir])
		r.fault(built[r.dir])
	}
	return t, nil
}

// fill builds and vets a package that imports what the generated packages import.
func fill(ctx context.Context, mod trial.Module) error {
	list, err := mod.Go(ctx, "list", "-f", "{{range .Imports}}{{println `import` .}}{{end}}", "./...")
	if err != nil {
		return err
	}
	text := "package fill\n\nimport (\n"
	seen := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "import ")
		if ok && !seen[path] && !strings.HasPrefix(path, trial.Path+"/") {
			seen[path] = true
			text += fmt.Sprintf("\t_ %q\n", path)
		}
	}
	if err := mod.Write("fill/fill.go", []byte(text+")\n")); err != nil {
		return err
	}
	for _, command := range []string{"build", "vet"} {
		if out, err := mod.Go(ctx, command, "./fill"); err != nil || len(out) > 0 {
			return fmt.Errorf("go %s of the imported packages: %w\n%s", command, err, out)
		}
	}
	return nil
}
