// SPDX-License-Identifier: Apache-2.0
//
// Reading what a user names: the configuration and single files. Everything is read with a maximum.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "fs/commands/command.h"
#include "policy/config.h"
#include "sanitize/cleanup.h"

#define CHUNK ((size_t)64 << 10)

int command_read(const char *path, size_t max, struct buf *ret)
{
	CLEANUP(buf) struct buf data = BUF_INIT;
	CLEANUP(fd) int opened = -1;
	int fd = STDIN_FILENO, rc;

	if (strcmp(path, "-") != 0) {
		fd = opened = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (opened < 0)
			return -errno;
	}
	for (;;) {
		// One byte more than allowed is asked for, so that a file of exactly `max` bytes ends well.
		size_t want = max - data.len < CHUNK ? max - data.len + 1 : CHUNK;
		ssize_t got;

		rc = buf_reserve(&data, want);
		if (rc < 0)
			return rc;
		got = read(fd, data.data + data.len, want);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		data.len += (size_t)got;
		data.data[data.len] = '\0';
		if (got == 0)
			break;
		if (data.len > max)
			return -EFBIG;
	}
	*ret = data;
	data = BUF_INIT;
	return 0;
}

static int load(const char *path, struct config **ret, struct error *error)
{
	CLEANUP(buf) struct buf text = BUF_INIT;
	int rc = command_read(path, CONFIG_MAX_SIZE, &text);

	if (rc == -EFBIG)
		return error_set(error, rc, "%s: larger than %zu bytes: a configuration is not", path,
				 CONFIG_MAX_SIZE);
	if (rc < 0)
		return error_set(error, rc, "%s: cannot read the configuration: %s", path, strerror(-rc));
	return config_parse(path, text.data == NULL ? "" : text.data, text.len, ret, error);
}

int command_load_config(const char *path, struct config **ret, struct error *error)
{
	CLEANUP(buf) struct buf user = BUF_INIT;
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	const char *places[2] = { NULL, "/etc/skillfs/config.yaml" };
	int printed = 0;

	if (path == NULL) {
		path = getenv("SKILLFS_CONFIG");
		if (path != NULL && *path == '\0')
			path = NULL;
	}
	// A file that somebody named must be there.
	if (path != NULL)
		return load(path, ret, error);
	// The XDG rules: a relative path is to be ignored.
	if (base != NULL && *base == '/')
		printed = buf_printf(&user, "%s/skillfs/config.yaml", base);
	else if (home != NULL && *home == '/')
		printed = buf_printf(&user, "%s/.config/skillfs/config.yaml", home);
	if (printed < 0)
		return printed;
	places[0] = user.data;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct error local = { "" };
		int rc;

		if (places[i] == NULL)
			continue;
		rc = load(places[i], ret, &local);
		if (rc == 0 || (rc != -ENOENT && rc != -ENOTDIR))
			return rc == 0 ? 0 : error_set(error, rc, "%s", error_text(&local, rc));
	}
	return config_default(ret);
}

int command_find_agent(const struct config *config, const char *id, const struct agent_config **ret,
		       struct error *error)
{
	const struct agent_config *agent = config_agent(config, id == NULL ? DEFAULT_AGENT : id);
	CLEANUP(buf) struct buf known = BUF_INIT;

	if (agent != NULL) {
		*ret = agent;
		return 0;
	}
	for (size_t i = 0; i < config->agent_count; i++)
		if (buf_printf(&known, "%s%s", i == 0 ? "" : ", ", config->agents[i].id) < 0)
			return -ENOMEM;
	return error_set(error, -ENOENT, "%s: no such agent; the configuration has: %s", id,
			 known.data == NULL ? "" : known.data);
}
