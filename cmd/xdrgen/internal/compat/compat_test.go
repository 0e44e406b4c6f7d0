package compat

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gonames"
	"github.com/rpcrdma/rpcrdma/internal/corpus"
)

// compile compiles a text. A sidecar follows it after a line "---".
func compile(t *testing.T, text string) Revision {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "p.x")
	text, bind, ok := strings.Cut(text, "---\n")
	if ok {
		write(t, filepath.Join(dir, "p.bind"), bind)
	}
	write(t, file, text)
	return compileFile(t, file, sema.Options{})
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func compileFile(t *testing.T, file string, o sema.Options) Revision {
	t.Helper()
	o.Files = []string{file}
	r, err := sema.Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Unit == nil {
		for _, d := range r.Diags {
			t.Errorf("%s: %d: %s", file, d.Span.Position().Line, d.Message)
		}
		t.FailNow()
	}
	return Revision{r.Unit, r.Bind, gonames.Renames(r.Unit, r.Bind)}
}

// show returns a change in the form of the test tables: the verdicts on wire, source, old reads
// new and new reads old by one letter each, the rule, and the path.
func show(c Change) string {
	e := c.Effects
	letters := ""
	for _, v := range []Verdict{e.Wire, e.Source, e.OldReadsNew, e.NewReadsOld} {
		letters += v.String()[:1]
	}
	return fmt.Sprintf("%s %s %s", letters, c.Rule.Info().Name, c.Path)
}

func TestEditsHaveTheirEffects(t *testing.T) {
	for i, tt := range edits() {
		t.Run(fmt.Sprintf("%02d %s", i, tt.name), func(t *testing.T) {
			var got []string
			old, new := compile(t, tt.old), compile(t, tt.new)
			for _, c := range Compare(old, new) {
				got = append(got, show(c))
				if c.Message == "" || !c.Old.Valid() && !c.New.Valid() {
					t.Errorf("%s: message %q, places %v %v", show(c), c.Message, c.Old, c.New)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("changes (-want +got):\n%s", d)
			}
			for _, s := range []Revision{old, new} {
				if c := Compare(s, s); len(c) > 0 {
					t.Errorf("compared with itself: %s", show(c[0]))
				}
			}
		})
	}
}

// TestRulesCovered checks that every rule has an edit.
func TestRulesCovered(t *testing.T) {
	seen, codes := map[string]bool{}, map[string]bool{}
	for _, tt := range edits() {
		for _, w := range tt.want {
			seen[strings.Fields(w)[1]] = true
		}
	}
	for _, r := range Rules() {
		if !seen[r.Name] {
			t.Errorf("no edit has a change of rule %s", r.Name)
		}
		if codes[r.Code] || r.Code == "" || r.Reason == "" {
			t.Errorf("rule %+v: duplicate code or missing field", r)
		}
		codes[r.Code] = true
	}
	if n := len(edits()); n < 40 {
		t.Errorf("%d edits, expected 40", n)
	}
}

func TestAllowedClassesDoNotBreak(t *testing.T) {
	c := Change{Rule: MemberRemoved, Effects: MemberRemoved.Info().Effects}
	tests := []struct {
		allow []string
		want  []string
	}{
		{nil, []string{"source", "extension"}},
		{[]string{"wire"}, []string{"source", "extension"}},
		{[]string{"source"}, []string{"extension"}},
		{[]string{"source", "extension"}, nil},
		{[]string{"member-removed"}, nil},
		{[]string{"member-added"}, []string{"source", "extension"}},
	}
	for _, tt := range tests {
		a, err := ParseAllow(tt.allow)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, a.Broken(c)); d != "" {
			t.Errorf("allow %v: %s", tt.allow, d)
		}
	}
	for given, want := range map[string]string{
		"sorce": `found "sorce", expected source`,
		"thing": `found "thing", expected wire, source, extension or the name of a rule`,
	} {
		if _, err := ParseAllow([]string{given}); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, expected %s", given, err, want)
		}
	}
}

// outcome returns the numbers of changes that break each class, and the changes that break the
// wire.
func outcome(changes []Change) (counts string, wire []string) {
	n := map[string]int{}
	for _, c := range changes {
		for _, k := range c.Classes() {
			n[k]++
		}
		if c.Effects.Wire != OK {
			wire = append(wire, c.Rule.Info().Name+" "+c.Path)
		}
	}
	return fmt.Sprintf("of %d: wire %d, source %d, extension %d", len(changes), n["wire"], n["source"], n["extension"]), wire
}

// TestCorpusPairs compares files for the same protocol from different projects. shown lists
// changes that must be among those found.
func TestCorpusPairs(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t), "x")
	tests := []struct {
		old, new string
		counts   string
		wire     []string
		shown    []string
	}{
		{
			"nfs-utils/sm_inter.x", "rpcsvc-proto/sm_inter.x", "of 3: wire 0, source 3, extension 1", nil,
			[]string{"obob procedure-removed program SM_PROG SM_VERS SM_NOTIFY"},
		},
		{"rpcsvc-proto/nlm_prot.x", "nfs-utils/nlm_prot.x", "of 0: wire 0, source 0, extension 0", nil, nil},
		{ // mount version 3 added to 1 and 2; nothing else changes, not even Go names
			"rpcsvc-proto/mount.x", "nfs-utils/mount.x", "of 8: wire 0, source 0, extension 0", nil,
			[]string{"oooo version-added program MOUNTPROG MOUNTVERS_NFSV3"},
		},
		{ // a renamed status enum, and program version 2
			"rpcsvc-proto/rquota.x", "nfs-ganesha/rquota.x", "of 9: wire 0, source 1, extension 0", nil,
			[]string{"oboo declaration-renamed enum qr_status"},
		},
		{ // NFS version 2 with other names, and version 3 added
			"rpcsvc-proto/nfs_prot.x", "nfs-ganesha/nfs23.x", "of 212: wire 0, source 61, extension 0", nil,
			[]string{"oboo declaration-renamed struct fattr2", "oooo version-added program NFS_PROGRAM NFS_V3"},
		},
		{ // lock manager version 4 instead of 3
			"linux/nlm3.x", "linux/nlm4.x", "of 39: wire 0, source 21, extension 1", nil,
			[]string{"obob version-removed program NLM4_PROG NLM_VERS", "oooo version-added program NLM4_PROG NLM4_VERS"},
		},
		{ // names in lower case, and an unsigned process number
			"nfs-ganesha/nlm4.x", "glusterfs/nlm4-xdr.x", "of 37: wire 0, source 35, extension 3", nil,
			[]string{"oboo field-renamed struct nlm4_testres.stat", "obpp type-values struct nlm4_lock.svid", "oboo type-source struct nlm4_lock.l_len"},
		},
	}
	for _, tt := range tests {
		old := compileFile(t, filepath.Join(dir, tt.old), sema.Options{})
		changes := Compare(old, compileFile(t, filepath.Join(dir, tt.new), sema.Options{}))
		counts, wire := outcome(changes)
		if counts != tt.counts {
			t.Errorf("%s, %s: %s, expected %s", tt.old, tt.new, counts, tt.counts)
		}
		if d := cmp.Diff(tt.wire, wire); d != "" {
			t.Errorf("%s, %s: break the wire (-want +got):\n%s", tt.old, tt.new, d)
		}
		for _, want := range tt.shown {
			if !slices.ContainsFunc(changes, func(c Change) bool { return show(c) == want }) {
				t.Errorf("%s, %s: no %s", tt.old, tt.new, want)
			}
		}
	}
}

// TestRFC8166KeptTheEncoding compares RPC-over-RDMA version 1 of its first draft with that of RFC
// 8166, which had to keep the encoding. Only errors differ: RFC 8166 has no default arm for other
// error codes, and here no sidecar that makes the enum open. Without the sidecar, most Go names
// differ too.
func TestRFC8166KeptTheEncoding(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t), "ietf")
	old := compileFile(t, "../../../../spec/x/rpcrdma1/rpcrdma1.x", sema.Options{})
	changes := Compare(old, compileFile(t, extracted(t, filepath.Join(dir, "rfc8166.txt")), sema.Options{}))
	counts, wire := outcome(changes)
	if want := "of 41: wire 0, source 39, extension 2"; counts != want || len(wire) > 0 {
		t.Errorf("%s, expected %s; break the wire: %q", counts, want, wire)
	}
	var got []string
	for _, c := range changes {
		if c.Effects.Extension() != OK {
			got = append(got, show(c))
		}
	}
	if d := cmp.Diff([]string{"ooop enum-closed enum rpc_rdma_errcode", "ooop default-removed union rpc_rdma_error.default"}, got); d != "" {
		t.Errorf("break extension (-want +got):\n%s", d)
	}
}

// extracted returns the lines of a document that begin with ///, as a file.
func extracted(t *testing.T, document string) string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, l := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(l), "///"); ok {
			b.WriteString(rest + "\n")
		}
	}
	file := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(document), ".txt")+".x")
	write(t, file, b.String())
	return file
}

// TestMinorVersionsKeepTheEncoding compares the minor versions of NFSv4 in their RFCs. Each had to
// keep the encoding of the one before.
func TestMinorVersionsKeepTheEncoding(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t), "ietf")
	var revisions []Revision
	for _, rfc := range []string{"rfc7531.txt", "rfc5662.txt", "rfc7863.txt"} { // 4.0, 4.1, 4.2
		revisions = append(revisions, compileFile(t, extracted(t, filepath.Join(dir, rfc)), sema.Options{}))
	}
	for i, want := range []string{"", "obop type-narrowed union nfs_cb_argop4.argop, obop type-narrowed union nfs_cb_resop4.resop"} {
		var wire, narrowed []string
		added := 0
		for _, c := range Compare(revisions[i], revisions[i+1]) {
			switch {
			case c.Effects.Wire != OK:
				wire = append(wire, show(c))
			case c.Rule == TypeNarrowed:
				narrowed = append(narrowed, show(c))
			case c.Rule == MemberAdded && strings.HasPrefix(c.Path, "enum nfs_opnum4."):
				added++
			}
		}
		if len(wire) > 0 || strings.Join(narrowed, ", ") != want {
			t.Errorf("4.%d to 4.%d: break the wire %q, narrowed %q, expected %s", i, i+1, wire, narrowed, want)
		}
		if operations := []int{19, 13}[i]; added != operations {
			t.Errorf("4.%d to 4.%d: %d operations added, expected %d", i, i+1, added, operations)
		}
	}
}
