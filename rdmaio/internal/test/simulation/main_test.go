package simulation

import (
	"os"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }
