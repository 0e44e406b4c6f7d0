package main

const activationDir = "runtime/oncrpc/activation/"

var activationTests = []string{"runtime/oncrpc/activation"}

// activationMutants are in the sockets that systemd passes.
var activationMutants = []mutant{
	{"sockets of another process are taken", activationDir + "activation.go", "	if pid != strconv.Itoa(os.Getpid()) {\n", "	if pid == \"\" {\n", activationTests},
	{"children look for the sockets", activationDir + "activation.go", "		_ = os.Unsetenv(name)\n", "		_ = name\n", activationTests},
	{"children get the sockets", activationDir + "take_linux.go", "	syscall.CloseOnExec(fd)\n", "", activationTests},
	{"a file is taken for a socket", activationDir + "take_linux.go", "	case st.Mode&syscall.S_IFMT != syscall.S_IFSOCK:\n", "	case fd < 0:\n", activationTests},
	{"a name of a socket is ignored", activationDir + "activation.go", "name != \"\" && f.Name() != name || !is(f)", "!is(f)", activationTests},
	{"names that do not fit are accepted", activationDir + "activation.go", "names != \"\" && len(called) != n", "false", activationTests},
	{"a socket stays in the set", activationDir + "activation.go", "		s.files = append(s.files[:i:i], s.files[i+1:]...)\n", "		_ = i\n", activationTests},
	{"serve does not say that it is ready", "cmd/rpcrdma/serve.go", "	notify(env.stderr, \"READY=1\")\n", "", []string{"cmd/rpcrdma"}},
}
