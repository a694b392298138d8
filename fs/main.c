// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/command.h"

int main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return EXIT_USAGE;
}
