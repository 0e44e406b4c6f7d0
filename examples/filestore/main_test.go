package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func TestRun(t *testing.T) {
	for _, provider := range []string{"mem", "rdmatcp"} {
		t.Run(provider, func(t *testing.T) {
			var out strings.Builder
			if err := run(&out, provider); err != nil {
				t.Fatal(err)
			}
			want := "wrote 750000 bytes by RDMA Read\n" +
				"read 750000 bytes by RDMA Write, as written: true, into our own memory: true\n" +
				"reading another file: read prose: STORE_NO_SUCH_FILE\n"
			if out.String() != want {
				t.Errorf("found\n%sexpected\n%s", out.String(), want)
			}
		})
	}
	if err := run(new(strings.Builder), "none"); err == nil {
		t.Error("an unknown provider is accepted")
	}
}
