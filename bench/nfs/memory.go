package nfs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/internal/process"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// Listing is the memory that listing a directory takes: the growth of heap and stacks in use after
// a garbage collection.
type Listing struct {
	Name      string `json:"name"`
	Procedure string `json:"procedure"`
	Entries   int    `json:"entries"`

	ServerPeak int64 `json:"server_peak_bytes"` // at most, between calls
	ServerKept int64 `json:"server_kept_bytes"` // after the listing
	ClientPeak int64 `json:"client_peak_bytes"`
}

// ListingMemory measures the memory of listings of a quarter of Options.Entries, half of them, and
// all.
func ListingMemory(o Options) (all []Listing, err error) {
	base, err := os.MkdirTemp(o.Dir, "nfsbench")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(base)) }()
	for _, entries := range []int{o.Entries / 4, o.Entries / 2, o.Entries} {
		dir := filepath.Join(base, strconv.Itoa(entries))
		if err := makeTree(dir, entries); err != nil {
			return nil, err
		}
		for _, l := range []Listing{
			{Name: kindNFSD, Procedure: "READDIR"},
			{Name: kindNFSD, Procedure: "READDIRPLUS"},
			{Name: kindGoNFS, Procedure: "READDIRPLUS"},
		} {
			l.Entries = entries
			if err := l.measure(dir); err != nil {
				return nil, err
			}
			all = append(all, l)
		}
	}
	return all, nil
}

// measure lists a directory of a new server.
func (l *Listing) measure(dir string) (err error) {
	server, err := start(l.Name, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close(), os.RemoveAll(state(dir))) }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	export := map[string]string{kindNFSD: "/export", kindGoNFS: "/"}[l.Name]
	c, err := dial(ctx, listenTCP, server.Addrs[listenTCP], server.Addrs[listenTCP], export, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	there, err := server.Memory()
	if err != nil {
		return err
	}
	here, next := process.Memory(), 0
	sample := func(n int) error {
		if n < next {
			return nil
		}
		next = n + l.Entries/16
		now, err := server.Memory()
		l.ServerKept = now - there
		l.ServerPeak = max(l.ServerPeak, l.ServerKept)
		l.ClientPeak = max(l.ClientPeak, process.Memory()-here)
		return err
	}
	names := c.names
	if l.Procedure == "READDIRPLUS" {
		names = c.entries
	}
	n, err := names(sample)
	if err != nil {
		return err
	}
	next = 0
	return sample(n)
}

// names lists a directory by READDIR. It calls f after each reply, and returns the number of
// entries.
func (c *client) names(f func(n int) error) (n int, err error) {
	args := nfs3.ReadDirArgs{Dir: c.dir, Count: maxCount}
	var res nfs3.ReadDirRes
	for {
		if err := c.nfs.ReadDirInto(context.Background(), &args, &res, nil); err != nil {
			return n, err
		}
		if err := check("READDIR", res.Status); err != nil {
			return n, err
		}
		entries := res.OK.Reply.Entries
		n += len(entries)
		if err := f(n); err != nil || res.OK.Reply.EOF {
			return n, err
		}
		args.Cookie, args.CookieVerf = entries[len(entries)-1].Cookie, res.OK.CookieVerf
	}
}
