package xdrtest

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Vector is one message, or part of one, in bytes.
type Vector struct {
	Name  string // the file name without .txt
	Title string
	Type  string // Go name of the type of its value
	From  string // document and sections
	Bytes []byte
}

// Folder is the folder of a package's vectors.
const Folder = "testdata/vectors"

// Load reads all vectors of the package under test, in order of their names.
func Load(t testing.TB) []Vector {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Folder, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors in %s (%v)", Folder, err)
	}
	var all []Vector
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		v, err := parse(string(text))
		if err != nil {
			t.Fatalf("%s:%v", file, err)
		}
		v.Name = strings.TrimSuffix(filepath.Base(file), ".txt")
		all = append(all, v)
	}
	return all
}

// OfType returns the vectors of one type.
func OfType(all []Vector, name string) []Vector {
	var some []Vector
	for _, v := range all {
		if v.Type == name {
			some = append(some, v)
		}
	}
	return some
}

// Find returns the vector of that name.
func Find(t testing.TB, all []Vector, name string) Vector {
	t.Helper()
	for _, v := range all {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("no vector %s in %s", name, Folder)
	return Vector{}
}

// CheckTypes fails unless each vector is of one of the named types, and each of these has a vector.
func CheckTypes(t *testing.T, all []Vector, types ...string) {
	t.Helper()
	known := map[string]bool{}
	for _, name := range types {
		known[name] = true
		if len(OfType(all, name)) == 0 {
			t.Errorf("no vector of type %s", name)
		}
	}
	for _, v := range all {
		if !known[v.Type] {
			t.Errorf("%s: no test decodes type %s", v.Name, v.Type)
		}
	}
}

// parse reads the text of a vector. Its errors begin with the line's number.
func parse(text string) (Vector, error) {
	var v Vector
	heads := map[string]*string{"title": &v.Title, "type": &v.Type, "from": &v.From}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if key, rest, ok := strings.Cut(line, ":"); ok && heads[key] != nil && len(v.Bytes) == 0 {
			*heads[key] = strings.TrimSpace(rest)
			continue
		}
		b, err := parseBytes(line, len(v.Bytes))
		if err != nil {
			return v, fmt.Errorf("%d: %w", i+1, err)
		}
		v.Bytes = append(v.Bytes, b...)
	}
	if v.Title == "" || v.Type == "" || v.From == "" {
		return v, fmt.Errorf("1: title, type and from are needed")
	}
	return v, nil
}

// parseBytes reads "hex # offset: field = value: why" and checks that the parts agree.
func parseBytes(line string, at int) ([]byte, error) {
	digits, working, _ := strings.Cut(line, "#")
	b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
	if err != nil {
		return nil, err
	}
	part := strings.SplitN(working, ":", 3)
	if len(part) != 3 || strings.TrimSpace(part[2]) == "" {
		return nil, fmt.Errorf("%q does not say \"offset: field = value: why\"", strings.TrimSpace(working))
	}
	if off, err := strconv.Atoi(strings.TrimSpace(part[0])); err != nil || off != at {
		return nil, fmt.Errorf("offset %s, but %d bytes stand before it", strings.TrimSpace(part[0]), at)
	}
	field, value, ok := strings.Cut(part[1], " = ")
	if !ok || strings.TrimSpace(field) == "" {
		return nil, fmt.Errorf("%q is no \"field = value\"", strings.TrimSpace(part[1]))
	}
	want, err := valueBytes(strings.TrimSpace(value), len(b))
	if err != nil {
		return nil, err
	}
	if string(want) != string(b) {
		return nil, fmt.Errorf("%s is % x in %d bytes, the line has % x", strings.TrimSpace(value), want, len(b), b)
	}
	return b, nil
}

// valueBytes returns a value of the reasoning as size bytes.
func valueBytes(value string, size int) ([]byte, error) {
	if strings.HasPrefix(value, `"`) {
		s, err := strconv.Unquote(value)
		return []byte(s), err
	}
	n, err := strconv.ParseUint(value, 0, 64)
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	for i := size - 1; i >= 0; i-- {
		b[i] = byte(n)
		n >>= 8
	}
	if n != 0 || size > 8 {
		return nil, fmt.Errorf("value %s does not fit %d bytes", value, size)
	}
	return b, nil
}
