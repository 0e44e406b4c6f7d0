package cli

import "syscall"

// getTermios is the ioctl request that reads the settings of a terminal.
const getTermios = syscall.TCGETS
