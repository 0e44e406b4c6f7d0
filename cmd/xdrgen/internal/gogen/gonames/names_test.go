package gonames

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// unitOf compiles x with a sidecar.
func unitOf(t *testing.T, x, bind string) (*ir.Unit, *ir.Bind) {
	t.Helper()
	r, err := sema.Compile(sema.Options{Files: []string{"unit.x"}, FS: fstest.MapFS{
		"unit.x": {Data: []byte(x + "\n")}, "unit.bind": {Data: []byte(bind)},
	}})
	if err != nil || r.Unit == nil || diag.HasErrors(r.Diags) {
		t.Fatalf("%s: the front end refuses it: %v %v", x, err, r.Diags)
	}
	return r.Unit, cmp.Or(r.Bind, &ir.Bind{})
}

// refused returns the names of a unit that are equal in Go.
func refused(u *ir.Unit, b *ir.Bind) []diag.Diagnostic { return New().Add(u.Decls, b, true) }

// namesOf compiles x and returns the Go names of its enumerators, versions and
// procedures, in their order.
func namesOf(t *testing.T, x, bind string) []string {
	t.Helper()
	u, b := unitOf(t, x, bind)
	n := New()
	if diags := n.Add(u.Decls, b, true); len(diags) > 0 {
		t.Fatal(diags[0].Message)
	}
	var out []string
	for _, d := range u.Decls {
		for _, m := range d.Members {
			out = append(out, n.Member(m))
		}
		if d.Kind != ir.Program {
			continue
		}
		for _, v := range d.Program.Versions {
			out = append(out, n.Version(v))
			for _, p := range v.Procs {
				out = append(out, n.Proc(p))
			}
		}
	}
	return out
}

func TestDeclarationsHaveGoNames(t *testing.T) {
	for name, c := range map[string]struct{ x, bind, want string }{
		"enumerators": {
			"enum auth_stat { AUTH_OK = 0, AUTH_TOOWEAK = 1 };", "",
			"AuthStatOK AuthStatTooweak",
		},
		"all of an enum keep one word more where one would meet a type": {
			"enum snap { SNAP_OPT_NONE = 0, SNAP_OPT_CONFIG = 1 }; struct snap_config { int a; };", "",
			"SnapOptNone SnapOptConfig",
		},
		"and all words at last": {
			"enum snap { SNAP_OPT_NONE = 0, SNAP_OPT_CONFIG = 1 }; struct snap_config { int a; }; struct snap_opt_none { int a; };", "",
			"SnapSnapOptNone SnapSnapOptConfig",
		},
		"the T of a type in C": {
			"enum gss_proc_t { GSS_INIT = 0, GSS_DATA = 1 }; enum log_t { LOG_A = 0, LOG_B = 1 }; struct log { int a; };", "",
			"GSSProcInit GSSProcData LogTA LogTB",
		},
		"a number that the enum has": {
			"enum createmode4 { UNCHECKED4 = 0, EXCLUSIVE4 = 1, EXCLUSIVE4_1 = 2 };", "",
			"Createmode4Unchecked Createmode4Exclusive Createmode4Exclusive4_1",
		},
		"PROG, VERS and PROC are words": {
			"program RSTATPROG { version RSTATVERS_TIME { void RSTATPROC_STATS(void) = 1; } = 3;\n" +
				"version RSTATVERS_SWTCH { void RSTATPROC_STATS(void) = 1; } = 2; } = 77;", "",
			"RstatProgVersTime RstatProgVersTimeStats RstatProgVersSwtch ProcStats",
		},
		"a program with one procedure": {
			"program YPPASSWDPROG { version YPPASSWDVERS { void YPPASSWDPROC_UPDATE(void) = 1; } = 1; } = 77;", "",
			"YppasswdProgVers ProcUpdate",
		},
		"a prefix of the sidecar is dropped first": {
			"enum gf_op { GF_OP_A = 1, GF_OP_B = 2 };", "prefix gf_\nprefix GF_\n",
			"OpA OpB",
		},
		"a rename is final, and the others are as without it": {
			"enum op { OP_A = 1, OP_B = 2 };", "rename OP_A First\n",
			"First OpB",
		},
		"an enum that is renamed": {
			"enum op { KIND_OF_A = 1, B = 2 };", "rename op KindOf\n",
			"KindOfA KindOfB",
		},
		"one version": {
			"program NFS_PROGRAM { version NFS_V3 { void NFSPROC3_NULL(void) = 0; void NFSPROC3_READ(void) = 1; } = 3; } = 77;", "",
			"NFSProgramV3 ProcNull ProcRead",
		},
		"several versions": {
			"program P { version P_V2 { void P2_NULL(void) = 0; void P2_A(void) = 1; } = 2;\n" +
				"version P_V3 { void P3_NULL(void) = 0; void P3_A(void) = 1; } = 3; } = 77;", "",
			"PV2 ProcNull ProcA PV3 PV3Null PV3A",
		},
		"two programs with procedures of one name": {
			"program A { version V1 { void A_NULL(void) = 0; void A_X(void) = 1; } = 1; } = 77;\n" +
				"program B { version V2 { void B_NULL(void) = 0; void B_Y(void) = 1; } = 1; } = 78;", "",
			"AV1 ProcNull ProcX BV2 BV2Null BV2Y",
		},
		"the lowest version stands behind in the file": {
			"program P { version V3 { void NULL(void) = 0; } = 3; version V2 { void NULL(void) = 0; } = 2; } = 77;", "",
			"PV3 PV3Null PV2 ProcNull",
		},
		"versions and the program share words": {
			"program MOUNTPROG { version MOUNT_V1 { void MNT(void) = 1; } = 1; version MOUNT_V3 { void MNT(void) = 1; } = 3; } = 77;", "",
			"MountProgV1 ProcMnt MountProgV3 MountProgV3Mnt",
		},
		"versions alike without the program's words": {
			"program P { version V1 { void A(void) = 1; } = 1; version P_V1 { void A(void) = 1; } = 2; } = 77;", "",
			"PV1 ProcA PPV1 PPV1A",
		},
		"a procedure of one version renamed": {
			"program P { version V1 { void GET(void) = 1; } = 1; version V2 { void GET(void) = 1; } = 2; } = 77;",
			"rename P.V1.GET V1Get\nrename GET Get\n",
			"PV1 V1Get PV2 Get",
		},
		"procedures that are renamed": {
			"program A { version V1 { void A_NULL(void) = 0; void A_X(void) = 1; } = 1; } = 77;", "rename A_X DoX\nrename V1 Vers\n",
			"Vers ProcNull DoX",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := namesOf(t, c.x, c.bind); !slices.Equal(got, strings.Fields(c.want)) {
				t.Errorf("got %s, want %s", strings.Join(got, " "), c.want)
			}
		})
	}
}

// TestFieldsHaveGoNames checks the names of fields: a word that all have is dropped if it repeats
// the type's name.
func TestFieldsHaveGoNames(t *testing.T) {
	for name, c := range map[string]struct{ x, bind, want string }{
		"initials of the type":     {"struct CREATE_SESSION4args { int csa_flags; int csa_client_id; };", "", "Flags ClientID"},
		"letters of the type":      {"struct rstat_timeval { int tv_sec; int tv_usec; };", "", "Sec Usec"},
		"a word of the type":       {"struct lock_owner { int lock_id; int lock_seq; };", "", "ID Seq"},
		"other letters":            {"struct point { int x_min; int x_max; };", "", "XMin XMax"},
		"not all have it":          {"struct link_obj { int li_name; int attrs; };", "", "LiName Attrs"},
		"one field":                {"struct destroy_args { int da_id; };", "", "ID"},
		"one field, another first": {"struct rmdir_res { int dir_wcc; };", "", "DirWcc"},
		"nothing is left":          {"struct notify { int notify; int notify_mask; };", "", "Notify NotifyMask"},
		"a digit is left":          {"struct args { int a_1; int a_2; };", "", "A1 A2"},
		"two would be alike":       {"struct args { int a_ab; int a_AB; };", "rename args.a_AB Other\n", "AAb Other"},
		"a negation":               {"struct note { int no_a; int no_b; };", "", "NoA NoB"},
		"a rename is final":        {"struct lock { int lk_id; int lk_seq; };", "rename lock.lk_id Number\n", "Number Seq"},
		"arms and discriminant":    {"union seek_res switch (int sr_status) { case 0: int sr_off; default: void; };", "", "Status Off"},
		"a method's name":          {"struct lock { int l_string; int l_id; };", "", "String_ ID"},
	} {
		t.Run(name, func(t *testing.T) {
			u, b := unitOf(t, c.x, c.bind)
			var got []string
			for _, n := range Renames(u, b) {
				if strings.Contains(n.XDR, ".") {
					got = append(got, n.GoName)
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
		})
	}
}

// TestNamesStay adds a version or a program to a unit: every XDR name that was there keeps
// its Go name.
func TestNamesStay(t *testing.T) {
	const (
		one   = "version MOUNT_V1 { void MOUNTPROC_NULL(void) = 0; int MOUNTPROC_MNT(int) = 1; } = 1;\n"
		alike = "version MOUNT_V3 { void MOUNTPROC_NULL(void) = 0; int MOUNTPROC_MNT(int) = 1; int MOUNTPROC_MORE(int) = 2; } = 3;\n"
		other = "version VERS_NEW { void GET(void) = 0; } = 4;\n"
		same  = "version MOUNTPROG_MOUNT_V1 { void MOUNTPROC_NULL(void) = 0; } = 9;\n"
		first = "program FIRST { version FIRST_V2 { int GET(int) = 1; } = 2; } = 70;\n"
		third = "program THIRD { version THIRD_V1 { void MOUNTPROC_NULL(void) = 0; int GET(int) = 1; } = 1; } = 80;\n"
	)
	unit := func(before, versions, after string) string {
		return before + "program MOUNTPROG {\n" + versions + "} = 75;\n" + after
	}
	for _, c := range []struct{ name, old, new string }{
		{"a version with the same procedures", unit("", one, ""), unit("", one+alike, "")},
		{"a version in front of a lower one", unit("", one, ""), unit("", alike+one, "")},
		{"a version with a name of another kind", unit("", one, ""), unit("", one+other, "")},
		{"a version with the program's name in its own", unit("", one, ""), unit("", one+same, "")},
		{"a third version", unit("", one+alike, ""), unit("", one+other+alike, "")},
		{"a version, with a program behind", unit("", one, third), unit("", one+other+alike, third)},
		{"a version, with a program before", unit(first, one, third), unit(first, one+other+alike, third)},
		{"a program", unit("", one, ""), unit("", one, third)},
		{"a program, with several versions before", unit(first, one+alike, ""), unit(first, one+alike, third)},
		{"the program's second part", unit("", one, ""), unit("", one, "program MOUNT2 {\n"+alike+"} = 75;\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := map[string]string{}
			for _, n := range goNames(t, c.new) {
				now[n.XDR] = n.GoName
			}
			for _, n := range goNames(t, c.old) {
				if now[n.XDR] != n.GoName {
					t.Errorf("%s was %s, and is %s", n.XDR, n.GoName, now[n.XDR])
				}
			}
			used := map[string]string{}
			for xdr, name := range now {
				if first, twice := used[name]; twice {
					t.Errorf("%s and %s are both %s", first, xdr, name)
				}
				used[name] = xdr
			}
		})
	}
}

// goNames returns the Go names of a unit.
func goNames(t *testing.T, x string) []ir.Rename {
	t.Helper()
	return Renames(unitOf(t, x, ""))
}

// TestRenamesHoldForEachKind renames each kind of name, and reads the reasons.
func TestRenamesHoldForEachKind(t *testing.T) {
	const x = "const MAX = 4; enum kind { KIND_A = 0, KIND_B = 1 }; struct item { int id; }; struct list { int v; list *next; };\n" +
		"union u switch (kind k) { case KIND_A: int arm; default: void; }; typedef int count;\n" +
		"program PROG { version VERS { void GET(void) = 1; } = 1; } = 9;"
	const bind = "rename MAX Most\nrename kind Sort\nrename KIND_A First\nrename kind.KIND_B Second\nrename item Thing\nrename item.id Number\n" +
		"rename u Pick\nrename u.k Sort\nrename u.arm Value\nrename count Total\nrename PROG Program\nrename PROG.VERS Version\n" +
		"rename PROG.VERS.GET Fetch\nrename list Chain\nrename list.v Link\n"
	u, b := unitOf(t, x, bind)
	if diags := refused(u, b); len(diags) > 0 {
		t.Error(diags[0].Message)
	}
	var got []string
	for _, n := range List(u, b, false) {
		got = append(got, n.Kind+" "+n.XDR+" "+n.Go)
		if want := map[bool]string{false: WhyRename, true: WhyRule}[n.Kind == KindList]; n.Why != want {
			t.Errorf("%s: %s", n.XDR, n.Why)
		}
	}
	want := "constant MAX Most\nenum kind Sort\nenumerator kind.KIND_A First\nenumerator kind.KIND_B Second\nstruct item Thing\nfield item.id Number\nlist list ChainList\n" +
		"union u Pick\nfield u.k Sort\narm u.arm Value\ntypedef count Total\nprogram PROG Program\nversion PROG.VERS Version\nprocedure PROG.VERS.GET Fetch"
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got\n%s", s)
	}
}

// TestNamesHaveReasons reads why names are as they are.
func TestNamesHaveReasons(t *testing.T) {
	u, b := unitOf(t, "const LOG = 1; struct log { int lg_id; int lg_string; }; struct log_t { int a; }; enum snap { SNAP_X_A = 0, SNAP_X_B = 1 };\n"+
		"struct snap_a { int c; }; program P { version V { void GET(void) = 0; } = 1; version P_V { void GET(void) = 0; } = 2; } = 7;\n"+
		"program Q { version V { void GET(void) = 0; } = 1; } = 8;", "")
	want := map[string]string{
		"LOG": "LOG collision", "log": "Log rule", "log.lg_id": "ID rule", "log.lg_string": "String_ collision", "log_t": "LogT collision", "log_t.a": "A rule",
		"snap": "Snap rule", "snap.SNAP_X_A": "SnapXA collision", "snap.SNAP_X_B": "SnapXB collision", "snap_a": "SnapA rule", "snap_a.c": "C rule",
		"P": "P rule", "P.V": "PV rule", "P.P_V": "PPV collision", "P.V.GET": "ProcGet rule", "P.P_V.GET": "PPVGet rule", "Q": "Q rule", "Q.V": "QV rule", "Q.V.GET": "QVGet collision",
	}
	for _, n := range List(u, b, false) {
		if got := n.Go + " " + n.Why; got != want[n.XDR] {
			t.Errorf("%s: %s, want %s", n.XDR, got, want[n.XDR])
		}
		delete(want, n.XDR)
	}
	if len(want) > 0 {
		t.Errorf("no names for %v", want)
	}
}

// TestNamesOfListsAreFree gives the list of a node another name where the document has the usual
// one, and shows it after the name of an element.
func TestNamesOfListsAreFree(t *testing.T) {
	u, b := unitOf(t, "struct item { int a; int b; item *next; }; typedef item *item_list; struct word { opaque w<>; word *next; };\n"+
		"struct p_list { int v; p_list *next; }; struct q_list { int v; int w; q_list *next; };", "")
	var got []string
	for _, n := range List(u, b, false) {
		if n.Kind != "field" {
			got = append(got, n.Kind+" "+n.XDR+" "+n.Go+" "+n.Why)
		}
	}
	want := "struct item Item rule; list item ItemList_ collision; typedef item_list ItemList rule; list word WordList rule; " +
		"list p_list PList rule; struct q_list QList rule; list q_list QListList rule"
	if s := strings.Join(got, "; "); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
}

// TestNamesAreToldApart compiles declarations whose usual Go names are equal. None is refused, and
// the first keeps its name, unless another is spelled as Go would.
func TestNamesAreToldApart(t *testing.T) {
	for _, c := range []struct{ x, want string }{
		{"struct foo { int a; }; struct Foo_ { int a; }; typedef int foo_;", "foo Foo; Foo_ Foo_; foo_ Foo__"},
		{"struct a_b { int x; }; struct aB { int x; };", "a_b AB; aB AB_"},
		{"struct aB { int x; }; struct a_b { int x; };", "aB AB; a_b AB_"},
		{"enum e { A_B = 0, a_b = 1 };", "e E; e.A_B EAB; e.a_b EAB_"},
		{"struct a { int x; }; struct A { int x; };", "a A_; A A"},
		{"struct extension { int a; };", "extension Extension_"},
		{"program P { version V { void GET(void) = 0; void get(void) = 1; } = 1; } = 9;", "P P; P.V PV; P.V.GET ProcGet; P.V.get ProcGet_"},
		{"const PROC_GET = 5; program P { version V { void GET(void) = 0; } = 1; } = 9;", "PROC_GET ProcGet; P P; P.V PV; P.V.GET ProcGet_"},
		{"struct p_w_do { int a; }; program P { version V { void DO(void) = 1; } = 1; version W { void DO(void) = 1; } = 2; } = 77;",
			"p_w_do PWDo; P P; P.V PV; P.V.DO ProcDo; P.W PW; P.W.DO PWDo_"},
		{"program NFS { version NFS_V3 { void GET(void) = 1; } = 3; } = 7; program NFS_V3 { version V1 { void LS(void) = 0; } = 1; } = 8;",
			"NFS NFS; NFS.NFS_V3 NFSV3_; NFS.NFS_V3.GET ProcGet; NFS_V3 NFSV3; NFS_V3.V1 NFSV3V1; NFS_V3.V1.LS ProcLs"},
	} {
		u, b := unitOf(t, c.x, "")
		if diags := refused(u, b); len(diags) > 0 {
			t.Errorf("%s: %s", c.x, diags[0].Message)
		}
		var got []string
		for _, n := range List(u, b, false) {
			if n.Kind != "field" {
				got = append(got, n.XDR+" "+n.Go)
			}
			if apart := strings.HasSuffix(n.Go, "_") && !strings.HasSuffix(n.XDR, "_"); apart && n.Why != WhyCollision {
				t.Errorf("%s: %s becomes %s: %s", c.x, n.XDR, n.Go, n.Why)
			}
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s: got %s, want %s", c.x, s, c.want)
		}
	}
}

// TestRenamesMeet renames to names that are taken: each is refused, at the later one.
func TestRenamesMeet(t *testing.T) {
	for bind, at := range map[string]string{
		"rename a B":                   "a",
		"rename a X\nrename b X":       "a",
		"rename e.M B":                 "M",
		"rename M X\nrename N X":       "N",
		"rename a.f G":                 "g",
		"rename a.f DecodeXDR":         "f",
		"rename MAX EM":                "MAX",
		"rename b Extension":           "b",
		"rename a.f X\nrename a.g X\n": "g",
	} {
		u, b := unitOf(t, "const MAX = 1; enum e { M = 0, N = 1 }; struct b { int x; }; struct a { int f; int g; };", bind)
		diags := refused(u, b)
		if len(diags) != 1 || diags[0].Span.Text() != at {
			t.Errorf("%q: %v", bind, diags)
		}
	}
}

// TestUnderscoreFirst checks that a name with an underscore in front gets another Go name if the
// name without it is declared too, as C files have both struct _quad and typedef quad.
func TestUnderscoreFirst(t *testing.T) {
	for x, want := range map[string]string{
		"struct _quad { int a; }; typedef _quad quad;":                                        "_quad=Quad_ quad=Quad",
		"typedef _quad quad; struct _quad { int a; };":                                        "quad=Quad _quad=Quad_",
		"%#define quad _quad\nstruct _quad { int a; }; struct s { quad b; };":                 "_quad=Quad_ s=S quad=Quad",
		"struct _quad { int a; };":                                                            "_quad=Quad",
		"enum _color { RED = 0 }; typedef _color color; const _limit = 1; typedef int limit;": "_color=Color_ color=Color _limit=Limit_ limit=Limit",
	} {
		u, b := unitOf(t, x, "")
		if diags := refused(u, b); len(diags) > 0 {
			t.Errorf("%s: %s", x, diags[0].Message)
		}
		var got []string
		for _, n := range Renames(u, b) {
			if !strings.Contains(n.XDR, ".") {
				got = append(got, n.XDR+"="+n.GoName)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", x, s, want)
		}
	}
}

// TestFieldsThatDifferByCaseGetUnderscores names fields that are equal in Go: the one that is
// spelled as in Go keeps the name, wherever it is, and the others get underscores. A name that
// the sidecar gives to one of them is final, and no other may have it.
func TestFieldsThatDifferByCaseGetUnderscores(t *testing.T) {
	for _, tt := range []struct{ x, bind, want string }{
		{"struct names { int func; int Func; int func_; int n; };", "", "Func_ Func Func__ N"},
		{"struct names { int Func; int func; int FUNC; };", "", "Func Func_ Func__"},
		{"struct names { int a; int A; };", "", "A_ A"},
		{"struct names { int a_b; int aB; int A_b; };", "", "AB AB_ AB__"},
		{"struct names { int func; int Func; };", "rename names.func Call\n", "Call Func"},
		{"struct names { int func; int Func; int n; };", "rename names.n Func_\n", "Func__ Func Func_"},
		{"union names switch (int v) { case 1: int x; case 2: int X; default: void; };", "", "V X_ X"},
	} {
		u, b := unitOf(t, tt.x, tt.bind)
		n := New()
		if diags := n.Add(u.Decls, b, true); len(diags) > 0 {
			t.Errorf("%s %q: %v", tt.x, tt.bind, diags)
			continue
		}
		d := u.Decls[0]
		var got []string
		if d.Disc != nil {
			got = append(got, n.Field(d.Disc))
		}
		for _, f := range d.Fields {
			got = append(got, n.Field(f))
		}
		for _, a := range d.Arms {
			if a.Field != nil {
				got = append(got, n.Field(a.Field))
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s %q: %v, want %s", tt.x, tt.bind, got, tt.want)
		}
	}
	u, b := unitOf(t, "struct names { int func; int n; };", "rename names.n Func\n")
	if diags := New().Add(u.Decls, b, true); len(diags) != 1 || !strings.Contains(diags[0].Message, "which is taken") {
		t.Errorf("a rename to the name of another field: %v", diags)
	}
}

// TestFieldsWithTheNameOfAMethodDiffer checks that fields which would have the name of one method
// are told apart, by underscores, and from a name that the sidecar gives.
func TestFieldsWithTheNameOfAMethodDiffer(t *testing.T) {
	for bind, want := range map[string]string{
		"":                               "String_ String__ String___ Clone_ N",
		"rename names.n String_\n":       "String__ String___ String____ Clone_ String_",
		"rename names.string_ String_\n": "String_ String__ String___ Clone_ N",
	} {
		u, b := unitOf(t, "struct names { int string_; int String; int STRING; int clone; int n; };", bind)
		n := New()
		if diags := n.Add(u.Decls, b, true); len(diags) > 0 {
			t.Errorf("%q: %s", bind, diags[0].Message)
		}
		var got []string
		for _, f := range u.Decls[0].Fields {
			got = append(got, n.Field(f))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %s, want %s", bind, got, want)
		}
	}
}
