// Command peerbench measures the NFS server of nfs/nfsd with nfs-ganesha and go-nfs, each called by
// nfs/client and by libnfs, in mounted directories at several depths (see package peers). It prints
// ratios of times.
//
//	go run ./cmd/peerbench [-rounds n] [-scale f] [-depths 0,10,40] [-match regexp] [-dir path]
//		[-ganesha=false] [-plugins path] [-cflags flags]
//
// nfs-ganesha with the VFS back end (Debian packages nfs-ganesha and nfs-ganesha-vfs) needs root,
// and rpcbind, which is started if none answers: use a network namespace, "unshare -n" with the
// loopback interface up. A line on standard error names each program that is not installed: its
// rows are left out.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/rpcrdma/rpcrdma/bench/internal/figures"
	"github.com/rpcrdma/rpcrdma/bench/peers"
)

func main() {
	if peers.IsServer() {
		if err := peers.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "peerbench: server:", err)
			os.Exit(1)
		}
		return
	}
	o := peers.Options{Log: os.Stderr}
	flag.IntVar(&o.Rounds, "rounds", 5, "`rounds` to take the median of")
	flag.Float64Var(&o.Scale, "scale", 1, "`factor` for calls and entries")
	flag.StringVar(&o.Dir, "dir", "/dev/shm", "`directory` in which the served one is made")
	flag.StringVar(&o.Plugins, "plugins", "", "`folder` of nfs-ganesha's back ends")
	flag.BoolVar(&o.Ganesha, "ganesha", true, "measure nfs-ganesha, too")
	depths := flag.String("depths", "0,10,40", "depths of the `directories` that are mounted")
	cflags := flag.String("cflags", "", "`flags` for the C compiler, in place of -lnfs if they have a library")
	flag.Func("match", "measure only rows whose \"operation at depth by client\" matches this `regexp`", func(s string) (err error) {
		o.Match, err = regexp.Compile(s)
		return err
	})
	flag.Parse()
	o.Cflags = strings.Fields(*cflags)
	for text := range strings.SplitSeq(*depths, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || o.Rounds < 1 || o.Scale <= 0 || flag.NArg() > 0 {
			fmt.Fprintln(os.Stderr, "peerbench: expected depths of 0 or more, a round, a positive factor and no arguments")
			os.Exit(2)
		}
		o.Depths = append(o.Depths, n)
	}
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "peerbench:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, o peers.Options) error {
	rows, err := peers.Compare(context.Background(), o)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s; us of a call or an entry; ratios are of times in a round: below 1, nfsd is faster\n", figures.NewHead(o.Rounds, 0))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "operation\tclient\tdepth\tnfsd us\tganesha us\tgo-nfs us\tnfsd/ganesha\tnfsd/go-nfs\tserver CPU us\tof ganesha\tclient CPU us\t")
	for _, r := range rows {
		get := func(name string) peers.Figures {
			if f := r.Servers[name]; f != nil {
				return *f
			}
			return peers.Figures{}
		}
		us := func(v []float64) float64 { return peers.Median(v) / 1e3 }
		n, g, other := get(peers.NFSD), get(peers.Ganesha), get(peers.GoNFS)
		fmt.Fprintf(tw, "%s\t%s\t%d\t%.2f\t%.2f\t%.2f\t%s\t%s\t%.2f\t%.2f\t%.2f\t\n", r.Op, r.Client, r.At, us(n.Time), us(g.Time), us(other.Time),
			figures.Ratio(peers.Ratio(n.Time, g.Time)), figures.Ratio(peers.Ratio(n.Time, other.Time)), us(n.ServerCPU), us(g.ServerCPU), us(n.ClientCPU))
	}
	return tw.Flush()
}
