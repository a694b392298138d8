// SPDX-License-Identifier: Apache-2.0
//
// Input: a line with the file's name, then its bytes.
#include "fuzz.h"
#include "sanitize/classify.h"

#define NAME_SIZE 255

static bool is_skill_md(const char *name)
{
	return strcasecmp(name, "SKILL.md") == 0;
}

static bool is_ascii_text(const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)data[i] >= 0x7f ||
		    ((unsigned char)data[i] < 0x20 && strchr("\t\r\n", data[i]) == NULL) || data[i] == '\0')
			return false;
	return true;
}

// The same text in two bytes a letter, without a mark at its start.
static void check_wide(const char *text, size_t len)
{
	char *wide = malloc(2 * len + 1);

	if (wide == NULL)
		abort();
	for (size_t i = 0; i < len; i++) {
		wide[2 * i] = text[i];
		wide[2 * i + 1] = '\0';
	}
	FUZZ_CHECK(classify_hides_text(wide, 2 * len), "wide characters");
	free(wide);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct piece input = fuzz_input(bytes, size);
	char *name = fuzz_take_line(&input, NAME_SIZE);
	char *data = fuzz_copy(input.data, input.len);
	size_t len = input.len;
	enum file_class cls = classify(name, data, len);
	enum name_claim claim = classify_name(name);
	bool archive = classify_is_archive(name, data, len);

	FUZZ_CHECK(file_class_name(cls) != NULL, "class %d", (int)cls);
	FUZZ_CHECK(classify_is_skill_md(name) == is_skill_md(name), "'%s'", name);
	// A name that claims text is believed, whatever the bytes are.
	switch (claim) {
	case NAME_PROSE:
		FUZZ_CHECK(cls == CLASS_PROSE, "'%s' is %s", name, file_class_name(cls));
		break;
	case NAME_CODE:
		FUZZ_CHECK(cls == CLASS_CODE, "'%s' is %s", name, file_class_name(cls));
		break;
	case NAME_SAYS_NOTHING:
		FUZZ_CHECK(cls == classify("x", data, len), "'%s' says nothing", name);
		break;
	}
	FUZZ_CHECK(!is_skill_md(name) || claim == NAME_PROSE, "'%s'", name);
	FUZZ_CHECK(len > 0 || (cls != CLASS_BINARY && !archive), "'%s' is empty", name);
	// Zeroes are no text, whatever else is there.
	FUZZ_CHECK(claim != NAME_SAYS_NOTHING || memchr(data, '\0', len) == NULL || cls != CLASS_PROSE,
		   "NUL in prose");
	// Text that no magic begins must not get away unread.
	if (is_ascii_text(data, len)) {
		FUZZ_CHECK(classify_hides_text(data, len), "ASCII");
		check_wide(data, len);
	}
	(void)classify_hides_text(data, len);
	free(data);
	free(name);
	return 0;
}
