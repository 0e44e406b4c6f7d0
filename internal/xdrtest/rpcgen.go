package xdrtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// Rpcgen compares the vectors with a second oracle: C code that rpcgen makes of the same XDR,
// linked with libtirpc. It must decode each whole vector, and encode the same bytes again. files
// has the unit's XDR, in order. types has the XDR name of each Go type; vectors of other types are
// left out. The test is skipped if the tools are not installed.
func Rpcgen(t *testing.T, all []Vector, types map[string]string, files ...string) {
	t.Helper()
	var unit bytes.Buffer
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		unit.Write(text)
	}
	out := oracle(t, unit.Bytes(), all, types)
	for _, v := range all {
		if types[v.Type] != "" && !strings.Contains(out, "\n"+v.Name+": ok\n") {
			t.Errorf("%s: rpcgen's decoder and encoder do not give it back\n%s", v.Name, out)
		}
	}
}

// oracle builds the program for the XDR text unit, runs it, and returns its output.
func oracle(t *testing.T, unit []byte, all []Vector, types map[string]string) string {
	t.Helper()
	for _, tool := range []string{"rpcgen", "gcc"} {
		witness.Program(t, tool)
	}
	headers := witness.Libtirpc(t)
	dir := t.TempDir()
	witness.AuthSys(t, dir)
	for name, text := range map[string][]byte{"unit.x": unit, "main.c": cProgram(all, types)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := ""
	for _, command := range []string{
		"rpcgen -h -o unit.h unit.x",
		"rpcgen -c -o unit_xdr.c unit.x",
		"gcc -w -I" + headers + " -I. main.c unit_xdr.c -ltirpc -o oracle",
		"./oracle",
	} {
		args := strings.Fields(command)
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, text)
		}
		out = string(text)
	}
	return out
}

// cProgram returns the program, which prints a line "name: ok" for each vector. It must refuse a
// vector without its last word, as a check of the oracle.
func cProgram(all []Vector, types map[string]string) []byte {
	var c bytes.Buffer
	c.WriteString(`#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "unit.h"

static void check(const char *name, xdrproc_t proc, size_t size, const char *wire, unsigned n)
{
	void *value = calloc(1, size), *cut = calloc(1, size);
	char *in = malloc(n), *out = calloc(1, n + 64);
	XDR x;

	memcpy(in, wire, n);
	xdrmem_create(&x, in, n, XDR_DECODE);
	if (!proc(&x, value) || xdr_getpos(&x) != n) {
		printf("%s: decodes %u of %u bytes\n", name, xdr_getpos(&x), n);
		return;
	}
	xdrmem_create(&x, out, n + 64, XDR_ENCODE);
	if (!proc(&x, value) || xdr_getpos(&x) != n || memcmp(out, wire, n)) {
		printf("%s: encodes to other bytes\n", name);
		return;
	}
	xdrmem_create(&x, in, n - 4, XDR_DECODE);
	if (proc(&x, cut)) {
		printf("%s: decodes without its last word\n", name);
		return;
	}
	printf("%s: ok\n", name);
}

int main(void)
{
	printf("\n");
`)
	for _, v := range all {
		if xdr := types[v.Type]; xdr != "" {
			wire := ""
			for _, b := range v.Bytes {
				wire += fmt.Sprintf(`\%03o`, b)
			}
			fmt.Fprintf(&c, "\tcheck(\"%s\", (xdrproc_t)xdr_%s, sizeof(%s), \"%s\", %d);\n", v.Name, xdr, xdr, wire, len(v.Bytes))
		}
	}
	c.WriteString("\treturn 0;\n}\n")
	return c.Bytes()
}
