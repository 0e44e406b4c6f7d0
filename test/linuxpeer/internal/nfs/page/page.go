// Package page runs the commands of docs/nfs.md against a server, so that the page cannot differ
// from what the programs do. It reads the commands of other pages, too.
package page

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// File is the page, from the module's root.
const File = "docs/nfs.md"

// host is the server of the page.
const host = "storage.example.net"

// Server is the server that the commands are to call.
type Server struct {
	RDMA  string // host:port of NFS over RDMA
	Mount string // host:port of the mount service, over TCP
}

// Root returns the module's root: the working directory or the first folder above it with a
// go.work.
func Root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.work")); missing == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			err = fmt.Errorf("page: no go.work above the working directory")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// block is a block of the page in a language, possibly none.
var block = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// Lines returns the lines of a file's blocks in a language. Of File, "console" has commands for a
// client, and "" commands for the server.
func Lines(root, file, language string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, b := range block.FindAllStringSubmatch(string(text), -1) {
		if b[1] == language {
			all = append(all, strings.Split(strings.TrimSpace(b[2]), "\n")...)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("page: %s has no block in the language %q", file, language)
	}
	return all, nil
}

// Run runs a command of the page with the server in place of the page's, and dir in place of /tmp.
// It returns the output.
func Run(ctx context.Context, root, dir, command string, s Server) (string, error) {
	args := strings.Fields(command)
	if len(args) < 4 || args[0] != "go" || args[1] != "run" || !strings.Contains(command, host) {
		return "", fmt.Errorf("page: found the command %q, expected go run and the server %s", command, host)
	}
	at, port, err := net.SplitHostPort(s.RDMA)
	if err != nil {
		return "", err
	}
	_, mount, err := net.SplitHostPort(s.Mount)
	if err != nil {
		return "", err
	}
	for i, arg := range args {
		args[i] = strings.NewReplacer(host+":/", at+":/", host, s.RDMA, "/tmp/", dir+"/").Replace(arg)
	}
	if args[2] == "./nfs/cmd/nfs" {
		args = slices.Insert(args, 4, "-port", port, "-mountport", mount)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

// Expect returns the texts that the output of a command must have.
func Expect(command string) []string {
	switch {
	case strings.Contains(command, "nfsping"):
		return []string{"private data received: f6ab0e18", "version=3 seq=3", "version 3: 3 calls, 3 replies"}
	case strings.Contains(command, " cat "):
		return []string{"# "}
	case strings.Contains(command, " ls -l "):
		return []string{"-rw-r--r-- ", " readme\n"}
	case strings.Contains(command, " ls "):
		return []string{`"name":"docs/nfs.md"`}
	case strings.Contains(command, " -resume "):
		return []string{"files: 0 copied, ", " unchanged, 0 skipped; 0 bytes copied\n"}
	case strings.Contains(command, " -r "):
		return []string{"files: ", " copied, 0 unchanged, 0 skipped; "}
	}
	return []string{"files: 1 copied, 0 unchanged, 0 skipped; "}
}
