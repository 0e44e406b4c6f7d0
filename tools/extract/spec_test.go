package main

import (
	"bytes"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

const (
	docV1    = "draft-ietf-nfsv4-rpcrdma-08.txt"
	docV2    = "draft-ietf-nfsv4-rpcrdma-version-two-00.txt"
	docV207  = "draft-ietf-nfsv4-rpcrdma-version-two-07.txt"
	docXchar = "draft-dnoveck-nfsv4-rpcrdma-xcharext-01.txt"
)

// TestSpecIsCurrent is `extract -check` over the project's own documents.
func TestSpecIsCurrent(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]string{"-check", "-spec", specDir}, &out, &errs); code != exitOK {
		t.Errorf("exit code %d; run `go run ./tools/extract`\n%s%s", code, &out, &errs)
	}
	if errs.Len() > 0 {
		t.Errorf("stderr: %s", &errs)
	}
}

// TestNothingLost counts marked lines without the code under test, and compares with the lines
// taken (P13).
func TestNothingLost(t *testing.T) {
	results, err := build(filepath.Join(specDir, "MANIFEST"), specDir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{docV1: 0, docV2: 171, docV207: 259, docXchar: 109, "rfc8167.txt": 0, "draft-williams-rdmatcp-00.txt": 0, "rfc1813.txt": 0}
	got := map[string]int{}
	for _, r := range results {
		if _, ok := want[r.doc.name]; ok {
			got[r.doc.name] = r.marked
		}
		if n := countMarked(readFile(t, filepath.Join(specDir, r.doc.name))); n != r.marked {
			t.Errorf("%s: %d marked lines counted, %d found", r.doc.name, n, r.marked)
		}
		taken := 0
		for _, u := range r.units {
			for _, f := range u.files {
				taken += len(f.taken)
			}
		}
		if signs := map[string]int{"rfc8276.txt": 8}[r.doc.name]; r.doc.mode == modeMarked && taken+signs != r.marked {
			t.Errorf("%s: %d lines marked, %d taken, %d comment signs around pieces", r.doc.name, r.marked, taken, signs)
		}
		if len(r.notes) > 0 {
			t.Errorf("%s: notes %q", r.doc.name, r.notes)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("marked lines (-want +got):\n%s", diff)
	}
}

// countMarked counts the lines that begin with the marker, without the code under test.
func countMarked(doc string) int {
	return len(regexp.MustCompile(`(?m)^[\f \t]*///(?:[^/\n]|/\*|$)`).FindAllString(doc, -1))
}

// The scripts the documents print for extraction.
const (
	scriptV2    = `sed -n -e 's:^ */// ::p' -e 's:^ *///$::p'`
	scriptXchar = `grep '^ *///' | sed 's?^ /// ??' | sed 's?^ *///$??'`
)

// TestDocumentScripts compares the extractor with the documents' own scripts, and records the lines
// that the scripts lose (P13, P14).
func TestDocumentScripts(t *testing.T) {
	for _, tool := range []string{"sh", "sed", "grep"} {
		witness.Program(t, tool)
	}
	tests := []struct {
		name, doc, script string
		lines             int  // the script prints
		same              bool // and they are ours
		marked            int  // lines still carry the marker
	}{
		{"version 2 on its own document", docV2, scriptV2, 171, true, 0},
		{"draft 07 on its own document", docV207, scriptV2, 259, true, 0},
		{"version 2 on xchar", docXchar, scriptV2, 109 - 31, false, 0},
		{"xchar on its own document", docXchar, scriptXchar, 109, false, 109 - 12},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc := readFile(t, filepath.Join(specDir, tt.doc))
			got := runScript(t, tt.script, doc)
			still := 0
			for _, l := range got {
				if strings.HasPrefix(l, "///") {
					still++
				}
			}
			if len(got) != tt.lines || still != tt.marked {
				t.Errorf("the script prints %d lines, %d with the marker; want %d and %d", len(got), still, tt.lines, tt.marked)
			}
			ours := fileLines(string(text(xdrdoc.MarkedLines(xdrdoc.Lines([]byte(doc))))))
			if same := cmp.Equal(ours, got); same != tt.same {
				t.Errorf("equal to ours: %v, want %v", same, tt.same)
			}
		})
	}
}

// runScript returns the lines a shell script prints for a document, trailing blanks removed.
func runScript(t *testing.T, script, doc string) []string {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdin = strings.NewReader(doc)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return fileLines(string(out))
}

// TestLicence finds the documents' code licence in the files that must carry it.
func TestLicence(t *testing.T) {
	for _, name := range []string{"rpcrdma2/common.x", "rpcrdma2draft07/common.x", "xchar/xchar.x", "nfs42xattr/nfs42xattr.x"} {
		x := readFile(t, filepath.Join(specDir, "x", name))
		if !strings.HasPrefix(x, "/*\n") || !strings.Contains(x, "IETF Trust and the persons") || !strings.Contains(x, "Redistributions of source code must retain") {
			t.Errorf("%s does not begin with the licence of its document", name)
		}
	}
}

// TestErrataKeepValues checks that errata change only the form of constants and enumerators, not
// their values or order.
func TestErrataKeepValues(t *testing.T) {
	results, err := build(filepath.Join(specDir, "MANIFEST"), specDir)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, r := range results {
		for _, u := range r.units {
			for _, f := range u.files {
				before, after := constants(f.taken), constants(f.lines)
				total += len(after)
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("%s (-document +corrected):\n%s", f.name, diff)
				}
			}
		}
	}
	if total < 40 {
		t.Errorf("only %d constants seen", total)
	}
}

// constants returns "NAME VALUE" for each constant and enumerator, in order.
func constants(lines []xdrdoc.Line) []string {
	pattern := regexp.MustCompile(`^(?:const (?:\w+ )?|\s*)([A-Z]\w*)\s*=?\s*(0x[0-9]+|[0-9]+)\s*[,;/}]?`)
	var list []string
	for _, l := range lines {
		if m := pattern.FindStringSubmatch(l.Text); m != nil {
			list = append(list, m[1]+" "+m[2])
		}
	}
	return list
}

// TestErrataInForce checks in the corrected files that each fault in section 2 of docs/pitfalls.md
// is mended. R149, R320.
func TestErrataInForce(t *testing.T) {
	tests := []struct{ file, has, hasNot string }{
		{"rpcrdma1/rpcrdma1.x", "   case ERR_VERS:\n     rpc_rdma_errvers     rdma_vrange;\n", "rdma_extra"},
		{"rpcrdma1/rpcrdma1.x", "   default:\n     void;\n};\n", ""},
		{"rpcrdma1/rpcrdma1.x", "     rpc_rdma_error rdma_error;\n};\n\nstruct rdma_msg {\n", ""},
		{"rpcrdma1/rpcrdma1.x", "   RDMA_MSG=0,", ""},
		{"rpcrdma1/rpcrdma1.x", "typedef unsigned hyper uint64;\n", "Page"},
		{"rdmaconfig/rdmaconfig.x", "typedef unsigned int uint32;\n", "Expires"},
		{"rdmaconfig/rdmaconfig.x", "      config_rdma_reply CONF_RDMA(config_rdma_req) = 1;\n   } = 1;\n} = 100400;\n", "NULL"},
		{"rpcrdma2/common.x", "const RPCRDMA2_F_MORE               = 0x00000002;\nstruct rpcrdma2_hdr_prefix {\n", "const uint32"},
		{"rpcrdma2/common.x", "typedef uint32 rpcrdma2_propid;\n", "typedef rpcrdma2_propid"},
		{"rpcrdma2/common.x", "typedef rpcrdma2_propval rpcrdma2_propset<>;\n", ""},
		{"rpcrdma2/common.x", "/* FILE ENDS: common.x; */\n", "RDMA2_MSG"},
		{"rpcrdma2/baseops.x", "typedef uint32 rpcrdma2_errcode;\n", "rdma_rpc_first_word"},
		{"rpcrdma2/baseops.x", "uint32 rdma_max_write_chunks;", "rdma_max_chunks"},
		{"rpcrdma2draft07/common.x", "typedef uint32 rpcrdma2_propid;\n", "typedef rpcrdma2_propid"},
		{"rpcrdma2draft07/common.x", " */\n\ntypedef unsigned int uint32;\ntypedef unsigned hyper uint64;\n", "const uint32"},
		{"rpcrdma2draft07/baseops.x", "typedef uint32 rpcrdma2_errcode;\n", "rdma_rpc_first_word"},
		{"rpcrdma2draft07/baseops.x", "uint32 rdma_max_write_chunks;", "rdma_max_chunks"},
		{"xchar/xchar.x", "typedef xcharval xcharspec<>;\n", "typedef xcharid"},
		{"xchar/xchar.x", "typedef uint32 xcharsubset<>;\n", "const uint32"},
		{"nfs3/nfs3.x", "struct FSINFO3args {\n", "struct FSINFOargs"},
		{"nfs3/nfs3.x", "typedef unsigned int uint32;\ntypedef int int32;\n", "long"},
		{"mount3/mount3.x", "case MNT3_OK:\n", "case MNT_OK"},
		{"nlm4/nlm4.x", "typedef unsigned int uint32;\ntypedef int int32;\n", "long"},
	}
	for _, tt := range tests {
		x := readFile(t, filepath.Join(specDir, "x", tt.file))
		if !strings.Contains(x, tt.has) {
			t.Errorf("%s lacks %q", tt.file, tt.has)
		}
		if tt.hasNot != "" && strings.Contains(x, tt.hasNot) {
			t.Errorf("%s holds %q", tt.file, tt.hasNot)
		}
	}
}

// TestMovedKeepOrigin checks that moved definitions keep the lines of the document as their origin.
func TestMovedKeepOrigin(t *testing.T) {
	results, err := build(filepath.Join(specDir, "MANIFEST"), specDir)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, l := range results[0].units[0].files[0].lines {
		if l.Erratum == "" && strings.HasSuffix(l.Text, "{") {
			seen[l.Text] = true
		}
	}
	want := map[string]bool{"struct rdma_msg {": true, "union rdma_body switch (rdma_proc proc) {": true}
	maps.DeleteFunc(seen, func(k string, _ bool) bool { return !want[k] })
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}
