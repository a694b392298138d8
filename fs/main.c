// SPDX-License-Identifier: Apache-2.0
//
// skillfs COMMAND ...: see fs/commands/command.c for the table.
#include <signal.h>

#include "fs/commands/command.h"

int main(int argc, char **argv)
{
	// Supervisors and interpreters start programs with it ignored: then nobody can wait for a child, the look for a sandbox
	// finds none, and commands would run without one.
	(void)signal(SIGCHLD, SIG_DFL);
	return command_run(argc, argv);
}
