package use4

import (
	"context"

	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// Uses are the functions of this package by name.
var Uses = map[string]func(ctx context.Context, s *Server, minor uint32) (string, error){
	"files": Files, "recall": Recall, "cut": Cut, "restart": Restart,
}

// OneCredit lets a server have one callback at a time.
func OneCredit(over *rdmaio.ClientConfig) *rdmaio.ClientConfig {
	over.Conn = &rdmaio.Config{ReverseCredits: 1}
	return over
}
