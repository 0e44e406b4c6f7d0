package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

const ganeshaConfig = `
NFS_CORE_PARAM {
	Protocols = 4;
	NFS_Port = 12049;
	Enable_NLM = false;
	Enable_RQUOTA = false;
	Enable_UDP = false;
	Plugins_Dir = PLUGINS;
}
MEM { Inode_Size = 2097152; }
NFSv4 { RecoveryRoot = DIR; Graceless = true; Only_Numeric_Owners = true; }
EXPORT {
	Export_Id = 1;
	Path = /export;
	Pseudo = /export;
	Protocols = 4;
	Transports = TCP;
	Access_Type = RW;
	Squash = None;
	SecType = sys;
	FSAL { Name = MEM; }
}
`

// A tree goes to NFS-Ganesha and back by NFS version 4.1 and 4.2, and is skipped when it is there.
func TestVersion4CopiesTreesBothWays(t *testing.T) {
	if !isolated.Run(t) {
		return
	}
	isolated.Rpcbind(t)
	server, plugins := witness.Ganesha(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "ganesha.conf")
	text := strings.NewReplacer("DIR", dir, "PLUGINS", plugins).Replace(ganeshaConfig)
	check(t, os.WriteFile(config, []byte(text), 0o600))
	isolated.Start(t, exec.Command(server, "-F", "-L", "/dev/stderr", "-f", config, "-p", filepath.Join(dir, "pid")), "127.0.0.1:12049")

	from := filepath.Join(dir, "from")
	check(t, os.MkdirAll(filepath.Join(from, "below"), 0o750))
	data := write(t, filepath.Join(from, "below", "file"), 100_000)
	write(t, filepath.Join(from, "none"), 0)
	check(t, os.Symlink("below/file", filepath.Join(from, "link")))
	for _, vers := range []string{"4.1", "4.2"} {
		f := &fixture{flags: []string{"-vers", vers, "-transport", "tcp", "-port", "12049"}}
		there := "127.0.0.1:/export/" + vers
		f.done(t, "put", "-r", from, there)
		if again := f.done(t, "put", "-r", "-resume", "-json", from, there); !strings.Contains(again, `"unchanged":3`) {
			t.Errorf("-vers %s: the second put printed %s", vers, again)
		}
		if got := f.done(t, "cat", there+"/below/file"); got != string(data) {
			t.Errorf("-vers %s: cat wrote %d bytes", vers, len(got))
		}
		if list := f.done(t, "ls", "-l", "-R", there); !strings.Contains(list, "-rw-r-----") || !strings.Contains(list, "100000") {
			t.Errorf("-vers %s: ls -l -R printed %s", vers, list)
		}
		to := filepath.Join(dir, "to"+vers)
		f.done(t, "get", "-r", there, to)
		got, err := os.ReadFile(filepath.Join(to, "below", "file"))
		if check(t, err); !bytes.Equal(got, data) {
			t.Errorf("-vers %s: other data came back", vers)
		}
		if link, err := os.Readlink(filepath.Join(to, "link")); err != nil || link != "below/file" {
			t.Errorf("-vers %s: the link leads to %q, %v", vers, link, err)
		}
		if _, errs, code := f.run(t.Context(), "cat", there+"/nothing"); code != exitNotFound || !strings.Contains(errs, "NFS4ERR_NOENT") {
			t.Errorf("-vers %s: exit code %d: %s", vers, code, errs)
		}
	}
}
