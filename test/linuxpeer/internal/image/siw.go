package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// kernel is a kernel of Debian and the packages that its modules are built with.
type kernel struct {
	release string // as uname -r prints it
	version string // of the package
	image   string // names of packages
	headers string
	common  string
	kbuild  string
	source  string
}

func (k kernel) packages() []string {
	return []string{k.image, k.headers, k.common, k.kbuild, k.source}
}

// buildSiw compiles drivers/infiniband/sw/siw of the source package. tree has the headers' packages
// unpacked; it returns the module's file.
func buildSiw(ctx context.Context, run runner, k kernel, tree, sourceDeb, work string) (string, error) {
	// The headers' Makefile names the common headers by their installed path.
	headers := filepath.Join(tree, "usr/src", k.headers)
	makefile := filepath.Join(headers, "Makefile")
	text, err := os.ReadFile(makefile)
	if err != nil {
		return "", err
	}
	common := "/usr/src/" + k.common + "/Makefile"
	if !strings.Contains(string(text), common) {
		return "", fmt.Errorf("%s does not include %s, as Debian's headers do: %q", makefile, common, text)
	}
	text = []byte(strings.ReplaceAll(string(text), common, tree+common))
	if err := os.WriteFile(makefile, text, 0o644); err != nil {
		return "", err
	}

	// The source is a compressed archive in the archive of the package: both are read as streams.
	name := k.source[:strings.Index(k.source, "=")]
	const siw = "drivers/infiniband/sw/siw"
	extract := `set -eu; dpkg-deb --fsys-tarfile "$1" | tar -xO "./usr/src/$2.tar.xz" | xz -dc -T0 | tar -x "$2/$3"`
	if _, err := run.output(ctx, work, "sh", "-c", extract, "sh", sourceDeb, name, siw); err != nil {
		return "", err
	}
	dir := filepath.Join(work, name, siw)
	// Type information of modules would need pahole, and is not used.
	if _, err := run.output(ctx, dir, "make", "-j2", "-C", headers, "M="+dir, "CONFIG_RDMA_SIW=m", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"); err != nil {
		return "", fmt.Errorf("compile siw for %s: %w", k.release, err)
	}
	ko := filepath.Join(dir, "siw.ko")
	if _, err := run.output(ctx, dir, "strip", "--strip-debug", ko); err != nil {
		return "", err
	}
	return ko, nil
}
