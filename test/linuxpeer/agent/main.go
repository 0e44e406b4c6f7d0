//go:build linux

// Command agent runs in the guest of test/linuxpeer and executes the commands that the harness
// sends, see package control. It is linked statically.
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/control"
)

func main() {
	fmt.Fprintln(os.Stderr, "agent:", serve())
	os.Exit(1)
}

// serve serves commands until it fails, and returns why.
func serve() error {
	if err := raiseLimits(); err != nil {
		return err
	}
	ln, err := net.Listen("tcp4", ":"+strconv.Itoa(control.Port))
	if err != nil {
		return err
	}
	fmt.Println(control.Ready) // on the console: the harness waits for it
	for {
		conn, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			if err := handle(conn); err != nil {
				fmt.Fprintln(os.Stderr, "agent:", err)
			}
		}()
	}
}
