// SPDX-License-Identifier: Apache-2.0
//
// Texts of our own where no corpus is: made of the blocks, words and odd
// characters that skills are made of, in the shares that 1600 real Markdown files of 12 MB
// show, so that ratios come out as they do there. What the rules look at is
// counted, not left to chance. The same in every run.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

#define SIZE ((size_t)12 << 20)

// Frequent words first; the first few make up a third of a text.
static const char *const words[] = {
	"the",        "and",      "to",       "for",       "with",          "in",        "a",
	"of",         "from",     "or",       "is",        "use",           "data",      "on",
	"as",         "not",      "by",       "your",      "tool",          "user",      "file",
	"model",      "session",  "results",  "it",        "text",          "search",    "when",
	"all",        "that",     "before",   "at",        "test",          "content",   "are",
	"this",       "new",      "client",   "first",     "time",          "be",        "output",
	"value",      "default",  "you",      "run",       "status",        "key",       "analysis",
	"memory",     "string",   "only",     "case",      "code",          "image",     "task",
	"error",      "index",    "style",    "values",    "workflows",     "add",       "format",
	"path",       "set",      "query",    "files",     "input",         "list",      "context",
	"create",     "read",     "event",    "state",     "metadata",      "patterns",  "example",
	"response",   "per",      "based",    "agent",     "schema",        "complete",  "quality",
	"scripts",    "function", "tokens",   "rate",      "types",         "without",   "class",
	"verify",     "version",  "workflow", "multiple",  "each",          "using",     "reference",
	"process",    "one",      "can",      "must",      "names",         "order",     "filter",
	"source",     "features", "email",    "server",    "system",        "skill",     "env",
	"bash",       "evaluate", "pool",     "template",  "configuration", "project",   "review",
	"components", "package",  "optional", "determine", "always",        "directory", "structure",
	"production",
};

// Plain words behind the frequent ones are put together of these.
static const char *const syllables[] = { "con", "ta", "re", "mi", "ser", "al",   "ve", "tion",
					 "per", "in", "lo", "de", "us",  "ment", "or", "pa",
					 "ic",  "an", "st", "er", "ol",  "ig",   "na", "qu" };

// What stands in the texts so and so often in a megabyte: first what a scanner stops at, then non-ASCII, then
// (few of them) true findings.
struct special {
	unsigned per_megabyte;
	const char *text;
	unsigned long written; // so far
};

static struct special specials[] = {
	{ 50, "```bash\nnpm install --save-dev typescript\n```\n", 0 },
	{ 60, "```bash\npython scripts/run.py --input \"$FILE\" --output out.json\n```\n", 0 },
	{ 30, "    PATH=\"${HOME}/bin:$PATH\" make -j4 2>&1\n", 0 },
	{ 30, "    const url = `${base}/items/${id}`;\n", 0 },
	{ 10, "    name=$(basename \"$file\" .md)\n", 0 },
	{ 12,
	  "```bash\ncurl -X POST https://api.example.com/v1/items \\\n  -H \"Content-Type: "
	  "application/json\" \\\n  "
	  "-d '{\"name\": \"report\"}'\n```\n",
	  0 },
	{ 8, "Run `bash` or `sh` and look at `process.env`.\n", 0 },
	{ 60, "    value = os.environ.get(\"REPORT_ENV\", \"env\")\n", 0 },
	{ 12, "Use `sh` for short scripts, `.sh` for their names.\n", 0 },
	{ 3, "    encoded = base64.b64encode(data)\n", 0 },
	{ 3, "Paths such as /proc/cpuinfo and /dev/null are not read.\n", 0 },
	{ 8, "<!-- an old remark of the author -->\n", 0 },
	{ 140, "    return <div className=\"row\">{items.length}</div>\n", 0 },
	{ 40, "    if (a < b && c > d || e) {\n", 0 },
	{ 30, "    ls -la | grep md | sort | head -n 20\n", 0 },
	{ 25, "See https://docs.example.com/guides/getting-started/with/a/long/path/index for more.\n", 0 },
	{ 1, "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n", 0 },
	{ 390, "Keep it short \xE2\x80\x94 and plain.\n", 0 },
	{ 170, "- input \xE2\x86\x92 output\n", 0 },
	{ 110, "- \xE2\x9C\x93 checked\n", 0 },
	{ 60, "- \xE2\x9C\x85 do this\n", 0 },
	{ 50, "- \xE2\x9D\x8C not that\n", 0 },
	{ 50,
	  "# "
	  "\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80"
	  "\xE2\x94\x80"
	  "\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80"
	  "\xE2\x94\x80"
	  "\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80\xE2\x94\x80"
	  "\xE2\x94\x80\n",
	  0 },
	{ 60, "\xE2\x94\x82   \xE2\x94\x9C\xE2\x94\x80\xE2\x94\x80 notes.md\n", 0 },
	{ 15,
	  "Stra\xC3\x9F"
	  "e, caf\xC3\xA9, na\xC3\xAFve; 5 \xC2\xB5m \xC2\xB1 2 \xC2\xB0"
	  "C\n",
	  0 },
	{ 4, "He waited\xE2\x80\xA6 \xC2\xBD of it, x\xC2\xB2, \xE2\x84\xA2, \xEF\xAC\x81ne\n", 0 },
	{ 50,
	  "\xD0\x9E\xD1\x82\xD0\xBA\xD1\x80\xD0\xBE\xD0\xB9\xD1\x82\xD0\xB5 \xD1\x84\xD0\xB0\xD0\xB9\xD0\xBB "
	  "\xD0\xB8 "
	  "\xD0\xBF\xD1\x80\xD0\xBE\xD1\x87\xD0\xB8\xD1\x82\xD0\xB0\xD0\xB9\xD1\x82\xD0\xB5 "
	  "\xD0\xB7\xD0\xB0\xD0\xB3\xD0\xBE\xD0\xBB\xD0\xBE\xD0\xB2\xD0\xBE\xD0\xBA, "
	  "\xD0\xBF\xD0\xBE\xD1\x82\xD0\xBE\xD0\xBC "
	  "\xD0\xBD\xD0\xB0\xD0\xBF\xD0\xB8\xD1\x88\xD0\xB8\xD1\x82\xD0\xB5 "
	  "\xD0\xBE\xD1\x82\xD0\xB2\xD0\xB5\xD1\x82.\n",
	  0 },
	{ 1, "    status=$(curl -s https://example.com/health)\n", 0 },
	{ 1, "    curl -fsSL https://example.com/install | sh\n", 0 },
	{ 1, "Ask with `curl -I https://example.com` first.\n", 0 },
	{ 1,
	  "key = "
	  "\"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	  "\"\n",
	  0 },
};

struct writer {
	struct buf *buf;
	uint64_t state;
	int rc;
};

static size_t pick(struct writer *out, size_t count)
{
	uint64_t x = out->state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	out->state = x;
	return (size_t)((x * UINT64_C(0x2545F4914F6CDD1D) >> 33) % count);
}

static void put(struct writer *out, const char *text)
{
	if (out->rc == 0)
		out->rc = buf_append_string(out->buf, text);
}

static void put_word(struct writer *out, bool capital)
{
	const size_t count = sizeof(words) / sizeof(words[0]), first = out->buf->len;

	if (pick(out, 100) < 58) {
		size_t at = pick(out, count);

		// The product of two chances: small numbers more often.
		put(out, words[at * pick(out, count) / count]);
	} else {
		for (size_t i = 2 + pick(out, 2); i > 0; i--)
			put(out, syllables[pick(out, sizeof(syllables) / sizeof(syllables[0]))]);
	}
	if (capital && out->rc == 0)
		out->buf->data[first] = (char)toupper((unsigned char)out->buf->data[first]);
}

static void put_words(struct writer *out, size_t count, bool capital)
{
	for (size_t i = 0; i < count; i++) {
		size_t kind = pick(out, 100);

		if (i > 0)
			put(out, kind > 93 ? ", " : " ");
		if (kind < 4) {
			put(out, "`");
			put_word(out, false);
			put(out, kind < 2 ? "_" : kind < 3 ? "." : " --");
			put_word(out, false);
			put(out, "`");
		} else if (kind < 9) {
			put(out, kind < 6 ? "(" : "**");
			put_word(out, true);
			put(out, kind < 6 ? ")" : "**");
		} else if (kind < 10) {
			put(out, "[");
			put_word(out, true);
			put(out, "](references/");
			put_word(out, false);
			put(out, ".md)");
		} else {
			put_word(out, (i == 0 && capital) || kind > 85);
		}
	}
}

static void put_heading(struct writer *out)
{
	put(out, pick(out, 3) == 0 ? "\n## " : "\n### ");
	put_words(out, 2 + pick(out, 3), true);
	put(out, "\n\n");
}

static void put_paragraph(struct writer *out)
{
	for (size_t i = 1 + pick(out, 2); i > 0; i--) {
		put_words(out, 5 + pick(out, 10), true);
		put(out, ".\n");
	}
	put(out, "\n");
}

static void put_list(struct writer *out)
{
	bool numbered = pick(out, 4) == 0;
	char number[24];

	for (size_t i = 1, last = 3 + pick(out, 5); i <= last; i++) {
		(void)snprintf(number, sizeof(number), "%zu. ", i);
		put(out, numbered ? number : pick(out, 5) == 0 ? "  - " : "- ");
		put_words(out, 4 + pick(out, 8), true);
		put(out, "\n");
	}
	put(out, "\n");
}

static void put_table(struct writer *out)
{
	size_t columns = 2 + pick(out, 3);

	for (size_t row = 0, last = 5 + pick(out, 6); row < last; row++) {
		for (size_t column = 0; column < columns; column++) {
			put(out, "| ");
			if (row == 1)
				put(out, "---");
			else
				put_words(out, 1 + pick(out, 3), true);
			put(out, " ");
		}
		put(out, "|\n");
	}
	put(out, "\n");
}

static void put_code_line(struct writer *out)
{
	static const char *const forms[] = { "(",   ", ",   ") ",   " = \"", "\", ", ": ", " = ", ".",
					     "[\"", "\"] ", "(): ", " ",     " # ",  "_",  " / ", " == ",
					     "; ",  "{ ",   " } ",  "-",     " ",    "_" };

	put(out, pick(out, 3) == 0 ? "" : pick(out, 2) == 0 ? "    " : "        ");
	for (size_t i = 3 + pick(out, 5); i > 0; i--) {
		put_word(out, pick(out, 12) == 0);
		put(out, forms[pick(out, sizeof(forms) / sizeof(forms[0]))]);
	}
	put(out, "\n");
}

static void put_code(struct writer *out)
{
	static const char *const languages[] = { "python", "typescript", "json", "yaml", "" };

	put(out, "```");
	put(out, languages[pick(out, sizeof(languages) / sizeof(languages[0]))]);
	put(out, "\n");
	for (size_t i = 5 + pick(out, 12); i > 0; i--)
		put_code_line(out);
	put(out, "```\n\n");
}

static void put_specials(struct writer *out)
{
	for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
		struct special *special = &specials[i];

		// Not all of them at the same place.
		if (out->buf->len * special->per_megabyte / 1000000 + i % 2 > special->written + 1) {
			put(out, special->text);
			special->written++;
		}
	}
}

int corpus_generate(struct corpus *ret)
{
	struct corpus corpus = { .origin = "made by the bench" };
	struct writer out = { .buf = &corpus.bytes, .state = UINT64_C(0x5EED5EED5EED5EED) };
	int rc;

	while (corpus.bytes.len < SIZE && out.rc == 0) {
		size_t kind = pick(&out, 100);

		if (kind < 33)
			put_paragraph(&out);
		else if (kind < 50)
			put_list(&out);
		else if (kind < 70)
			put_code(&out);
		else if (kind < 73)
			put_table(&out);
		else
			put_heading(&out);
		put_specials(&out);
	}
	rc = out.rc < 0 ? out.rc : corpus_cut(&corpus);
	if (rc < 0) {
		corpus_release(&corpus);
		return rc;
	}
	*ret = corpus;
	return 0;
}
