package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// tool is a compiler: one process, or several processes whose output corresponds to that of one of
// another tool.
type tool struct {
	Name  string
	Lacks string // parts of the output of xdrgen gen that it does not write
	calls [][]string
	out   string // the folder that it writes to
}

// run calls the tool on an empty output folder and returns the wall time and the
// processor time of all its processes.
func (t *tool) run() (wall, cpu time.Duration, err error) {
	if err := os.RemoveAll(t.out); err != nil {
		return 0, 0, err
	}
	if err := os.Mkdir(t.out, 0o777); err != nil {
		return 0, 0, err
	}
	for _, call := range t.calls {
		cmd := exec.Command(call[0], call[1:]...)
		var text strings.Builder
		cmd.Stdout, cmd.Stderr = &text, &text
		start := time.Now()
		err := cmd.Run()
		wall += time.Since(start)
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w\n%s", strings.Join(call, " "), err, text.String())
		}
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return wall, cpu, nil
}

// lines returns the number of lines that the tool wrote in its last run.
func (t *tool) lines() (int, error) {
	entries, err := os.ReadDir(t.out)
	n := 0
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(t.out, e.Name()))
		if err != nil {
			return 0, err
		}
		n += strings.Count(string(text), "\n")
	}
	return n, err
}

// tools returns the tools that are installed and accept the file. It writes the reason for each of
// the others to stderr.
func (w *workshop) tools(file string, stderr io.Writer) []*tool {
	all := []*tool{
		w.tool("xdrgen gen", "", w.xdrgen, "gen -package nfs3 -o OUT FILE"),
		w.tool("xdrgen gen -tests", "", w.xdrgen, "gen -tests -package nfs3 -o OUT FILE"),
		w.tool("xdrgen check", "writes nothing", w.xdrgen, "check FILE"),
		w.tool("goxdr", "formatting, checks without decoding, views, sizes", w.goxdr, "-p nfs3 -o OUT/nfs3.go FILE"),
		w.tool("goxdr -fmt", "checks without decoding, views, sizes", w.goxdr, "-fmt -p nfs3 -o OUT/nfs3.go FILE"),
		w.tool("rpcgen", "(C) formatting, checks without decoding, views, sizes, bounds of enums", "rpcgen",
			"-h -o OUT/nfs3.h FILE", "-c -o OUT/nfs3_xdr.c FILE", "-l -o OUT/nfs3_clnt.c FILE", "-m -o OUT/nfs3_svc.c FILE"),
	}
	var out []*tool
	for i, t := range all {
		t.out = filepath.Join(w.dir, fmt.Sprintf("out%d", i))
		for _, call := range t.calls {
			for j := range call {
				call[j] = strings.ReplaceAll(strings.ReplaceAll(call[j], "OUT", t.out), "FILE", file)
			}
		}
		if _, _, err := t.run(); err != nil {
			fmt.Fprintf(stderr, "compilebench: without %s: %v\n", t.Name, err)
			continue
		}
		out = append(out, t)
	}
	return out
}

func (w *workshop) tool(name, lacks, program string, calls ...string) *tool {
	t := &tool{Name: name, Lacks: lacks}
	for _, c := range calls {
		t.calls = append(t.calls, append([]string{program}, strings.Fields(c)...))
	}
	return t
}
