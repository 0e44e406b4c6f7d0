package monitor

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// Source has the counts of a server, a client or connections. They are read for each look.
type Source struct {
	stats func() any
	conns func() []conn
}

// conn is a connection of a Source.
type conn struct {
	addr  string
	id    any // the connection, or else its address
	stats func() any
}

// Server returns the Source of a server with its connections, such as an *rdmaio.Server or a
// *tcp.Server.
func Server[C interface {
	RemoteAddr() string
	Stats() T
}, T, S any](s interface {
	Conns() []C
	Stats() S
}) Source {
	return Source{stats: func() any { return s.Stats() }, conns: Conns(s.Conns).conns}
}

// Client returns the Source of a client, or of a server without connections, such as an
// *rdmaio.Client or a *udp.Server.
func Client[S any](c interface{ Stats() S }) Source {
	return Source{stats: func() any { return c.Stats() }}
}

// Conns returns the Source of the connections that list returns, such as an *rdmaio.Conn.
func Conns[C interface {
	RemoteAddr() string
	Stats() T
}, T any](list func() []C) Source {
	return Source{conns: func() []conn {
		all := list()
		conns := make([]conn, len(all))
		for i, c := range all {
			addr := c.RemoteAddr()
			conns[i] = conn{addr, addr, func() any { return c.Stats() }}
			if reflect.TypeFor[C]().Kind() == reflect.Pointer {
				conns[i].id = c
			}
		}
		return conns
	}}
}

// named is a Source with its name.
type named struct {
	name string
	Source
	tallies tallies
}

// Watch shows a Source under a name, until stop is called.
func (m *Monitor) Watch(name string, src Source) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := &named{name: name, Source: src}
	m.sources = append(m.sources, n)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.sources = slices.DeleteFunc(m.sources, func(other *named) bool { return other == n })
	}
}

// Field is a count of a Source or connection. Name is the field's name in Stats.
type Field struct {
	Name  string
	Value string
}

// shape has what reflection finds in a type of Stats.
type shape struct {
	fields []shapeField
	order  [][]int // fields that say how busy it is, the most telling one first

	metrics [][]int // the fields of sourceMetrics, or nil
}

type shapeField struct {
	name  string
	index []int
}

// shapes has the shapes by reflect.Type.
var shapes sync.Map

// busyFields are the fields by which connections are ordered: those that wait come first.
var busyFields = []string{"WaitingRequests", "Waiting", "InFlight", "Requests", "Calls"}

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := &shape{}
	s.add(t, "", nil)
	for _, name := range busyFields {
		for _, f := range s.fields {
			if f.name == name {
				s.order = append(s.order, f.index)
			}
		}
	}
	s.metrics = make([][]int, len(sourceMetrics))
	for i := range sourceMetrics {
		for _, f := range s.fields {
			if f.name == sourceMetrics[i].field {
				s.metrics[i] = f.index
			}
		}
	}
	shapes.Store(t, s)
	return s
}

// add adds the fields of a struct. Fields of embedded structs have no prefix.
func (s *shape) add(t reflect.Type, prefix string, index []int) {
	if t.Kind() != reflect.Struct {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		switch {
		case !f.IsExported():
		case f.Type.Kind() == reflect.Struct && f.Anonymous:
			s.add(f.Type, prefix, at)
		case f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[time.Time]():
			s.add(f.Type, prefix+f.Name+".", at)
		default:
			s.fields = append(s.fields, shapeField{prefix + f.Name, at})
		}
	}
}

// fieldsOf returns the fields of a Stats that are not zero.
func fieldsOf(stats any) []Field {
	v := reflect.ValueOf(stats)
	var fields []Field
	for _, f := range shapeOf(v.Type()).fields {
		if at := v.FieldByIndex(f.index); !at.IsZero() {
			fields = append(fields, Field{f.name, fmt.Sprint(at.Interface())})
		}
	}
	return fields
}

// busy compares two Stats of one type: the busier one comes first.
func busy(a, b any) int {
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	if v.Type() != w.Type() {
		return 0
	}
	for _, index := range shapeOf(v.Type()).order {
		if c := cmp.Compare(number(w.FieldByIndex(index)), number(v.FieldByIndex(index))); c != 0 {
			return c
		}
	}
	return 0
}

func number(v reflect.Value) uint64 {
	switch {
	case v.CanUint():
		return v.Uint()
	case v.CanInt():
		return uint64(max(v.Int(), 0))
	}
	return 0
}

// ConnState is a connection at the time of a look.
type ConnState struct {
	Addr  string // of the peer
	Stats []Field
}

// SourceState is a Source at the time of a look.
type SourceState struct {
	Name  string
	Stats []Field

	// Conns are some of the connections (Query), those that wait first, then the busiest. Total is
	// the number of connections, and Found of those that the Query finds.
	Conns        []ConnState
	Total, Found int
}

// state returns what a Source says.
func (n *named) state(q *Query) SourceState {
	s := SourceState{Name: n.name}
	if n.stats != nil {
		s.Stats = fieldsOf(n.stats())
	}
	if n.conns == nil {
		return s
	}
	all := n.conns()
	s.Total = len(all)
	all = slices.DeleteFunc(all, func(c conn) bool { return !strings.Contains(c.addr, q.Find) })
	s.Found = len(all)
	type shown struct {
		addr  string
		stats any
	}
	list := make([]shown, len(all))
	for i, c := range all {
		list[i] = shown{c.addr, c.stats()}
	}
	slices.SortFunc(list, func(a, b shown) int { return cmp.Or(busy(a.stats, b.stats), cmp.Compare(a.addr, b.addr)) })
	from := min(q.From, len(list))
	for _, c := range list[from:min(from+q.Most, len(list))] {
		s.Conns = append(s.Conns, ConnState{c.addr, fieldsOf(c.stats)})
	}
	return s
}
