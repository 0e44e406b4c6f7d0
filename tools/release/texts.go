package main

import (
	"cmp"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// texts returns the manual pages and completions of a command, from what the program in dir prints.
func (r *release) texts(c command, dir string) (tree, error) {
	output := func(args ...string) (string, error) {
		out, err := exec.Command(filepath.Join(dir, c.program(hostTarget())), args...).Output()
		if err != nil {
			return "", fmt.Errorf("%s %s: %w", c.name, strings.Join(args, " "), err)
		}
		return string(out), nil
	}
	help, err := output("help")
	if err != nil {
		return nil, err
	}
	var files tree
	add := func(section int, name, title, text string, see []string) {
		p := page{name: name, title: title, section: section, version: r.version[1:], date: r.time.Format("2006-01-02"), see: see}
		files = append(files, file{name: fmt.Sprintf("share/man/man%d/%s.%d", section, name, section), mode: 0o644, data: p.roff(text)})
	}
	var see []string
	pages := cmp.Or(c.pages, c.name)
	subjects := map[string]int{}
	if !c.flagsOnly {
		for _, name := range commandsOf(help) {
			subjects[name] = 1
		}
		for _, name := range c.topics {
			subjects[name] = 7
		}
	}
	for name, section := range subjects {
		see = append(see, fmt.Sprintf("%s-%s(%d)", pages, name, section))
	}
	add(1, c.name, c.name, help, see)
	for name, section := range subjects {
		text, err := output("help", name)
		if err != nil {
			return nil, err
		}
		add(section, pages+"-"+name, c.name+" "+name, text, []string{c.name + "(1)"})
	}
	for shell, name := range map[string]string{
		"bash": "share/bash-completion/completions/" + c.name,
		"zsh":  "share/zsh/site-functions/_" + c.name,
		"fish": "share/fish/vendor_completions.d/" + c.name + ".fish",
	} {
		args := []string{"completion", shell}
		if c.flagsOnly {
			args = []string{"-completion", shell}
		}
		script, err := output(args...)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: name, mode: 0o644, data: []byte(script)})
	}
	return files, nil
}

// commandsOf returns the commands that the main help of a program lists.
func commandsOf(help string) (names []string) {
	_, rest, _ := strings.Cut(help, "\nCommands:\n")
	list, _, _ := strings.Cut(rest, "\n\n")
	for line := range strings.Lines(list) {
		if name, ok := strings.CutPrefix(line, "  "); ok && !strings.HasPrefix(name, " ") {
			names = append(names, strings.Fields(name)[0])
		}
	}
	return names
}
