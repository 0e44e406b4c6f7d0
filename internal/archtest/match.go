package archtest

import (
	"path"
	"strings"
)

// matches reports whether the package at name, a path from the module's root
// ("." for the root itself), matches the pattern.
func matches(pattern, name string) bool {
	if pattern == "..." {
		return true
	}
	if prefix, below := strings.CutSuffix(pattern, "/..."); below {
		return base(prefix, name) != ""
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// base returns the leading part of name that has as many elements as prefix and
// matches it, or "" if there is none.
func base(prefix, name string) string {
	n := strings.Count(prefix, "/") + 1
	parts := strings.Split(name, "/")
	if len(parts) < n {
		return ""
	}
	head := strings.Join(parts[:n], "/")
	if ok, err := path.Match(prefix, head); !ok || err != nil {
		return ""
	}
	return head
}

// find returns the first row for the package at name, or nil.
func find(table []Row, name string) *Row {
	for i := range table {
		if matches(table[i].Package, name) {
			return &table[i]
		}
	}
	return nil
}

// own returns the folder below which the package at name may import every package: the folder of
// its row, if the row includes the packages below it, else "".
func (r *Row) own(name string) string {
	prefix, below := strings.CutSuffix(r.Package, "/...")
	if !below {
		return ""
	}
	return base(prefix, name)
}

// allows reports whether the package at name may import the module's package at
// imported.
func (r *Row) allows(name, imported string) bool {
	if own := r.own(name); own != "" && strings.HasPrefix(imported+"/", own+"/") {
		return true
	}
	return anyOf(r.Imports, func(p string) bool { return matches(p, imported) })
}

// within reports whether an import path is prefix or is below it.
func within(prefix, imported string) bool {
	return imported == prefix || strings.HasPrefix(imported, prefix+"/")
}

func anyOf(patterns []string, match func(string) bool) bool {
	for _, p := range patterns {
		if match(p) {
			return true
		}
	}
	return false
}
