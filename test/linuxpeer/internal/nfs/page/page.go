// Package page runs the commands of docs/nfs.md against a server, so that the page cannot differ
// from what the programs do.
package page

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// Root returns the module's root: the working directory or the first folder above it with a go.mod.
func Root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			err = fmt.Errorf("page: no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// block is a block of the page in a language, possibly none.
var block = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// Lines returns the lines of all blocks in a language: "console" has commands for a client, and ""
// commands for the server.
func Lines(root, language string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(File)))
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
		return nil, fmt.Errorf("page: %s has no block in the language %q", File, language)
	}
	return all, nil
}

// Run runs a command of the page with the server in place of the page's, and returns its output.
func Run(ctx context.Context, root, command string, s Server) (string, error) {
	// The example looks for the mount service at another port of the same host.
	args := strings.Fields(strings.NewReplacer(
		host+":20048", s.Mount, host+":20049", s.RDMA, host, s.RDMA,
		"./examples/nfs3 ", "./examples/nfs3 -mount "+s.Mount+" ",
	).Replace(command))
	if len(args) < 3 || args[0] != "go" || args[1] != "run" || !strings.Contains(command, host) {
		return "", fmt.Errorf("page: found the command %q, expected go run and the server %s", command, host)
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
	if strings.Contains(command, "nfsping") {
		return []string{"private data received: f6ab0e18", "version=3 seq=3", "version 3: 3 calls, 3 replies"}
	}
	return []string{"bytes: the server fetched them by RDMA Read", "the folder has the file ", "by RDMA Write, as written: true"}
}
