package image

import (
	"context"
	"errors"
	"net/url"
	"path"
	"strings"
)

// findMirror returns the URL of Debian's archive that this machine's own sources of packages name.
func findMirror(ctx context.Context, run runner, dir string) (string, error) {
	out, err := run.output(ctx, dir, "apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages")
	if err != nil {
		return "", err
	}
	if m := parseMirror(out); m != "" {
		return m, nil
	}
	return "", errors.New("the sources of apt on this machine name no archive of Debian (a URL that ends in /debian): give one by -mirror URL")
}

// parseMirror returns the first URL whose path ends in /debian, without a slash at the end, or "".
func parseMirror(out string) string {
	for line := range strings.Lines(out) {
		line = strings.TrimRight(strings.TrimSpace(line), "/")
		if u, err := url.Parse(line); err == nil && u.Host != "" && path.Base(u.Path) == "debian" {
			return line
		}
	}
	return ""
}
