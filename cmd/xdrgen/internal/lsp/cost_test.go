package lsp_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// An edit of RFC 1813's XDR, with its check, allocates little more than a check of the file on
// disk.
func TestAnEditCostsLittleMoreThanACheck(t *testing.T) {
	const file = "../../../../spec/x/nfs3/nfs3.x"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	s := begin(t, nil)
	s.initialize()
	s.open("nfs3.x", string(text))
	s.findings("nfs3.x", 1)
	const n = 5
	check := allocated(func() {
		for range n {
			if _, err := sema.Compile(sema.Options{Files: []string{file}}); err != nil {
				t.Fatal(err)
			}
		}
	})
	edit := allocated(func() {
		for i := range n {
			s.change("nfs3.x", 2+i, " ", 0, 0, 0, 0)
			s.findings("nfs3.x", 2+i)
		}
	})
	if edit > 3*check/2 {
		t.Errorf("an edit allocates %d bytes, a check %d; want at most 1.5 times as many", edit/n, check/n)
	}
	t.Logf("an edit allocates %d bytes, a check %d", edit/n, check/n)
}

// BenchmarkEdit makes an edit of RFC 1813's XDR and waits for the findings.
func BenchmarkEdit(b *testing.B) {
	text, err := os.ReadFile("../../../../spec/x/nfs3/nfs3.x")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("edit", func(b *testing.B) {
		s := begin(b, nil)
		s.initialize()
		s.open("nfs3.x", string(text))
		s.findings("nfs3.x", 1)
		for version := 2; b.Loop(); version++ {
			s.change("nfs3.x", version, " ", 0, 0, 0, version&1)
			s.findings("nfs3.x", version)
		}
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			if _, err := sema.Compile(sema.Options{Files: []string{"../../../../spec/x/nfs3/nfs3.x"}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
