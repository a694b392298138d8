#include "fs/snapshot.h"
#include "fs/mount.h"
#include "policy/resolve.h"
#include "sandbox/sandbox.h"
#include "sanitize/classify.h"
#include "sanitize/cleanup.h"
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#pragma GCC diagnostic ignored "-Wunused-parameter"
struct scanner { int x; };
const struct rule rules[] = { { "XML_SYSTEM_TAG", "xml_breakout", SEVERITY_CRITICAL, "System tag", "<system>", 0, 0 }, { "ENV_PRINTENV", "env_harvesting", SEVERITY_WARN, "printenv", "printenv", 0, 0 } };
const size_t rule_count = 2;
int scanner_new(const struct custom_rule *c, size_t n, struct scanner **ret, struct error *e) { *ret = calloc(1, 4); return 0; }
void scanner_free(struct scanner *s) { free(s); }
bool scanner_has_jit(const struct scanner *s) { return true; }
const char *scanner_ruleset(const struct scanner *s) { return "1+0123456789abcdef"; }
size_t scanner_rule_count(const struct scanner *s) { return 2; }
const struct rule *scanner_rule(const struct scanner *s, size_t i) { return &rules[i]; }
const char *severity_name(enum severity s) { return s == SEVERITY_CRITICAL ? "CRITICAL" : "WARN"; }
const char *stage_name(enum stage s) { return s ? "sanitized" : "raw"; }
const char *file_class_name(enum file_class s) { return s == 0 ? "prose" : s == 1 ? "code" : "binary"; }
const char *context_name(enum context s) { return "prose"; }
const char *notice_name(enum notice_code s) { return "NOTICE"; }
int file_class_parse(const char *t, enum file_class *r) { for (int i = 0; i < 3; i++) if (!strcmp(t, file_class_name((enum file_class)i))) { *r = (enum file_class)i; return 0; } return -EINVAL; }
const char *verdict_name(enum verdict v) { static const char *n[] = { "clean", "warn", "approved", "critical", "error" }; return n[v]; }
bool verdict_hides(enum verdict v) { return v >= VERDICT_CRITICAL; }
enum verdict verdict_decide(const struct config *c, const struct agent_config *a, struct report *r) { enum verdict v = 0; for (size_t i = 0; i < r->findings.count; i++) { enum verdict w = r->findings.items[i].severity == SEVERITY_CRITICAL && a->block_on_critical ? VERDICT_CRITICAL : VERDICT_WARN; if (w > v) v = w; } return v; }
bool classify_is_skill_md(const char *n) { return !strcasecmp(n, "SKILL.md"); }
int notices_add(struct notices *n, enum notice_code code, size_t count, size_t line, const char *d) { n->items = realloc(n->items, (n->count + 1) * sizeof *n->items); n->items[n->count++] = (struct notice){ code, count, line, d ? strdup(d) : NULL }; return 0; }
int inspect(const struct scanner *s, const struct inspect_options *o, const char *name, const char *d, size_t len, struct report *r) {
	*r = (struct report){ .verbatim = true, .cls = o->has_class ? o->cls : CLASS_PROSE }; r->stats.source_size = r->stats.size = len;
	for (int k = 0; k < 2; k++) for (const char *p = d, *q; (q = memmem(p, len - (size_t)(p - d), rules[k].pattern, strlen(rules[k].pattern))); p = q + 1) {
		size_t line = 1; for (const char *x = d; x < q; x++) line += *x == '\n';
		r->findings.items = realloc(r->findings.items, (r->findings.count + 1) * sizeof(struct finding));
		r->findings.items[r->findings.count++] = (struct finding){ &rules[k], rules[k].severity, strdup(rules[k].pattern), (size_t)(q - d), (size_t)(q - d), line, 0, 1, 0 }; }
	if (memmem(d, len, "<!--", 4)) notices_add(&r->notices, NOTICE_HTML_COMMENT, 1, 1, NULL);
	return 0; }
void report_release(struct report *r) { for (size_t i = 0; i < r->findings.count; i++) free(r->findings.items[i].matched_text); free(r->findings.items); for (size_t i = 0; i < r->notices.count; i++) free(r->notices.items[i].detail); free(r->notices.items); buf_release(&r->body); }
static struct agent_config agent = { .id = (char *)"default", .tool_policy = { .profile = (char *)"coding" }, .scanning_enabled = true, .block_on_critical = true, .max_body_length = 20000 };
int config_default(struct config **ret) { *ret = calloc(1, sizeof **ret); (*ret)->agents = &agent; (*ret)->agent_count = 1; (*ret)->mount.max_file_size = 1 << 26; return 0; }
int config_parse(const char *n, const char *t, size_t l, struct config **ret, struct error *e) { if (strstr(t, "bad")) return error_set(e, -EINVAL, "%s:1:1: unknown key 'bad'", n); config_default(ret); (*ret)->path = strdup(n); return 0; }
void config_free(struct config *c) { if (c) { free(c->path); free(c); } }
const struct agent_config *config_agent(const struct config *c, const char *id) { return strcmp(id, "default") ? NULL : &agent; }
int config_print(const struct config *c, struct buf *r) { return buf_append_string(r, "agents: {}\n"); }
int known_tools(const struct agent_config *a, struct strv *r) { return 0; }
int resolve_tools(const struct tool_policy *p, const struct strv *k, const struct skill_restriction *s, struct effective_tools *r) { *r = (struct effective_tools){ .excluded = NULL }; return 0; }
void effective_tools_release(struct effective_tools *e) { }
const char *exclusion_name(enum exclusion e) { return "not_in_profile"; }
int manifest_parse(const char *t, size_t l, struct manifest *m) { *m = (struct manifest){ 0 }; return 0; }
void manifest_release(struct manifest *m) { }
void strv_release(struct strv *s) { }
int sandbox_detect(struct sandbox_support *s) { *s = (struct sandbox_support){ .reason = strdup("no bwrap"), .hint = strdup("apt install bubblewrap") }; return 0; }
void sandbox_support_release(struct sandbox_support *s) { free(s->reason); free(s->hint); }
const char *sandbox_tier_name(enum sandbox_tier t) { return "none"; }
int mount_main(int c, char **v) { return 0; }
int umount_main(int c, char **v) { return 0; }

enum file_class classify(const char *n, const char *d, size_t l) { return 0; }
bool config_class(const struct config *c, const char *p, enum file_class *r) { return false; }
int strv_add(struct strv *s, const char *t) { return 0; }
