package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// print prints a table, or an object with -json.
func (i *info) print(env environment) {
	if env.json {
		i.printJSON(env)
		return
	}
	if i.err != nil {
		f := explainLookup(i.rpcbind, adviceNoList, i.err)
		fmt.Fprintf(env.stderr, "rpcrdma: %v\ntry: %s\n", f, env.suitable(f.help))
	} else {
		fmt.Fprintf(env.stdout, "rpcbind at %s: %s\n", i.rpcbind, count(i.registered, "registration", "registrations"))
	}
	if len(i.services) == 0 {
		return
	}
	w := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROGRAM\tNAME\tVERSIONS\tNETID\tADDRESS\tANSWER")
	for _, s := range i.services {
		program, name := fmt.Sprint(s.program), programNames[s.program]
		if s.given {
			program = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", program, dash(name), dash(numbersText(s.registered)), plain(s.netID), plain(s.addr), dash(s.text()))
	}
	_ = w.Flush() // env.stdout keeps its first error
}

func numbersText(list []uint32) string { return strings.Trim(fmt.Sprint(list), "[]") }

// text returns the answer of a service in words.
func (s *service) text() string {
	if !s.asked {
		return s.why
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if t := s.terms; t != nil {
		add("RPC-over-RDMA %s", terms(t))
	}
	if s.credits > 0 {
		add("%s", count(s.credits, "credit", "credits"))
	}
	if !s.given && len(s.versions) > 0 {
		add("versions %s", numbersText(s.versions))
	}
	if m := s.mismatch; m != nil && !s.given && !contiguous(s.versions, m) {
		add("PROG_MISMATCH says %d to %d", m.Low, m.High)
	}
	if s.refused != nil && !s.given {
		add("%v", s.refused)
	}
	if s.took > 0 && s.err == nil {
		add("%v", rounded(s.took))
	}
	if s.tls != "" {
		add("TLS %s", s.tls)
	}
	if s.err != nil {
		add("%s", reason(s.err))
	}
	return strings.Join(parts, "; ")
}

// contiguous reports whether versions are all from the lowest to the highest of a range.
func contiguous(versions []uint32, m *oncrpc.VersionRange) bool {
	n := len(versions)
	return n > 0 && versions[0] == m.Low && versions[n-1] == m.High && uint32(n-1) == m.High-m.Low
}

// reason returns a probe's error in few words: the line has the address already.
func reason(err error) string {
	var f *failure
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, verbs.ErrConnectionRefused):
		return "connection refused"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.As(err, &f):
		return f.err.Error()
	}
	return err.Error()
}

// printJSON prints one object.
func (i *info) printJSON(env environment) {
	list := []map[string]any{}
	for _, s := range i.services {
		list = append(list, s.fields())
	}
	fields := map[string]any{"host": i.host, "rpcbind": i.rpcbind, "registrations": i.registered, "services": list}
	if i.err != nil {
		fields["error"] = i.err.Error()
	}
	printJSON(env, "info", fields)
}

// fields returns the fields of a service for JSON.
func (s *service) fields() map[string]any {
	f := map[string]any{"netid": s.netID, "address": s.addr, "asked": s.asked}
	set := func(name string, value any, present bool) {
		if present {
			f[name] = value
		}
	}
	set("program", s.program, !s.given)
	set("name", programNames[s.program], programNames[s.program] != "")
	set("owner", s.owner, s.owner != "")
	set("registered", s.registered, !s.given)
	set("reason", s.why, s.why != "")
	set("versions", s.versions, len(s.versions) > 0)
	if m := s.mismatch; m != nil {
		f["low"], f["high"] = m.Low, m.High
	}
	if s.refused != nil {
		refusalFields(f, s.refused)
	}
	set("time_ns", s.took, s.took > 0)
	set("tls", s.tls, s.tls != "")
	set("credits", s.credits, s.credits > 0)
	if s.terms != nil {
		termsJSON(f, s.terms)
	}
	if s.err != nil {
		f["error"] = reason(s.err)
	}
	return f
}

// programNames are the names of well-known programs, as in /etc/rpc.
var programNames = map[uint32]string{
	100000: "rpcbind", 100001: "rstatd", 100002: "rusersd", 100003: "nfs", 100004: "ypserv", 100005: "mountd",
	100007: "ypbind", 100008: "walld", 100011: "rquotad", 100012: "sprayd", 100021: "nlockmgr", 100024: "status",
	100026: "bootparam", 100227: "nfs_acl", 100400: "rdmaconfig",
}
