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
	return os.WriteFile(filepath.Join(out, manifestFile), append(text, '\n'), 0o644)
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
