package plan

// decide computes the flags of types and steps.
func (m *maker) decide() {
	m.connect()
	for _, t := range m.all {
		if t.Op == Typedef {
			t.nameTypedef()
		}
	}
	for _, t := range m.all {
		t.Inline = t.inline()
		t.ByField = t.byField()
		if t.Op == Union {
			t.mem()
		}
	}
	for _, s := range m.steps {
		s.InRun = s.words() >= 0
		s.Unchecked = s.unchecked()
		s.decideCalls()
	}
	for _, t := range m.all {
		if t.Decl.IsList() && t.Body.Elem.NodeElem() {
			elem := t.Body.Elem
			elem.InRun, elem.Call, elem.CheckCall = false, true, true
		}
		t.RunArm = !t.Wide() && t.runArm()
		t.Zero = t.zero()
		t.callLongRuns()
		t.callArms()
	}
}

// callArms makes the codec of a wide union call the methods of its arms. The time that the Go
// compiler takes for a function grows with the square of the code in its cases (ADR 0167).
func (t *Type) callArms() {
	if !t.Wide() {
		return
	}
	for s := range t.parts {
		if s.Op == Struct || s.Op == Union {
			s.InRun, s.Call, s.CheckCall = false, true, true
		}
	}
}

// callLongRuns makes the codec of a compact type call the methods of parts with many words. Such a
// part is not in a run that continues around t.
func (t *Type) callLongRuns() {
	if !t.Compact || t.Op == Struct && t.words() >= 0 {
		return
	}
	for s := range t.parts {
		if s.Op == Struct && s.words() > smallLimit {
			s.InRun, s.Call = false, true
		}
	}
}

// connect connects the steps with the types that they name.
func (m *maker) connect() {
	for _, s := range m.steps {
		switch {
		case s.Op == Typedef && s.Elem == nil:
			s.Elem = s.Of.Body
		case s.Op == List && s.Elem == nil:
			s.Elem = s.Of.elem
		}
	}
	for _, s := range m.steps {
		s.Pointer = s.Op == Optional && s.Elem.holdsRecursive()
	}
}

// inline reports whether encoders, decoders and sizes write t out where it is used, and do not
// call its methods: if it is small, or used in one place only and not large (ADR 0005). Compact
// types are written out if a call would take as much code.
func (t *Type) inline() bool {
	switch {
	case t.Op == Enum, t.Transparent, t.PointerName:
		return true
	case t.Recursive:
		return false
	case t.Compact:
		return t.Op != Union && t.weight() <= smallLimit
	case t.uses.count == 1 && t.Decl.Import == nil:
		return t.weight() <= onceLimit
	case t.Op == Union:
		return false
	}
	return t.weight() <= inlineLimit
}

// byField reports whether views skip a value of t field by field.
func (t *Type) byField() bool {
	if t.Op != Struct || t.Node || t.Recursive || t.weight() > onceLimit {
		return false
	}
	varying := 0 // fields without a fixed size
	for _, f := range t.Fields {
		if !f.Step.Size.Fixed() {
			varying++
		}
	}
	return varying <= 2
}

// decideCalls decides which emitters call the methods of the type that s names.
func (s *Step) decideCalls() {
	switch s.Op {
	case Struct, Union:
		s.Call = !s.Of.Inline && !s.InRun
		s.PassCall = s.Of.checkWeight() > passLimit
		s.CheckCall = s.Call && (s.PassCall || s.Of.Node)
		s.SkipCall = s.deep() || s.Of.Node
	case Typedef:
		s.Call = !s.Of.Inline && s.Elem == s.Of.Body
		s.CheckCall = s.Call
		s.PassCall = !s.Of.Transparent && !s.Of.PointerName && s.Of.Body.checkWeight() > passLimit
		s.SkipCall = s.deep()
	}
}

// runArm reports whether the encoder of any arm begins with a run.
func (t *Type) runArm() bool {
	for _, a := range t.Arms {
		if a.Field != nil && a.Field.Step.beginsRun() {
			return true
		}
	}
	return false
}

// beginsRun reports whether an encoder of s begins with a run.
func (s *Step) beginsRun() bool {
	return s.InRun || s.facts.beginsRun.get(0, func() int {
		switch s.Op {
		case Loop, Union:
			return 0
		case List:
			return truth(!s.Head)
		case Typedef:
			return truth(s.Of.Inline && s.Of.Body.beginsRun())
		case Struct:
			return truth(s.Of.Inline && len(s.Of.Fields) > 0 && s.Of.Fields[0].Step.beginsRun())
		}
		return 1
	}) > 0
}
