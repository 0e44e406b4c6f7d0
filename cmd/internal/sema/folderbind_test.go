package sema

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFolderBind checks which sidecar a unit has. kv.bind in the folder kv belongs to all files
// there, k.bind to k.x.
func TestFolderBind(t *testing.T) {
	const k, m = "struct k { int a; };\n", "struct m { int b; };\n"
	for name, c := range map[string]struct {
		files map[string]string
		given string
		bind  string // -bind
		used  string // the sidecar; empty for none
		rules string
	}{
		"the only file":             {map[string]string{"kv/k.x": k, "kv/kv.bind": "prefix k\n"}, "kv/k.x", "", "kv.bind", ""},
		"one file of two":           {map[string]string{"kv/k.x": k, "kv/m.x": m, "kv/kv.bind": "prefix m\n"}, "kv/k.x", "", "", "sidecar-of-folder"},
		"both files":                {map[string]string{"kv/k.x": k, "kv/m.x": m, "kv/kv.bind": "prefix m\n"}, "kv/k.x kv/m.x", "", "kv.bind", ""},
		"one that includes both":    {map[string]string{"kv/k.x": "#include \"m.x\"\n" + k, "kv/m.x": m, "kv/kv.bind": "prefix m\n"}, "kv/k.x", "", "kv.bind", ""},
		"its own first":             {map[string]string{"kv/k.x": k, "kv/m.x": m, "kv/k.bind": "prefix k\n", "kv/kv.bind": "prefix m\n"}, "kv/k.x", "", "k.bind", ""},
		"its own is the folder's":   {map[string]string{"kv/kv.x": k, "kv/m.x": m, "kv/kv.bind": "prefix k\n"}, "kv/kv.x", "", "kv.bind", ""},
		"named by the flag":         {map[string]string{"kv/k.x": k, "kv/m.x": m, "kv/kv.bind": "prefix k\n"}, "kv/k.x", "kv/kv.bind", "kv.bind", ""},
		"no sidecar":                {map[string]string{"kv/k.x": k, "kv/m.x": m}, "kv/k.x", "", "", ""},
		"imports of the folder's":   {map[string]string{"kv/k.x": "struct k { m a; };\n", "o/m.x": m, "kv/kv.bind": "import o/m.x\n"}, "kv/k.x", "", "kv.bind", ""},
		"the wrong name":            {map[string]string{"kv/k.x": k, "kv/store.bind": "prefix k\n"}, "kv/k.x", "", "", "sidecar-not-read"},
		"the wrong case":            {map[string]string{"kv/k.x": k, "kv/m.x": m, "kv/K.bind": "prefix k\n"}, "kv/k.x", "", "", "sidecar-not-read"},
		"the wrong name of both":    {map[string]string{"kv/k.x": k, "kv/m.x": m, "kv/store.bind": "prefix k\n"}, "kv/k.x kv/m.x", "", "", "sidecar-not-read"},
		"of a file elsewhere":       {map[string]string{"kv/k.x": k, "kv/m.x": m, "kv/store.bind": "prefix k\n"}, "kv/k.x", "", "", ""},
		"one beside its own":        {map[string]string{"kv/k.x": k, "kv/k.bind": "prefix k\n", "kv/store.bind": "prefix k\n"}, "kv/k.x", "", "k.bind", ""},
		"the wrong name by flag":    {map[string]string{"kv/k.x": k, "kv/store.bind": "prefix k\n"}, "kv/k.x", "kv/store.bind", "store.bind", ""},
		"another file's, not asked": {map[string]string{"kv/k.x": k, "kv/m.x": m, "kv/m.bind": "prefix m\n"}, "kv/k.x", "", "", ""},
	} {
		dir := write(t, c.files)
		o := Options{Include: []string{dir}}
		for _, f := range strings.Fields(c.given) {
			o.Files = append(o.Files, filepath.Join(dir, f))
		}
		if c.bind != "" {
			o.BindFile = filepath.Join(dir, c.bind)
		}
		r, err := Compile(o)
		if err != nil || r.Unit == nil {
			t.Errorf("%s: %v %v", name, err, rules(r))
			continue
		}
		used := ""
		if r.Bind.File != "" {
			used = filepath.Base(r.Bind.File)
		}
		if got := strings.Join(rules(r), " "); used != c.used || got != c.rules {
			t.Errorf("%s: used %q and found %q, want %q and %q", name, used, got, c.used, c.rules)
		}
	}
}
