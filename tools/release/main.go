package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is one run.
type release struct {
	root    string    // of the tree
	out     string    // the folder of the files
	version string    // with a v
	time    time.Time // of every file in an archive
	sbom    string    // the program that writes bills of materials; empty: none
	stdout  io.Writer

	commands []command
}

// run runs a command line.
func run(args []string, stdout io.Writer) error {
	r := &release{stdout: stdout, commands: commands()}
	fs := flag.NewFlagSet("release", flag.ContinueOnError)
	fs.StringVar(&r.version, "version", "", "the `version`, such as v0.1.0; default: the tag of HEAD, or a pseudo-version of Go")
	fs.StringVar(&r.out, "o", "dist", "`folder` of the files")
	fs.StringVar(&r.root, "C", ".", "`folder` of the tree")
	fs.StringVar(&r.sbom, "sbom", "", "`program` cyclonedx-gomod; default: no bills of materials")
	only := fs.String("only", "", "build only this `target`, such as linux_amd64; default: all")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	list := slices.DeleteFunc(targets(), func(t target) bool { return *only != "" && t.name() != *only })
	if len(list) == 0 {
		return fmt.Errorf("unknown target %q: expected a name such as linux_amd64, darwin_arm64 or linux_amd64_ibverbs", *only)
	}
	if err := r.identify(); err != nil {
		return err
	}
	return r.build(list)
}

// identify finds the version, unless it is given, and the time: SOURCE_DATE_EPOCH, or HEAD's.
func (r *release) identify() error {
	for _, p := range []*string{&r.root, &r.out} {
		abs, err := filepath.Abs(*p)
		if err != nil {
			return err
		}
		*p = abs
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		var err error
		if epoch, err = r.git("log", "-1", "--format=%ct"); err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH is not set, and HEAD has no time: %w", err)
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r.time = time.Unix(seconds, 0).UTC()
	if r.version == "" {
		if r.version, err = r.describe(); err != nil {
			return fmt.Errorf("-version is not given, and HEAD gives no version: %w", err)
		}
	}
	return checkVersion(r.version)
}

// describe returns the tag of HEAD, or the pseudo-version that Go gives to an untagged commit, with
// +dirty if files differ from HEAD.
func (r *release) describe() (string, error) {
	version, err := r.git("describe", "--tags", "--exact-match", "--match", "v[0-9]*")
	if err != nil {
		revision, err := r.git("rev-parse", "--short=12", "HEAD")
		if err != nil {
			return "", err
		}
		version = "v0.0.0-" + r.time.Format("20060102150405") + "-" + revision
	}
	changes, err := r.git("status", "--porcelain")
	if err != nil {
		return "", err
	}
	if changes != "" {
		version += "+dirty"
	}
	return version, nil
}

func (r *release) git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", r.root}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// versionForm is the form of versions (semver.org).
var versionForm = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// checkVersion refuses other texts: the version becomes part of file names and linker flags.
func checkVersion(v string) error {
	if !versionForm.MatchString(v) {
		return fmt.Errorf("version %q: expected the form of a Go module's version, such as v0.1.0 or v0.2.0-rc.1", v)
	}
	return nil
}
