package image

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

//go:embed start.sh
var startScript string

// Options are the settings of [Build].
type Options struct {
	Cache  string // Cache is the folder of images and packages.
	Recipe Recipe // Recipe decides the contents.
	// Mirror is the URL of Debian's archive; security updates come from the same URL with -security
	// appended. If empty, it is the one that this machine installs its packages from.
	Mirror string
	// Rebuild replaces an image that exists by one of Debian's present versions.
	Rebuild  bool
	Progress func(message string) // Progress is called at every step of a build.
}

// Image is a guest that can be started.
type Image struct {
	Dir    string // Dir is the image's folder in the cache.
	Kernel string // Kernel is the file of the kernel.
	Initrd string // Initrd is the file of the initramfs, without the agent.
	Manifest
}

const manifestFile = "manifest.json"

// Manifest says what an image was made of.
type Manifest struct {
	Release  string            // Release is the kernel's, as uname -r prints it.
	Version  string            // Version is the version of the package of the kernel.
	Packages map[string]string // Packages maps the names of all packages to their versions.
	Later    map[string]string // Later does so for the packages of Recipe.Later.
}

// Missing returns the Debian packages of the programs that a build needs and that are not
// installed.
func Missing() []string {
	list := witness.Missing("apt-cache", "apt-get", "dpkg-deb", "gcc", "make", "strip", "tar", "xz")
	if _, err := os.Stat(keyring); err != nil {
		list = append(list, "debian-archive-keyring")
	}
	return list
}

// Open returns the image of the recipe if the cache has it, and an error that matches
// [fs.ErrNotExist] if not.
func Open(cache string, r Recipe) (*Image, error) {
	dir := filepath.Join(cache, "image-"+r.Key())
	b, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return nil, err
	}
	img := &Image{Dir: dir, Kernel: filepath.Join(dir, "kernel"), Initrd: filepath.Join(dir, "initramfs")}
	if err := json.Unmarshal(b, &img.Manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return img, nil
}

// Build returns the image of the recipe. If the cache has none, Build makes it, which takes a
// minute or two; another process that builds at the same time waits for the first and uses its
// image.
func Build(ctx context.Context, o Options) (*Image, error) {
	cache, err := filepath.Abs(o.Cache)
	if err != nil {
		return nil, err
	}
	if !o.Rebuild {
		img, err := Open(cache, o.Recipe)
		if err == nil {
			now := time.Now()
			_ = os.Chtimes(img.Dir, now, now) // a read-only cache stays as it is
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return img, err
		}
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	asked := time.Now()
	held, err := lock(ctx, filepath.Join(cache, "lock"), func() {
		o.Progress("waiting for another process that builds a guest in " + cache)
	})
	if err != nil {
		return nil, err
	}
	defer held.Close()
	if img, err := Open(cache, o.Recipe); err == nil {
		info, err := os.Stat(filepath.Join(img.Dir, manifestFile))
		if !o.Rebuild || err == nil && info.ModTime().After(asked) {
			return img, nil // the other process built it
		}
	}
	work := filepath.Join(cache, "build-"+o.Recipe.Key())
	if err := os.RemoveAll(work); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(work, "image"), 0o755); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(cache, "build.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	b := &builder{Options: o, run: runner{log: log, lock: held}, work: work}
	if b.Mirror == "" {
		if b.Mirror, err = findMirror(ctx, b.run, work); err != nil {
			return nil, err
		}
	}
	b.apt = apt{dir: filepath.Join(cache, "apt"), mirror: b.Mirror, suite: o.Recipe.Suite, run: b.run}
	if err := b.build(ctx); err != nil {
		return nil, err
	}
	final := filepath.Join(cache, "image-"+o.Recipe.Key())
	if err := os.RemoveAll(final); err != nil {
		return nil, err
	}
	if err := prune(cache, time.Now().Add(-unused)); err != nil {
		return nil, err
	}
	if err := os.Rename(filepath.Join(work, "image"), final); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(work); err != nil {
		return nil, err
	}
	return Open(cache, o.Recipe)
}

// unused is the time after which an image that was not used is removed.
const unused = 30 * 24 * time.Hour

// prune removes the images that were last used before a time.
func prune(cache string, before time.Time) error {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), "image-") || info.ModTime().After(before) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(cache, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
