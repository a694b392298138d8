// SPDX-License-Identifier: Apache-2.0
//
// What file names say. The tables are lower case; letter case of names does not matter.
#include "sanitize/classify_names.h"

#include <string.h>
#include <strings.h>

#include "sanitize/cleanup.h"

// clang-format off
// Extensions that are read as prose. Sorted.
static const char *const prose_extensions[] = {
	"adoc", "asciidoc", "markdown", "md", "mdc", "mdown", "mdx", "mkd", "mkdn", "rst", "text", "txt",
};

// Whole names that are. Sorted.
static const char *const prose_names[] = {
	"authors", "changelog", "changes", "contributing", "contributors", "copying", "copyright",
	"credits", "history", "install", "licence", "license", "licenses", "maintainers", "news", "notice",
	"patents", "readme", "security", "thanks", "todo", "unlicense", "version",
};

// Extensions of programs, data and markup; of dot files the name behind the dot. Sorted.
static const char *const code_extensions[] = {
	"abap", "ada", "adb", "ads", "apex", "arb", "asc", "asm", "astro", "avsc", "awk", "babelrc",
	"bash", "bash_aliases", "bash_logout", "bash_profile", "bashrc", "bat", "bazel", "bed", "bib",
	"bicep", "browserslistrc", "bru", "bst", "bzl", "c", "cairo", "cbl", "cc", "cfg", "cif", "cjs",
	"cl", "clang-format", "clang-tidy", "clj", "cljc", "cljs", "cls", "cmake", "cmd", "cob", "coffee",
	"conf", "config", "containerfile", "cpp", "cr", "cs", "csh", "csproj", "css", "csv", "csx", "cts",
	"cu", "cue", "curlrc", "cxx", "d", "dart", "ddl", "desktop", "dhall", "diff", "dockerfile",
	"dockerignore", "dot", "drawio", "dtd", "ebuild", "editorconfig", "edn", "eex", "ejs", "el", "elm",
	"emacs", "eml", "env", "envrc", "erb", "erl", "eslintignore", "eslintrc", "ex", "exp", "exs", "f",
	"f90", "f95", "fasta", "fastq", "feature", "fish", "flake8", "for", "frag", "fs", "fsi", "fsproj",
	"fsx", "gemfile", "gemspec", "geojson", "gff", "gitattributes", "gitconfig", "gitignore",
	"gitkeep", "gitmodules", "glsl", "go", "gotmpl", "gpx", "gql", "gradle", "graphql", "groovy",
	"gtf", "gv", "h", "hack", "haml", "handlebars", "har", "hbs", "hcl", "heex", "hh", "hlsl", "hpp",
	"hrl", "hs", "htaccess", "htm", "html", "http", "hxx", "ics", "ini", "inl", "inputrc", "ipp",
	"ipynb", "j2", "jade", "java", "jinja", "jinja2", "jl", "jmx", "js", "json", "json5", "jsonc",
	"jsonl", "jsonnet", "jsx", "kdl", "kml", "ksh", "kt", "kts", "leex", "less", "lhs", "libsonnet",
	"liquid", "lisp", "lock", "lrc", "ltx", "lua", "m", "mak", "makefile", "map", "mbox", "metal",
	"mjs", "mk", "ml", "mli", "mm", "mmcif", "mmd", "mod", "mol", "mol2", "mount", "move", "mplstyle",
	"mts", "mustache", "n3", "ndjson", "netrc", "newick", "nim", "ninja", "nix", "njk", "node-version",
	"npmignore", "npmrc", "nvmrc", "nwk", "odin", "owl", "p6", "pas", "patch", "pcss", "pdb", "pem",
	"php", "phtml", "pkgbuild", "pkl", "pl", "plantuml", "plist", "pm", "po", "pod", "policy",
	"prettierignore", "prettierrc", "prisma", "profile", "properties", "proto", "ps1", "psd1", "psm1",
	"psql", "psv", "pub", "pug", "puml", "pxd", "py", "pyi", "pylintrc", "pypirc", "python-version",
	"pyw", "pyx", "qasm", "qmd", "r", "rake", "raku", "rb", "rego", "rest", "resx", "rkt", "rmd",
	"rng", "robot", "rq", "rs", "ru", "ruby-version", "rules", "s", "sam", "sass", "sbt", "scala",
	"scm", "scss", "sdf", "sed", "service", "sh", "shtml", "slim", "sln", "smi", "socket", "sol",
	"sparql", "spec", "sql", "srt", "ss", "star", "sty", "styl", "stylelintrc", "sum", "sv", "svelte",
	"svg", "svh", "swift", "t", "target", "tcl", "tcsh", "tex", "tf", "tfvars", "thrift", "timer",
	"tmpl", "toml", "tool-versions", "tpl", "trigger", "ts", "tsv", "tsx", "ttl", "twig", "typ", "v",
	"vb", "vcf", "vert", "vhd", "vhdl", "vim", "vimrc", "vtt", "vue", "vy", "webmanifest", "wgetrc",
	"wgsl", "wsdl", "xhtml", "xml", "xsd", "xsl", "xslt", "xyz", "yaml", "yarnrc", "yml", "zig",
	"zprofile", "zsh", "zshenv", "zshrc",
};

// Whole names that are. Sorted.
static const char *const code_names[] = {
	"appfile", "berksfile", "brewfile", "build.bazel", "caddyfile", "capfile", "cartfile",
	"cmakelists.txt", "codeowners", "configure", "containerfile", "dangerfile", "dockerfile",
	"earthfile", "fastfile", "gemfile", "gnumakefile", "gradlew", "guardfile", "jenkinsfile",
	"justfile", "makefile", "mintfile", "mvnw", "pipfile", "podfile", "procfile", "rakefile",
	"sconscript", "sconstruct", "snakefile", "taskfile", "tiltfile", "vagrantfile",
};

// Names that begin like this: Dockerfile.dev, .env.local. Sorted.
static const char *const code_prefixes[] = {
	".env.", "containerfile.", "dockerfile.", "jenkinsfile.", "makefile.",
};

// Extensions that say nothing of the kind: config.yaml.example is what config.yaml is. Sorted.
static const char *const wrappers[] = {
	"backup", "bak", "default", "disabled", "dist", "example", "in", "local", "old", "orig", "rej",
	"sample", "save", "template",
};

// Archives: what is in them is not looked at. Sorted.
static const char *const archive_extensions[] = {
	"7z", "a", "aab", "apk", "ar", "arj", "asar", "br", "bz2", "cab", "cpio", "crx", "deb", "dmg",
	"docm", "docx", "dxt", "ear", "egg", "epub", "gz", "img", "ipa", "iso", "jar", "lz", "lz4", "lzh",
	"lzma", "mcpb", "nupkg", "odp", "ods", "odt", "pptm", "pptx", "pyz", "rar", "rpm", "skill",
	"squashfs", "tar", "taz", "tbz", "tbz2", "tgz", "txz", "tzst", "vsix", "war", "whl", "xlsm",
	"xlsx", "xpi", "xz", "z", "zip", "zst",
};
// clang-format on

static bool is_in(const char *const *table, size_t count, const char *word, size_t len)
{
	size_t low = 0, high = count, middle;
	int order;

	while (low < high) {
		middle = low + (high - low) / 2;
		order = strncasecmp(table[middle], word, len);
		if (order == 0 && table[middle][len] != '\0')
			order = 1;
		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

#define IS_IN(table, word, len) is_in(table, ARRAY_SIZE(table), word, len)

static bool has_prefix(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(code_prefixes); i++) {
		size_t prefix = strlen(code_prefixes[i]);

		if (len > prefix && strncasecmp(name, code_prefixes[i], prefix) == 0)
			return true;
	}
	return false;
}

// The bytes behind the last dot of name[0..len), or none.
static const char *extension(const char *name, size_t len, size_t *ret_len)
{
	const char *dot = memrchr(name, '.', len);

	if (dot == NULL)
		return NULL;
	*ret_len = len - (size_t)(dot + 1 - name);
	return dot + 1;
}

enum name_claim classify_name(const char *name)
{
	size_t len = strlen(name), ext_len;
	const char *ext;

	// Round by round without what an editor or a template put behind the name.
	for (int round = 0; round < 4 && len > 0; round++) {
		if (IS_IN(code_names, name, len) || has_prefix(name, len))
			return NAME_CODE;
		if (IS_IN(prose_names, name, len))
			return NAME_PROSE;
		ext = extension(name, len, &ext_len);
		if (ext != NULL && IS_IN(prose_extensions, ext, ext_len))
			return NAME_PROSE;
		if (ext != NULL && IS_IN(code_extensions, ext, ext_len))
			return NAME_CODE;
		if (name[len - 1] == '~')
			len--;
		else if (ext != NULL && IS_IN(wrappers, ext, ext_len))
			len -= ext_len + 1;
		else
			break;
	}
	return NAME_SAYS_NOTHING;
}

bool classify_name_is_archive(const char *name)
{
	size_t ext_len;
	const char *ext = extension(name, strlen(name), &ext_len);

	return ext != NULL && IS_IN(archive_extensions, ext, ext_len);
}

bool classify_is_skill_md(const char *name)
{
	return strcasecmp(name, "SKILL.md") == 0;
}
