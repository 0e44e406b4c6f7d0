package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/packet"
)

//go:embed web
var web embed.FS

// program is the package of the compiler for a browser.
const program = "github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/page/wasm"

// compile returns the compiler as WebAssembly.
func compile(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "xdrgen-page-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "xdrgen.wasm")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", name, program)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0", "GOWASM=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, text)
	}
	return os.ReadFile(name)
}

// wasmExec returns the script that connects a Go program to a browser. It belongs to the version of
// Go that compiles.
func wasmExec(ctx context.Context) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	return string(text), err
}

// workingFolder gives the compiler a working folder, which wasm_exec.js does not have.
const workingFolder = `globalThis.process = {getuid: () => -1, getgid: () => -1, geteuid: () => -1, getegid: () => -1, pid: -1, ppid: -1,
  getgroups() { throw new Error("no groups"); }, umask() { throw new Error("no files"); }, cwd: () => "/page", chdir() { throw new Error("no folders"); }};
`

// assemble returns the page. Its policy permits the script and the style that it has by their
// digests, and no others: no texts of a user or a link can become a program.
func assemble(engine []byte, runtime string) ([]byte, error) {
	packed, err := compress(engine)
	if err != nil {
		return nil, err
	}
	parts := map[string]string{"ENGINE": base64.StdEncoding.EncodeToString(packed)}
	style, err := web.ReadFile("web/page.css")
	if err != nil {
		return nil, err
	}
	parts["STYLE"] = string(style) + packet.Style
	if parts["SCRIPT"], err = pageScript(); err != nil {
		return nil, err
	}
	if parts["WORKER"], err = workerScript(runtime); err != nil {
		return nil, err
	}
	list, err := examples()
	if err != nil {
		return nil, err
	}
	if parts["EXAMPLES"], err = script(list); err != nil {
		return nil, err
	}
	parts["POLICY"] = fmt.Sprintf("default-src 'none'; script-src 'sha256-%s' 'wasm-unsafe-eval'; style-src 'sha256-%s'; worker-src blob:; "+
		"img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types xdrgen", digest(parts["SCRIPT"]), digest(parts["STYLE"]))
	page, err := web.ReadFile("web/page.html")
	if err != nil {
		return nil, err
	}
	return fill(string(page), parts)
}

// fill replaces the marks of a template, such as {{STYLE}}, and requires each exactly once.
func fill(text string, parts map[string]string) ([]byte, error) {
	var pairs []string
	for name, part := range parts {
		mark := "{{" + name + "}}"
		if n := strings.Count(text, mark); n != 1 {
			return nil, fmt.Errorf("page.html has %s %d times, expected once", mark, n)
		}
		pairs = append(pairs, mark, part)
	}
	return []byte(strings.NewReplacer(pairs...).Replace(text)), nil
}

// pageScript returns the script of the page. A block keeps its names from being global.
func pageScript() (string, error) {
	text, err := concat("web/show.js", "web/bytes.js", "web/page.js")
	if err != nil {
		return "", err
	}
	return script("\"use strict\";\n{\n" + text + "}\n")
}

// workerScript returns the script of the worker.
func workerScript(runtime string) (string, error) {
	own, err := concat("web/worker.js")
	if err != nil {
		return "", err
	}
	return script(workingFolder + runtime + own)
}

func concat(names ...string) (string, error) {
	var out strings.Builder
	for _, name := range names {
		text, err := web.ReadFile(name)
		if err != nil {
			return "", err
		}
		out.Write(text)
	}
	return out.String(), nil
}

// digest returns the digest of a script or style as a policy has it.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// compress returns data as gzip, without a time.
func compress(data []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
