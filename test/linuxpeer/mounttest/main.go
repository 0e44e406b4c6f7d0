//go:build linux

// Command mounttest runs in the guest of test/linuxpeer and uses a mounted file system as programs
// do. It is linked statically.
//
//	mounttest tree [-size N] [-users] DIR   checks what a file system does, in a new folder of DIR
//	mounttest fsx [-steps N] [-parts N] [-safe] DIR [HOST:PATH POINT -o OPTIONS]
//	                                        makes random operations, and mounts POINT again after
//	                                        each part
//	mounttest sum [-times] DIR              prints a digest of a tree
//	mounttest list DIR                      prints the names in a directory, as they come
//	mounttest fill [-size N] DIR            makes a tree of N bytes
//	mounttest locks DIR                     locks a file in each way, and prints the errors
//	mounttest contend DIR DIR               locks files by two mounts of one directory
//	mounttest hold DIR                      locks a file until it is killed
//	mounttest held DIR                      checks that the file is locked
//	mounttest perms [-modes N] DIR          tries system calls by users with modes, and prints the
//	                                        errors and what they leave
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := command(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mounttest:", err)
		os.Exit(1)
	}
}

func command(args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("no command: tree, fsx, sum, list, fill, locks, contend, hold, held, wait or perms")
	}
	f := flag.NewFlagSet("mounttest "+args[0], flag.ContinueOnError)
	size := f.Int64("size", 30<<20, "`bytes` of data")
	users := f.Bool("users", false, "check the rights of other users")
	times := f.Bool("times", false, "the digest has owners, modes and times")
	fsx := fuzz{forget: dropCaches}
	f.Uint64Var(&fsx.seed, "seed", 1, "`number` that selects the operations")
	f.IntVar(&fsx.steps, "steps", 1000, "`number` of operations")
	f.IntVar(&fsx.parts, "parts", 4, "`number` of parts")
	f.BoolVar(&fsx.safe, "safe", false, "only operations that survive a restart of the server")
	modes := f.Int("modes", 10, "`number` of modes for perms, at most 10")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	if args[0] == "fsx" && f.NArg() > 2 {
		fsx.forget = func() error { return remount(f.Args()[1:]) }
	} else if args[0] == "contend" && f.NArg() == 2 {
		return contend(f.Arg(0), f.Arg(1), out)
	} else if f.NArg() != 1 {
		return fmt.Errorf("%s: found %d arguments, expected a directory", args[0], f.NArg())
	}
	dir := f.Arg(0)
	switch args[0] {
	case "tree":
		return tree(dir, settings{size: *size, users: *users, drop: dropCaches}, out)
	case "fsx":
		return fsx.run(dir, out)
	case "sum":
		sum, err := digest(dir, *times)
		fmt.Fprintln(out, sum)
		return err
	case "list":
		return list(dir, out)
	case "fill":
		return fill(dir, *size)
	case "locks":
		return locks(dir, out)
	case "hold":
		return hold(dir, out)
	case "held":
		return isHeld(dir, out)
	case "wait":
		return waitHeld(dir, out)
	case "perms":
		return perms(dir, *modes, out)
	}
	return fmt.Errorf("found the command %q, expected tree, fsx, sum, list, fill, locks, contend, hold, held, wait or perms", args[0])
}

func list(dir string, out io.Writer) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	fmt.Fprintln(out, strings.Join(names, "\n"))
	return err
}

// dropCaches makes the kernel forget data and names that are not open, so that they are read from
// the server again.
func dropCaches() error {
	return os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0)
}
