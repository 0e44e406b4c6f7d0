package image

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

//go:embed start.sh
var startScript string

// Options are the settings of [Build].
type Options struct {
	Cache  string // Cache is the folder of images and packages.
	Recipe Recipe // Recipe decides the contents.
	// Mirror is the URL of Debian's archive; security updates come from the same URL with -security
	// appended.
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

// Manifest says what an image was made of.
type Manifest struct {
	Release  string            // Release is the kernel's, as uname -r prints it.
	Version  string            // Version is the version of the package of the kernel.
	Packages map[string]string // Packages maps the names of all packages to their versions.
}

// programs are those that a build runs, with their Debian packages.
var programs = [][2]string{
	{"apt-cache", "apt"},
	{"apt-get", "apt"},
	{"dpkg-deb", "dpkg"},
	{"gcc", "gcc"},
	{"make", "make"},
	{"strip", "binutils"},
	{"tar", "tar"},
	{"xz", "xz-utils"},
}

// Missing returns the Debian packages of the programs that a build needs and that are not
// installed.
func Missing() []string {
	var list []string
	for _, p := range programs {
		if _, err := exec.LookPath(p[0]); err != nil {
			list = append(list, p[1])
		}
	}
	if _, err := os.Stat(keyring); err != nil {
		list = append(list, "debian-archive-keyring")
	}
	return list
}

// Open returns the image of the recipe if the cache has it, and an error that matches
// [fs.ErrNotExist] if not.
func Open(cache string, r Recipe) (*Image, error) {
	dir := filepath.Join(cache, "image-"+r.Key())
	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
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
	if !o.Rebuild {
		if img, err := Open(o.Cache, o.Recipe); !errors.Is(err, fs.ErrNotExist) {
			return img, err
		}
	}
	cache, err := filepath.Abs(o.Cache)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	asked := time.Now()
	unlock, err := lock(ctx, filepath.Join(cache, "lock"), func() {
		o.Progress("waiting for another process that builds a guest in " + cache)
	})
	if err != nil {
		return nil, err
	}
	defer unlock()
	if img, err := Open(cache, o.Recipe); err == nil {
		if info, err := os.Stat(img.Dir); !o.Rebuild || err == nil && info.ModTime().After(asked) {
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
	b := &builder{Options: o, run: runner{log: log}, work: work}
	b.apt = apt{dir: filepath.Join(cache, "apt"), mirror: o.Mirror, suite: o.Recipe.Suite, run: b.run}
	if err := b.build(ctx); err != nil {
		return nil, err
	}
	final := filepath.Join(cache, "image-"+o.Recipe.Key())
	if err := os.RemoveAll(final); err != nil {
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

type builder struct {
	Options
	run  runner
	apt  apt
	work string
}

// build makes the image in the folder "image" of b.work.
func (b *builder) build(ctx context.Context) error {
	b.Progress("reading Debian's lists of packages")
	if err := b.apt.init(ctx); err != nil {
		return err
	}
	k, err := b.findKernel(ctx)
	if err != nil {
		return err
	}
	tools, err := b.apt.closure(ctx, b.Recipe.Packages)
	if err != nil {
		return err
	}
	kernels, err := b.apt.only(ctx, k.packages())
	if err != nil {
		return err
	}
	m := Manifest{Release: k.release, Version: k.version, Packages: map[string]string{}}
	size, all := int64(0), append(tools[:len(tools):len(tools)], kernels...)
	for _, d := range all {
		name, version := d.pkg()
		m.Packages[name] = version
		size += d.size
	}
	b.Progress(fmt.Sprintf("downloading missing ones of %d packages, %d MB", len(all), size/1e6))
	if err := b.apt.fetch(ctx, all); err != nil {
		return err
	}
	b.Progress("unpacking")
	root, kernelTree := filepath.Join(b.work, "root"), filepath.Join(b.work, "kernel")
	if err := b.unpack(ctx, root, tools); err != nil {
		return err
	}
	source := slices.IndexFunc(kernels, func(d deb) bool { return strings.HasPrefix(d.name, "linux-source-") })
	sourceDeb := filepath.Join(b.apt.archives(), kernels[source].name)
	if err := b.unpack(ctx, kernelTree, slices.Delete(kernels, source, source+1)); err != nil {
		return err
	}
	b.Progress("compiling siw for Linux " + k.release)
	siw, err := buildSiw(ctx, b.run, k, kernelTree, sourceDeb, b.work)
	if err != nil {
		return err
	}
	b.Progress("writing the initramfs")
	set, err := openModules(b.run, filepath.Join(kernelTree, "lib/modules", k.release), siw)
	if err != nil {
		return err
	}
	mods, err := set.order(ctx, b.Recipe.Modules)
	if err != nil {
		return err
	}
	out := filepath.Join(b.work, "image")
	if err := writeInitramfs(filepath.Join(out, "initramfs"), b.Recipe, tree{root}, mods); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(kernelTree, "boot/vmlinuz-"+k.release), filepath.Join(out, "kernel")); err != nil {
		return err
	}
	text, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "manifest.json"), append(text, '\n'), 0o644)
}

func (b *builder) unpack(ctx context.Context, dir string, debs []deb) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, d := range debs {
		if _, err := b.run.output(ctx, b.work, "dpkg-deb", "-x", filepath.Join(b.apt.archives(), d.name), dir); err != nil {
			return err
		}
	}
	return nil
}

var (
	imagePackage  = regexp.MustCompile(`(?m)^Depends:.*\blinux-image-(\S+) \(= ([^)]+)\)`)
	kbuildPackage = regexp.MustCompile(`(?m)^Depends:.*\b(linux-kbuild-[^ ,]+)`)
)

// findKernel asks apt for the newest kernel of the recipe's series. Its headers and source must be
// of the same version.
func (b *builder) findKernel(ctx context.Context) (kernel, error) {
	meta, err := b.apt.command(ctx, "apt-cache", "show", "--no-all-versions", b.Recipe.Meta)
	if err != nil {
		return kernel{}, err
	}
	m := imagePackage.FindStringSubmatch(meta)
	if m == nil {
		return kernel{}, fmt.Errorf("apt-cache show %s: no kernel among its dependencies:\n%s", b.Recipe.Meta, meta)
	}
	release, version := m[1], m[2]
	headers, err := b.apt.command(ctx, "apt-cache", "show", "linux-headers-"+release+"="+version)
	if err != nil {
		return kernel{}, err
	}
	kbuild := kbuildPackage.FindStringSubmatch(headers)
	if kbuild == nil {
		return kernel{}, fmt.Errorf("apt-cache show linux-headers-%s: no linux-kbuild among its dependencies:\n%s", release, headers)
	}
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 3 {
		return kernel{}, fmt.Errorf("%s depends on version %q, expected the form 6.1.2-3", b.Recipe.Meta, version)
	}
	common := "linux-headers-" + strings.TrimSuffix(release, "-amd64") + "-common"
	return kernel{
		release: release, version: version,
		image: "linux-image-" + release + "=" + version, headers: "linux-headers-" + release,
		common: common, kbuild: kbuild[1],
		source: "linux-source-" + parts[0] + "." + parts[1] + "=" + version,
	}, nil
}
