// Package page writes docs/interop.md from the findings of a run, and compares a run with it.
//
// The page has a section for each kernel: its versions and date, and a table with a row for each
// finding. A run replaces the section of its kernel and leaves the others.
package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/cases"
)

// Section is the part of the page about one kernel.
type Section struct {
	Kernel   string         // Kernel is the name that the flag -kernel has.
	Title    string         // Title is the heading, such as "Linux 6.1".
	Versions [][2]string    // Versions are names of programs and their versions.
	Run      string         // Run is the date, commit and counts of the run.
	All      bool           // All reports whether all cases ran.
	Results  []cases.Result // Results are from the cases that ran, all of which passed.
	Cases    []string       // Cases are the names of all cases, in order.
}

const head = `# What Linux does as the peer

<!-- Written by: go run ./test/linuxpeer -write [-kernel NAME]. Do not edit. -->

` + "`make interop`" + ` talks to a Linux kernel in a virtual machine ([linux-peer.md](linux-peer.md)): its software iWARP
(siw), its NFS server and client over RDMA and over TCP with TLS, and the tools of rdma-core. This page has what the
kernel was seen to do, beside what the documents require. A row with **yes** in the last column is a deviation of Linux.
Every run compares the kernel with this page. Each kernel's table begins with the date, commit and result of the last
run of all cases.
`

// begin marks a section's first line.
func begin(kernel string) string { return "<!-- kernel: " + kernel + " -->\n" }

// Write returns the page with the section of one kernel replaced, or added at the end. Cases that
// did not run keep their rows. An empty page is a new one.
func Write(old string, s Section) string {
	type part struct{ kernel, text string }
	var parts []part
	pieces := strings.Split(old, "<!-- kernel: ")
	for _, p := range pieces[1:] {
		kernel, _, _ := strings.Cut(p, " -->")
		parts = append(parts, part{kernel, "<!-- kernel: " + strings.TrimRight(p, "\n") + "\n"})
	}
	mine := part{s.Kernel, s.text(written(old, s.Kernel), wholeRun(old, s.Kernel))}
	if i := slices.IndexFunc(parts, func(p part) bool { return p.kernel == s.Kernel }); i >= 0 {
		parts[i] = mine
	} else {
		parts = append(parts, mine)
	}
	page := head
	for _, p := range parts {
		page += "\n" + p.text
	}
	return page
}

// The names of the rows about runs.
const (
	whole = "last run of all cases"
	some  = "run of some cases since"
)

// text returns the section. Cases that did not run keep their rows on the page. If this was not a
// run of all cases, the page keeps the result of the last one.
func (s Section) text(old map[string][]string, oldRun string) string {
	var b strings.Builder
	b.WriteString(begin(s.Kernel))
	fmt.Fprintf(&b, "## %s\n\n| | version |\n|---|---|\n", s.Title)
	for _, v := range s.Versions {
		fmt.Fprintf(&b, "| %s | %s |\n", cell(v[0]), cell(v[1]))
	}
	if s.All {
		oldRun = s.Run
	}
	if oldRun != "" {
		fmt.Fprintf(&b, "| %s | %s |\n", whole, oldRun)
	}
	if !s.All {
		fmt.Fprintf(&b, "| %s | %s |\n", some, s.Run)
	}
	b.WriteString("\n| case | property | rule | expected | Linux | deviation |\n|---|---|---|---|---|---|\n")
	for _, name := range s.Cases {
		list := old[name]
		if i := slices.IndexFunc(s.Results, func(r cases.Result) bool { return r.Name == name }); i >= 0 {
			list = rows(s.Results[i])
		}
		for _, row := range list {
			b.WriteString(row + "\n")
		}
	}
	return b.String()
}

// written returns the rows that the page has for a kernel, by case.
func written(page, kernel string) map[string][]string {
	_, section, _ := strings.Cut(page, begin(kernel))
	section, _, _ = strings.Cut(section, "<!-- kernel: ")
	list := map[string][]string{}
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ = strings.Cut(name, "`")
			list[name] = append(list[name], line)
		}
	}
	return list
}

// wholeRun returns the run of all cases that the page has for a kernel, or "".
func wholeRun(page, kernel string) string {
	_, section, _ := strings.Cut(page, begin(kernel))
	section, _, _ = strings.Cut(section, "<!-- kernel: ")
	_, run, _ := strings.Cut(section, "| "+whole+" | ")
	run, _, _ = strings.Cut(run, " |\n")
	return run
}

// rows returns the lines of the table for a case.
func rows(r cases.Result) []string {
	var list []string
	for _, f := range r.Findings {
		deviation := ""
		if f.Deviation {
			deviation = "**yes**"
		}
		list = append(list, fmt.Sprintf("| %s | %s | %s | %s | %s | %s |",
			cell("`"+r.Name+"`"), cell(f.What), cell(f.Rule), cell(f.Expected), cell(f.Saw), deviation))
	}
	return list
}

// cell returns text for a cell of a table: on one line, without the separator.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

// Compare returns the differences in substance between the page's section of a kernel and the
// results of a run: rows that only one of them has. Versions, dates and the order do not count.
// Cases that did not run or did not pass are left out; with all set, the page must have no rows of
// cases that are not among the results.
func Compare(page, kernel string, results []cases.Result, all bool) []string {
	if !strings.Contains(page, begin(kernel)) {
		return []string{"the page has no section for the kernel " + kernel}
	}
	onPage := written(page, kernel)
	var diff []string
	for _, r := range results {
		have := onPage[r.Name]
		delete(onPage, r.Name)
		if r.Status != cases.Pass {
			continue
		}
		now := rows(r)
		for _, row := range have {
			if !slices.Contains(now, row) {
				diff = append(diff, "page: "+row)
			}
		}
		for _, row := range now {
			if !slices.Contains(have, row) {
				diff = append(diff, "run:  "+row)
			}
		}
	}
	if all {
		for name := range onPage {
			diff = append(diff, "page: rows of "+name+", which is no case")
		}
		slices.Sort(diff)
	}
	return diff
}
