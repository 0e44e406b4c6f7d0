package codec

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed dirplus.x nfs4.x envelope.x tirpc/rpcrdma1.x tirpc/bench.c goxdr/bench.go.txt
var outsideSource embed.FS

// interfaces are the messages' interface files.
var interfaces = []string{"tirpc/rpcrdma1.x", "dirplus.x", "nfs4.x", "envelope.x"}

// TirpcName is the C codec's name in tables.
const TirpcName = "rpcgen + libtirpc (C)"

// StartTirpc makes and starts a C program of what rpcgen generates, linked with
// libtirpc. The error is ErrNotHere where something it takes is not installed.
// The caller calls Close.
func StartTirpc(messages []Message) (*Outside, error) {
	for _, tool := range []string{"rpcgen", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%s: %w: %s is not installed", TirpcName, ErrNotHere, tool)
		}
	}
	if _, err := os.Stat("/usr/include/tirpc/rpc/rpc.h"); err != nil {
		return nil, fmt.Errorf("%s: %w: no /usr/include/tirpc (install libtirpc-dev)", TirpcName, ErrNotHere)
	}
	return outside(TirpcName, buildTirpc, messages)
}

func buildTirpc(dir string) (string, error) {
	if err := copyOut(dir, append([]string{"tirpc/bench.c"}, interfaces...)...); err != nil {
		return "", err
	}
	var commands []string
	compile := "gcc -O2 -w -I/usr/include/tirpc -I. bench.c"
	for _, unit := range []string{"rpcrdma1", "dirplus", "nfs4", "envelope"} {
		commands = append(commands, fmt.Sprintf("rpcgen -h -o %s.h %[1]s.x", unit), fmt.Sprintf("rpcgen -c -o %s_xdr.c %[1]s.x", unit))
		compile += " " + unit + "_xdr.c"
	}
	return filepath.Join(dir, "bench"), inFolder(dir, append(commands, compile+" -ltirpc -o bench")...)
}

// copyOut writes embedded files into a folder.
func copyOut(dir string, names ...string) error {
	for _, name := range names {
		text, err := outsideSource.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
