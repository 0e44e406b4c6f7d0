package peers

import (
	"context"
	_ "embed" // the C program
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Op is an operation.
type Op struct {
	Name  string
	Depth int // calls at a time
	Size  int // entries of a listing
	count int // a round
}

// String returns the operation in the form "read 1 MiB x 8".
func (o Op) String() string {
	switch {
	case o.Size > 0:
		return fmt.Sprintf("list of %d", o.Size)
	case o.Name == "read" || o.Name == "write":
		return fmt.Sprintf("%s 1 MiB x %d", o.Name, o.Depth)
	case o.Name == "getattr":
		return fmt.Sprintf("%s x %d", o.Name, o.Depth)
	}
	return o.Name
}

// Options selects the measurements.
type Options struct {
	Rounds  int
	Scale   float64 // factor for calls and entries: 1 for real figures
	Dir     string  // in which the served directory is made; if empty, os.MkdirTemp chooses
	Depths  []int   // of the directory that is mounted
	Ganesha bool    // measure it, too
	Plugins string  // the folder of nfs-ganesha's back ends; if empty, the default of its package
	Cflags  []string
	Match   *regexp.Regexp // rows to measure, by Row.String; nil: all
	Log     io.Writer      // gets a line for each row that is left out
}

// Row is an operation by a client at a depth, with the figures of each server.
type Row struct {
	Op      Op
	Client  string
	At      int // depth of the directory
	Servers map[string]*Figures
}

// String returns the text that Options.Match matches.
func (r *Row) String() string { return fmt.Sprintf("%s at %d by %s", r.Op, r.At, r.Client) }

// Figures are an operation's times with one server: one a round, in ns.
type Figures struct {
	Time, ClientCPU, ServerCPU []float64
}

// Median returns the median of the rounds.
func Median(rounds []float64) float64 {
	v := slices.Sorted(slices.Values(rounds))
	if len(v) == 0 {
		return 0
	}
	return v[len(v)/2]
}

// Ratio returns the median ratio between two series, round by round.
func Ratio(a, b []float64) float64 {
	var v []float64
	for i := range min(len(a), len(b)) {
		v = append(v, a[i]/b[i])
	}
	return Median(v)
}

//go:embed testdata/libnfs.c
var program string

// compile compiles the C program.
func compile(dir string, flags []string) (string, error) {
	source, out := filepath.Join(dir, "libnfs.c"), filepath.Join(dir, "libnfs")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		return "", err
	}
	args := append([]string{"-O2", "-o", out, source}, flags...)
	if !slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "-l") }) {
		args = append(args, "-lnfs")
	}
	if text, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return out, nil
}

// below returns the path of the directory at a depth.
func below(depth int) string { return strings.Repeat("/d", depth) }

// makeTree makes the directories to mount.
func makeTree(dir string, depths []int, ops []Op) error {
	block := make([]byte, 16*mib)
	for _, depth := range depths {
		at := dir + below(depth)
		if err := os.MkdirAll(filepath.Join(at, "made"), 0o777); err != nil {
			return err
		}
		for _, name := range []string{"data", "written"} {
			if err := os.WriteFile(filepath.Join(at, name), block, 0o666); err != nil {
				return err
			}
		}
		for _, op := range ops {
			if op.Size == 0 {
				continue
			}
			list := filepath.Join(at, op.Name)
			if err := os.Mkdir(list, 0o777); err != nil {
				return err
			}
			for i := range op.Size {
				f, err := os.Create(filepath.Join(list, fmt.Sprintf("file-%08d.txt", i)))
				if err != nil {
					return err
				}
				f.Close()
			}
		}
	}
	return nil
}

func (o *Options) ops() []Op {
	n := func(n float64) int { return max(8, int(n*o.Scale)) }
	list := func(size float64) Op {
		return Op{Name: fmt.Sprintf("list%d", n(size)), Size: n(size), count: 1}
	}
	return []Op{
		{Name: "getattr", Depth: 1, count: n(2000)},
		{Name: "getattr", Depth: 32, count: n(10000)},
		{Name: "read", Depth: 1, count: n(100)},
		{Name: "read", Depth: 8, count: n(160)},
		{Name: "write", Depth: 1, count: n(60)},
		{Name: "write", Depth: 8, count: n(120)},
		list(20_000), list(100_000),
		{Name: "create", count: n(1000)},
		{Name: "remove", count: n(1000)}, // of the files before
		{Name: "copy", count: n(600)},
	}
}

// one is an operation with one server.
type one struct {
	row    *Row
	peer   peer
	server *server
	out    *Figures
}

// Compare measures all rows in the same rounds.
func Compare(ctx context.Context, o Options) (rows []*Row, err error) {
	base, err := os.MkdirTemp(o.Dir, "peerbench")
	if err != nil {
		return nil, err
	}
	closes := []func() error{func() error { return os.RemoveAll(base) }}
	defer func() {
		for _, f := range slices.Backward(closes) {
			err = errors.Join(err, f())
		}
	}()
	dir, ops := filepath.Join(base, "export"), o.ops()
	if err := makeTree(dir, o.Depths, ops); err != nil {
		return nil, err
	}
	libnfsProgram, err := compile(base, o.Cflags)
	if err != nil {
		fmt.Fprintln(o.Log, "without libnfs:", err)
	}
	var servers []*server
	add := func(s *server, err error) error {
		if err == nil {
			closes, servers = append(closes, s.close), append(servers, s)
		}
		return err
	}
	if err := add(startServer(NFSD, dir, "/export")); err != nil {
		return nil, err
	}
	if !o.Ganesha {
		fmt.Fprintln(o.Log, "without nfs-ganesha")
	} else if err := add(startGanesha(dir, base, o.Plugins)); err != nil {
		fmt.Fprintln(o.Log, "without nfs-ganesha:", err)
	}
	var all []one
	for _, depth := range o.Depths {
		here := servers
		s, err := startServer(GoNFS, dir+below(depth), "/")
		if err != nil {
			return nil, err
		}
		closes = append(closes, s.close)
		here = append(slices.Clip(here), s)
		for _, clientName := range []string{"nfs/client", "libnfs"} {
			if clientName == "libnfs" && libnfsProgram == "" {
				continue
			}
			peers := map[*server]peer{}
			for _, s := range here {
				at := path.Join(s.root, below(depth))
				if s.name == GoNFS {
					at = "/"
				}
				var p peer
				if clientName == "libnfs" {
					p, err = dialLibnfs(libnfsProgram, s, at)
				} else {
					p, err = dialOurs(ctx, s, at)
				}
				if err != nil {
					fmt.Fprintf(o.Log, "without %s by %s at %d: %v\n", s.name, clientName, depth, err)
					continue
				}
				peers[s] = p
				closes = append(closes, func() error { _ = p.Close(); return nil })
			}
			for _, op := range ops {
				row := &Row{Op: op, Client: clientName, At: depth, Servers: map[string]*Figures{}}
				if o.Match != nil && !o.Match.MatchString(row.String()) {
					continue
				}
				rows = append(rows, row)
				for _, s := range here {
					if peers[s] != nil {
						f := &Figures{}
						row.Servers[s.name] = f
						all = append(all, one{row, peers[s], s, f})
					}
				}
			}
		}
	}
	serial := time.Now().UnixNano()
	broken := map[*Figures]bool{}
	for round := range o.Rounds + 1 { // the first one is not counted
		serials := map[peer]int64{}
		for i := range all {
			x := &all[i]
			op := x.row.Op
			if broken[x.out] {
				continue
			}
			if op.Name != "remove" {
				serial++
				serials[x.peer] = serial
			}
			before, err := x.server.cpu()
			if err != nil {
				return nil, err
			}
			took, cpu, err := x.peer.run(op, op.count, serials[x.peer])
			if err != nil {
				fmt.Fprintf(o.Log, "without %s, %v: %v\n", x.server.name, x.row, err)
				broken[x.out] = true
				continue
			}
			after, err := x.server.cpu()
			if err != nil {
				return nil, err
			}
			if round > 0 {
				n := float64(op.count * max(op.Size, 1))
				x.out.Time = append(x.out.Time, float64(took)/n)
				x.out.ClientCPU = append(x.out.ClientCPU, float64(cpu)/n)
				x.out.ServerCPU = append(x.out.ServerCPU, float64(after-before)/n)
			}
		}
	}
	return rows, nil
}
