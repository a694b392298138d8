// SPDX-License-Identifier: Apache-2.0
//
// skillfs COMMAND ...: see fs/commands/command.c for the table.
#include "fs/commands/command.h"

int main(int argc, char **argv)
{
	return command_run(argc, argv);
}
