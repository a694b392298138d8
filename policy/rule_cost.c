// SPDX-License-Identifier: Apache-2.0
#include "policy/rule_cost.h"

#include <errno.h>
#include <stdio.h>

#include "sanitize/cleanup.h"

int rule_cost_warn(const struct scanner *scanner, struct strv *warnings)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < scanner_rule_count(scanner); i++) {
		CLEANUP(free) char *text = NULL;

		if (!scanner_rule_is_plain(scanner, i))
			continue;
		if (asprintf(&text,
			     "rules.custom: %s: each text is searched for it alone, which is slow: let its "
			     "pattern "
			     "begin with some fixed characters",
			     scanner_rule(scanner, i)->id) < 0)
			return -ENOMEM;
		rc = strv_add(warnings, text);
	}
	return rc;
}
