package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// keyring has the keys of Debian's archives (Debian package debian-archive-keyring).
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// apt runs apt-get and apt-cache on a state of its own, below dir, that knows no installed package.
type apt struct {
	dir    string
	mirror string
	suite  string
	run    runner
}

// deb is a file that apt-get would download.
type deb struct {
	name string // file name
	size int64
	sum  string // SHA-256, in hexadecimal
}

func (a apt) archives() string { return filepath.Join(a.dir, "archives") }

// init makes the folders and the list of sources, and fetches the lists of packages.
func (a apt) init(ctx context.Context) error {
	for _, d := range []string{"lists/partial", "archives/partial", "none/partial"} {
		if err := os.MkdirAll(filepath.Join(a.dir, d), 0o755); err != nil {
			return err
		}
	}
	mirror := strings.TrimSuffix(a.mirror, "/")
	sources := ""
	for _, s := range []string{mirror + " " + a.suite, mirror + "-security " + a.suite + "-security"} {
		sources += "deb [arch=amd64 signed-by=" + keyring + "] " + s + " main\n"
	}
	for name, text := range map[string]string{"sources.list": sources, "status": ""} {
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	_, err := a.command(ctx, "apt-get", "update", "-qq", "--error-on=any")
	return err
}

// command runs apt-get or apt-cache, and returns its output.
func (a apt) command(ctx context.Context, program string, args ...string) (string, error) {
	return a.commandIn(ctx, "archives", program, args...)
}

// commandIn runs a command in a folder of a's: it is the one that apt-get download writes to.
func (a apt) commandIn(ctx context.Context, dir, program string, args ...string) (string, error) {
	opt := func(name, path string) string { return name + "=" + filepath.Join(a.dir, path) }
	all := []string{program}
	for _, o := range []string{
		opt("Dir::Etc::sourcelist", "sources.list"), "Dir::Etc::sourceparts=-",
		"Dir::Etc::preferences=-", "Dir::Etc::preferencesparts=-",
		opt("Dir::State::lists", "lists/"), opt("Dir::State::status", "status"), opt("Dir::State::extended_states", "extended"),
		opt("Dir::Cache", "") + "/", opt("Dir::Cache::archives", dir) + "/",
		"APT::Architecture=amd64", "APT::Architectures::=amd64", "APT::Install-Recommends=false",
		"Acquire::ForceHash=SHA256", "APT::Sandbox::User=", "Acquire::Languages=none", "Acquire::Retries=3",
		"Acquire::http::Timeout=30", "Acquire::https::Timeout=30", "Debug::NoLocking=true",
	} {
		all = append(all, "-o", o)
	}
	return a.run.output(ctx, filepath.Join(a.dir, dir), append(all, args...)...)
}

// closure returns the packages and all that they depend on.
func (a apt) closure(ctx context.Context, packages []string) ([]deb, error) {
	return a.uris(ctx, append([]string{"install", "-y"}, packages...))
}

// only returns the packages without their dependencies.
func (a apt) only(ctx context.Context, packages []string) ([]deb, error) {
	return a.uris(ctx, append([]string{"download"}, packages...))
}

// uris returns the files that a command of apt-get would download. The folder is one without
// packages, because apt-get leaves out those that it has.
func (a apt) uris(ctx context.Context, args []string) ([]deb, error) {
	out, err := a.commandIn(ctx, "none", "apt-get", append([]string{"--print-uris", "-qq"}, args...)...)
	if err != nil {
		return nil, err
	}
	return parseURIs(out)
}

var uriLine = regexp.MustCompile(`^'[^']+' (\S+) (\d+) SHA256:([0-9a-f]{64})$`)

// parseURIs reads the output of apt-get's --print-uris.
func parseURIs(out string) ([]deb, error) {
	var debs []deb
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "'") {
			continue
		}
		m := uriLine.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("apt-get --print-uris: line %q, expected 'uri' file size SHA256:sum", line)
		}
		var d deb
		d.name, d.sum = m[1], m[3]
		if _, err := fmt.Sscan(m[2], &d.size); err != nil {
			return nil, fmt.Errorf("apt-get --print-uris: size in %q: %w", line, err)
		}
		debs = append(debs, d)
	}
	if len(debs) == 0 {
		return nil, fmt.Errorf("apt-get --print-uris printed no package")
	}
	return debs, nil
}

// complete reports whether the file of d is in dir with the size and checksum of the archive.
func (d deb) complete(dir string) bool {
	f, err := os.Open(filepath.Join(dir, d.name))
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != d.size {
		return false
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return false
	}
	return hex.EncodeToString(h.Sum(nil)) == d.sum
}

// fetch downloads the files that the folder of archives lacks. Files there are checked again.
func (a apt) fetch(ctx context.Context, debs []deb) error {
	var want []string
	for _, d := range debs {
		if d.complete(a.archives()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(a.archives(), d.name)); err != nil {
			return err
		}
		name, version := d.pkg()
		want = append(want, name+"="+version)
	}
	if len(want) == 0 {
		return nil
	}
	if _, err := a.command(ctx, "apt-get", append([]string{"download", "-qq"}, want...)...); err != nil {
		return err
	}
	for _, d := range debs {
		if !d.complete(a.archives()) {
			return fmt.Errorf("%s: the downloaded file has another size or checksum than the archive's list (%d bytes, SHA-256 %s)", d.name, d.size, d.sum)
		}
	}
	return nil
}

// pkg returns the name and version of the package, from the name of its file.
func (d deb) pkg() (name, version string) {
	parts := strings.Split(d.name, "_")
	if len(parts) < 2 {
		return d.name, ""
	}
	return parts[0], strings.ReplaceAll(parts[1], "%3a", ":")
}
