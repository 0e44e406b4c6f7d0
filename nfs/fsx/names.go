package fsx

import (
	"errors"
	"fmt"
	"io/fs"
)

// create makes a file. If its name is in use, the file system has to say so.
func (t *Tester) create() error {
	name := t.any()
	t.note(Create, "%s", name)
	file, err := t.fs.Create(name)
	if t.names[name] != nil {
		return exists(err)
	}
	if err != nil {
		return err
	}
	t.names[name] = &node{links: 1, file: file}
	return nil
}

// exists returns an error unless err is fs.ErrExist.
func exists(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return fmt.Errorf("the name is in use, expected %q: %w", fs.ErrExist, orNothing(err))
}

// rename gives a file another name, sometimes the name of another file.
func (t *Tester) rename() error {
	from, to := t.existing(), t.any()
	if t.rnd.IntN(4) == 0 {
		to = t.existing()
	}
	t.note(Rename, "%s to %s", from, to)
	n, replaced := t.names[from], t.names[to]
	if replaced != nil && replaced != n {
		if err := t.unlink(to); err != nil {
			return err
		}
	}
	if err := t.fs.Rename(from, to); err != nil {
		return err
	}
	if replaced != n { // POSIX: with two names of one file nothing happens
		t.names[to] = n
		delete(t.names, from)
	}
	return nil
}

// link gives a file one more name.
func (t *Tester) link() error {
	name, link := t.existing(), t.any()
	t.note(Link, "%s, with the further name %s", name, link)
	err := t.fs.(Linker).Link(name, link)
	if t.names[link] != nil {
		return exists(err)
	}
	if err != nil {
		return err
	}
	t.names[link] = t.names[name]
	t.names[link].links++
	return nil
}

// remove removes a name.
func (t *Tester) remove() error {
	name := t.existing()
	t.note(Remove, "%s", name)
	if err := t.unlink(name); err != nil {
		return err
	}
	if err := t.fs.Remove(name); err != nil {
		return err
	}
	delete(t.names, name)
	if file, err := t.fs.Open(name); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = errors.Join(errNothing, file.Close())
		}
		return fmt.Errorf("opening it when it is removed, expected %q: %w", fs.ErrNotExist, err)
	}
	return nil
}

// unlink removes a name from its file, and closes the file when no name is left, because not every
// file system keeps a removed file open.
func (t *Tester) unlink(name string) error {
	n := t.names[name]
	if n.links--; n.links > 0 {
		return nil
	}
	return t.close(n)
}
