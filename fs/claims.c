// SPDX-License-Identifier: Apache-2.0
#include "fs/claims.h"

#include <errno.h>
#include <stdlib.h>

// There are no more claims than workers.
static struct claim **find(struct claims *claims, const struct identity *identity, uint64_t variant)
{
	struct claim **claim = &claims->first;

	while (*claim != NULL &&
	       ((*claim)->variant != variant || !identity_equal(&(*claim)->identity, identity)))
		claim = &(*claim)->next;
	return claim;
}

int claims_add(struct claims *claims, const struct identity *identity, uint64_t variant, struct task *task)
{
	struct claim *claim = *find(claims, identity, variant);

	if (claim != NULL && task == NULL)
		return BUSY;
	if (claim != NULL) {
		task->next = claim->parked;
		claim->parked = task;
		return PARKED;
	}
	claim = calloc(1, sizeof(*claim));
	if (claim == NULL)
		return -ENOMEM;
	claim->identity = *identity;
	claim->variant = variant;
	claim->next = claims->first;
	claims->first = claim;
	return CLAIMED;
}

struct task *claims_end(struct claims *claims, const struct identity *identity, uint64_t variant)
{
	struct claim **slot = find(claims, identity, variant);
	struct claim *claim = *slot;
	struct task *parked = claim->parked;

	*slot = claim->next;
	free(claim);
	return parked;
}
