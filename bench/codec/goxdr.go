package codec

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// GoxdrName is its codec's name in tables.
const GoxdrName = "goxdr"

// StartGoxdr makes and starts a Go program of what github.com/xdrpp/goxdr
// generates. The error is ErrNotHere outside this module, which knows the
// version. The caller calls Close.
func StartGoxdr(messages []Message) (*Outside, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	file := strings.TrimSpace(string(mod))
	if err != nil || !strings.Contains(readFile(file), "github.com/xdrpp/goxdr") {
		return nil, fmt.Errorf("%s: %w: run it in the folder of the benchmark module", GoxdrName, ErrNotHere)
	}
	return outside(GoxdrName, func(dir string) (string, error) { return buildGoxdr(dir, file) }, messages)
}

func readFile(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}

// buildGoxdr builds in a module that is this one, but for its name and packages.
func buildGoxdr(dir, modFile string) (string, error) {
	mod := strings.Replace(readFile(modFile), "module github.com/rpcrdma/rpcrdma/bench", "module example.org", 1)
	mod = strings.Replace(mod, "=> ../", "=> "+filepath.Join(filepath.Dir(modFile), ".."), 1)
	sum := readFile(strings.TrimSuffix(modFile, ".mod") + ".sum")
	if err := copyOut(dir, append([]string{"goxdr/bench.go.txt"}, interfaces...)...); err != nil {
		return "", err
	}
	// What C has from its headers, goxdr must be told; and what kind an enumerator
	// is of, so that its Go compiles.
	nfs4 := "typedef int int32_t;\ntypedef unsigned int uint32_t;\ntypedef hyper int64_t;\ntypedef unsigned hyper uint64_t;\nconst RPCSEC_GSS = 6;\n" +
		regexp.MustCompile(`\(unsigned (argop|resop)\)`).ReplaceAllString(readFile(filepath.Join(dir, "nfs4.x")), "(nfs_cb_opnum4 $1)")
	for name, text := range map[string]string{"go.mod": mod, "go.sum": sum, "nfs4.x": nfs4, "bench.go": readFile(filepath.Join(dir, "bench.go.txt"))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	var commands []string
	for _, unit := range []string{"rpcrdma1", "dirplus", "nfs4", "envelope"} {
		if err := os.Mkdir(filepath.Join(dir, unit), 0o700); err != nil {
			return "", err
		}
		commands = append(commands, fmt.Sprintf("go tool goxdr -p %s -o %[1]s/%[1]s.go %[1]s.x", unit))
	}
	err := inFolder(dir, append(commands, "go build -mod=mod -trimpath -o bench .")...)
	return filepath.Join(dir, "bench"), err
}
