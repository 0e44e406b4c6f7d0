package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// guests starts guests, all alike. The first of its kind boots, and its state is kept beside the
// image: others continue from there.
type guests struct {
	h     *harness
	cfg   guest.Config
	state string // file of the state, in the image's folder
	count int
}

// program is a program for the guest.
type program struct {
	pkg  string // its package, from the module's root
	tags string // build tags
	test bool   // the tests of the package: the file's name ends in ".test"
}

// file returns the name of the program in the guest.
func (p program) file() string {
	name := path.Base(p.pkg)
	if p.test {
		name += ".test"
	}
	return name
}

// build returns the command that builds the program to a file.
func (p program) build(ctx context.Context, file string) *exec.Cmd {
	args := []string{"build"}
	if p.test {
		args = []string{"test", "-c"}
	}
	args = append(args, "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-tags", p.tags, "-o", file, "github.com/rpcrdma/rpcrdma/"+p.pkg)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	return cmd
}

// programs are the programs for the guest. Those with the provider ibverbs, or with its binding,
// are linked to the guest's C library, the others are static.
var programs = []program{
	{pkg: "test/linuxpeer/agent"},
	{pkg: "test/linuxpeer/mounttest"},
	{pkg: "test/linuxpeer/verbspeer", tags: "ibverbs"},
	{pkg: "cmd/rpcrdma", tags: "ibverbs"},
	{pkg: "nfs/cmd/nfs", tags: "ibverbs"},
	{pkg: "nfs/cmd/nfsserve", tags: "ibverbs"},
	{pkg: "rdmaio/providers/ibverbs", test: true},
	{pkg: "rdmaio/providers/ibverbs/internal/lib", test: true},
}

// prepare builds the programs and the initramfs.
func (h *harness) prepare(ctx context.Context) (*guests, error) {
	var files []string
	for _, p := range programs {
		file := filepath.Join(h.dir, p.file())
		if out, err := p.build(ctx, file).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s (run in the module's folder): %w\n%s", p.pkg, err, out)
		}
		files = append(files, file)
	}
	initrd := filepath.Join(h.dir, "initrd")
	if err := h.image.Append(initrd, files...); err != nil {
		return nil, err
	}
	s := &guests{h: h, cfg: guest.Config{Kernel: h.image.Kernel, Initrd: initrd, Memory: h.memory}}
	key, err := s.cfg.StateKey(ctx)
	if err != nil {
		return nil, err
	}
	s.state = filepath.Join(h.image.Dir, statePrefix+key)
	return s, nil
}

const statePrefix = "state-"

// start starts a guest.
func (s *guests) start(ctx context.Context) (*guest.Guest, error) {
	s.count++
	cfg := s.cfg
	cfg.Dir = filepath.Join(s.h.dir, "guest-"+strconv.Itoa(s.count))
	if err := os.Mkdir(cfg.Dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := os.Stat(s.state); err == nil && !s.h.boot {
		cfg.State, cfg.Start = s.state, 3*time.Minute
		g, err := guest.Start(ctx, cfg)
		if err == nil || ctx.Err() != nil {
			return g, err
		}
		s.h.progress("the saved state of the guest cannot be used, it boots: %v", err)
		cfg.State, cfg.Start = "", s.cfg.Start
		cfg.Dir += "-boot"
		if err := os.Mkdir(cfg.Dir, 0o755); err != nil {
			return nil, err
		}
	}
	s.h.progress("booting Linux %s", s.h.image.Release)
	g, err := guest.Start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if problems := guest.JudgeLog(g.Console.Since(0)); len(problems) > 0 {
		return nil, errors.Join(fmt.Errorf("the guest's boot: %s", problems[0]), g.Close())
	}
	if err := s.save(ctx, g); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// save keeps the state of a guest that has booted, with its log, instead of older ones.
func (s *guests) save(ctx context.Context, g *guest.Guest) error {
	entries, err := os.ReadDir(s.h.image.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		// A process that is reading one has it open; one that is about to boots.
		if strings.HasPrefix(e.Name(), statePrefix) {
			if err := os.Remove(filepath.Join(s.h.image.Dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	log := strings.Join(g.Console.Since(0), "\n") + "\n"
	if err := os.WriteFile(s.state+".log", []byte(log), 0o644); err != nil {
		return err
	}
	return g.Save(ctx, s.state)
}
