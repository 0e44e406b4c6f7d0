package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// moduleFile returns an ELF file that has nothing but a section .modinfo.
func moduleFile(t *testing.T, info string) []byte {
	t.Helper()
	names := "\x00.modinfo\x00.shstrtab\x00"
	const headerSize = 64
	data := info + names
	table := headerSize + (len(data)+7)&^7
	header := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64), Version: 1,
		Shoff: uint64(table), Ehsize: headerSize, Shentsize: 64, Shnum: 3, Shstrndx: 2,
	}
	sections := []elf.Section64{
		{},
		{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: headerSize, Size: uint64(len(info)), Addralign: 1},
		{Name: 10, Type: uint32(elf.SHT_STRTAB), Off: uint64(headerSize + len(info)), Size: uint64(len(names)), Addralign: 1},
	}
	var b bytes.Buffer
	for _, v := range []any{header, []byte(data), make([]byte, table-headerSize-len(data)), sections} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// write makes a file below dir.
func write(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Modules come after those that they depend on, once, without those in the kernel.
func TestModuleOrder(t *testing.T) {
	dir := t.TempDir()
	for name, info := range map[string]string{
		"a/top.ko":      "license=GPL\x00depends=mid-one,low\x00vermagic=6.1 SMP \x00",
		"b/mid-one.ko":  "depends=low,builtin\x00",
		"c/low.ko":      "license=GPL\x00depends=\x00",
		"c/missing2.ko": "depends=gone\x00",
	} {
		write(t, dir, name, moduleFile(t, info))
	}
	write(t, dir, "d/broken.ko", []byte("no module"))
	write(t, dir, "modules.builtin", []byte("kernel/lib/builtin.ko\n"))
	extra := filepath.Join(t.TempDir(), "siw.ko")
	if err := os.WriteFile(extra, moduleFile(t, "depends=mid_one\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	set, err := openModules(runner{}, dir, extra)
	if err != nil {
		t.Fatal(err)
	}
	list, err := set.order(t.Context(), []string{"siw", "builtin", "top"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		got = append(got, m.name)
	}
	if diff := cmp.Diff([]string{"low", "mid_one", "siw", "top"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"none": "no module none, which the recipe needs", "missing2": "no module gone, which missing2 needs", "broken": "broken.ko",
	} {
		if _, err := set.order(t.Context(), []string{name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// Links are followed within the tree, also where a package has its file outside /usr.
func TestResolve(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "lib/x/ld.so", []byte("loader"))
	write(t, dir, "etc/alternatives/tool.real", []byte("text"))
	for name, target := range map[string]string{
		"usr/bin/tool": "/etc/alternatives/tool", "etc/alternatives/tool": "tool.real",
		"lib64/ld.so": "../lib/x/ld.so", "loop": "loop",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Skip(err)
		}
	}
	tr := tree{dir}
	for name, want := range map[string]string{
		"usr/bin/tool": "etc/alternatives/tool.real", "lib64/ld.so": "lib/x/ld.so", "usr/lib/x/ld.so": "lib/x/ld.so",
		"loop": "", "none": "",
	} {
		got, err := tr.resolve(name)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	files, err := tr.withLibraries([]string{"usr/bin/tool"})
	if diff := cmp.Diff([]string{"usr/bin/tool"}, files); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := tr.withLibraries([]string{"bin/none"}); err == nil || !strings.Contains(err.Error(), "bin/none") {
		t.Errorf("a file of no package: %v", err)
	}
	for name, want := range map[string]string{"bin/ip": "usr/bin/ip", "lib64/x": "usr/lib64/x", "etc/x": "etc/x", "library": "library"} {
		if got := merged(name); got != want {
			t.Errorf("merged(%s) = %s, want %s", name, got, want)
		}
	}
}

// Programs of a later release are in a folder of their own, and the script starts them with the
// loader that is there.
func TestLater(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, loader, []byte("loader"))
	write(t, dir, "usr/sbin/tlshd", []byte("program"))
	var b bytes.Buffer
	a := newArchive(&b)
	if err := addLater(a, &Later{Files: []string{"usr/sbin/tlshd"}}, tree{dir}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"later/usr/sbin/tlshd\x00", "later/" + loader + "\x00", "later/run\x00"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the archive has no %q:\n%q", want, b.String())
		}
	}
	if want := "exec /later/" + loader + " --library-path /later/"; !strings.Contains(laterRun, want) {
		t.Errorf("the script %q does not contain %q", laterRun, want)
	}
	if err := addLater(a, &Later{Files: []string{"usr/sbin/none"}}, tree{dir}); err == nil || !strings.Contains(err.Error(), "usr/sbin/none") {
		t.Errorf("a file of no package: %v", err)
	}
}
