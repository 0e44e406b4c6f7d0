package image

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// builder builds an image.
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
	m := Manifest{Release: k.release, Version: k.version}
	all := append(tools[:len(tools):len(tools)], kernels...)
	m.Packages = versions(all)
	if err := b.fetch(ctx, b.apt, all); err != nil {
		return err
	}
	laterTree := filepath.Join(b.work, "later")
	if b.Recipe.Later != nil {
		if m.Later, err = b.unpackLater(ctx, laterTree); err != nil {
			return err
		}
	}
	b.Progress("unpacking")
	root, kernelTree := filepath.Join(b.work, "root"), filepath.Join(b.work, "kernel")
	if err := b.unpack(ctx, b.apt, root, tools); err != nil {
		return err
	}
	source := slices.IndexFunc(kernels, func(d deb) bool { return strings.HasPrefix(d.name, "linux-source-") })
	sourceDeb := filepath.Join(b.apt.archives(), kernels[source].name)
	if err := b.unpack(ctx, b.apt, kernelTree, slices.Delete(kernels, source, source+1)); err != nil {
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
	if err := writeInitramfs(filepath.Join(out, "initramfs"), b.Recipe, tree{root}, tree{laterTree}, mods); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(kernelTree, "boot/vmlinuz-"+k.release), filepath.Join(out, "kernel")); err != nil {
		return err
	}
	text, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, manifestFile), append(text, '\n'), 0o644)
}

// fetch downloads packages.
func (b *builder) fetch(ctx context.Context, from apt, debs []deb) error {
	size := int64(0)
	for _, d := range debs {
		size += d.size
	}
	b.Progress(fmt.Sprintf("downloading missing ones of %d packages of %s, %d MB", len(debs), from.suite, size/1e6))
	return from.fetch(ctx, debs)
}

// versions maps the names of packages to their versions.
func versions(debs []deb) map[string]string {
	m := map[string]string{}
	for _, d := range debs {
		name, version := d.pkg()
		m[name] = version
	}
	return m
}

// unpackLater unpacks the packages of the later release, and returns their versions. apt keeps its
// state for each release apart, or packages of one would satisfy dependencies of the other.
func (b *builder) unpackLater(ctx context.Context, dir string) (map[string]string, error) {
	later := b.apt
	later.suite = b.Recipe.Later.Suite
	later.dir += "-" + later.suite
	if err := later.init(ctx); err != nil {
		return nil, fmt.Errorf("lists of %s, whose keys the newest debian-archive-keyring has: %w", later.suite, err)
	}
	debs, err := later.closure(ctx, b.Recipe.Later.Packages)
	if err != nil {
		return nil, err
	}
	if err := b.fetch(ctx, later, debs); err != nil {
		return nil, err
	}
	return versions(debs), b.unpack(ctx, later, dir, debs)
}

func (b *builder) unpack(ctx context.Context, from apt, dir string, debs []deb) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, d := range debs {
		if _, err := b.run.output(ctx, b.work, "dpkg-deb", "-x", filepath.Join(from.archives(), d.name), dir); err != nil {
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
