// SPDX-License-Identifier: Apache-2.0
//
// Which class a file is of. A name that claims text is believed, whatever the bytes are; where it claims
// nothing, or a binary format, the bytes decide: a picture's name does not keep text from being scanned.
#include "sanitize/classify.h"

#include <string.h>

#include "sanitize/classify_names.h"
#include "sanitize/cleanup.h"
#include "sanitize/utf8.h"

struct magic {
	size_t offset;
	size_t len;
	const char *bytes;
	bool archive;
};

#define MAGIC(offset, bytes)                                                                                 \
	{                                                                                                    \
		offset, sizeof(bytes) - 1, bytes, false                                                      \
	}
#define ARCHIVE(offset, bytes)                                                                               \
	{                                                                                                    \
		offset, sizeof(bytes) - 1, bytes, true                                                       \
	}

static const struct magic magics[] = {
	ARCHIVE(0, "PK\x03\x04"),   // ZIP and what is one inside
	ARCHIVE(0, "PK\x05\x06"),   // an empty one
	ARCHIVE(0, "PK\x07\x08"),   // a part of one
	ARCHIVE(0, "\x1F\x8B\x08"), // gzip
	ARCHIVE(0, "\x1F\x9D"),     // compress
	ARCHIVE(0, "BZh"),          // confirmed below
	ARCHIVE(0, "\xFD"
		   "7zXZ\0"),             // xz
	ARCHIVE(0, "\x28\xB5\x2F\xFD"),   // Zstandard
	ARCHIVE(0, "\x04\x22\x4D\x18"),   // LZ4
	ARCHIVE(0, "7z\xBC\xAF\x27\x1C"), // 7-Zip
	ARCHIVE(0, "Rar!\x1A\x07"),       // RAR
	ARCHIVE(0, "MSCF\0\0\0\0"),       // cabinet
	ARCHIVE(0, "!<arch>\n"),          // ar: libraries, .deb
	ARCHIVE(0, "\xED\xAB\xEE\xDB"),   // RPM
	ARCHIVE(0, "hsqs"),               // SquashFS
	ARCHIVE(257, "ustar"),            // tar
	ARCHIVE(32769, "CD001"),          // ISO 9660
	MAGIC(0, "\x7F"
		 "ELF"),
	MAGIC(0, "\xFE\xED\xFA\xCE"), // Mach-O, four spellings and the fat one
	MAGIC(0, "\xFE\xED\xFA\xCF"),
	MAGIC(0, "\xCE\xFA\xED\xFE"),
	MAGIC(0, "\xCF\xFA\xED\xFE"),
	MAGIC(0, "\xCA\xFE\xBA\xBE"), // and Java classes
	MAGIC(0, "\0asm"),            // WebAssembly
	MAGIC(0, "\x89PNG\r\n\x1A\n"),
	MAGIC(0, "\xFF\xD8\xFF"), // JPEG
	MAGIC(0, "GIF87a"),
	MAGIC(0, "GIF89a"),
	MAGIC(8, "WEBP"), // confirmed below, as the next two
	MAGIC(8, "WAVE"),
	MAGIC(8, "AVI "),
	MAGIC(0, "II*\0"), // TIFF
	MAGIC(0, "MM\0*"),
	MAGIC(0, "\0\0\x01\0"), // icon
	MAGIC(0, "8BPS\0\x01"), // Photoshop
	MAGIC(0, "%PDF-"),
	MAGIC(0, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), // old Office
	MAGIC(0, "\0\x01\0\0"),                       // TrueType
	MAGIC(0, "OTTO\0"),
	MAGIC(0, "ttcf\0"),
	MAGIC(0, "wOFF\0"),
	MAGIC(0, "wOF2\0"),
	MAGIC(0, "SQLite format 3\0"),
	MAGIC(0, "ID3\x02"), // MP3
	MAGIC(0, "ID3\x03"),
	MAGIC(0, "ID3\x04"),
	MAGIC(4, "ftyp"), // MP4; the length before it begins with a NUL
	MAGIC(0, "OggS\0"),
	MAGIC(0, "fLaC\0"),
	MAGIC(0, "\x1A\x45\xDF\xA3"), // Matroska
};

static const struct magic *find_magic(const char *data, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++) {
		const struct magic *magic = &magics[i];

		if (len < magic->offset + magic->len ||
		    memcmp(data + magic->offset, magic->bytes, magic->len) != 0)
			continue;
		// Four letters alone could be the beginning of a text.
		if (magic->offset == 8 && memcmp(data, "RIFF", 4) != 0)
			continue;
		if (magic->offset == 4 && data[0] != '\0')
			continue;
		if (magic->len == 3 && data[0] == 'B' && (len < 10 || memcmp(data + 4, "1AY&SY", 6) != 0))
			continue;
		return magic;
	}
	return NULL;
}

static bool is_portable_executable(const char *data, size_t len)
{
	return len >= 64 && data[0] == 'M' && data[1] == 'Z' && memchr(data, '\0', 64) != NULL;
}

// What no byte behind can change. PDF and ar begin with plain letters, but nobody writes them by accident.
static bool is_surely_binary(const char *data, size_t len)
{
	return find_magic(data, len) != NULL || is_portable_executable(data, len) ||
	       memchr(data, '\0', len) != NULL;
}

static bool looks_binary(const char *data, size_t len)
{
	if (is_surely_binary(data, len))
		return true;
	// Random bytes are no UTF-8 for nearly a half; a text of another age has a few such letters.
	return utf8_count_invalid(data, len) > len / 4;
}

static bool is_script(const char *data, size_t len)
{
	return len >= 2 && data[0] == '#' && data[1] == '!';
}

bool classify_is_binary_already(const char *name, const char *data, size_t len)
{
	return classify_name(name) == NAME_SAYS_NOTHING && !is_script(data, len) && len > 0 &&
	       is_surely_binary(data, len);
}

enum file_class classify(const char *name, const char *data, size_t len)
{
	switch (classify_name(name)) {
	case NAME_PROSE:
		return CLASS_PROSE;
	case NAME_CODE:
		return CLASS_CODE;
	case NAME_SAYS_NOTHING:
		break;
	}
	if (len == 0)
		return CLASS_PROSE;
	if (is_script(data, len))
		return CLASS_CODE;
	return looks_binary(data, len) ? CLASS_BINARY : CLASS_PROSE;
}

bool classify_is_archive(const char *name, const char *data, size_t len)
{
	const struct magic *magic;

	if (len == 0)
		return false;
	magic = find_magic(data, len);
	if (magic != NULL)
		return magic->archive;
	return classify_name_is_archive(name) && looks_binary(data, len);
}

#define SAMPLE 4096

static bool is_text_byte(char byte)
{
	return (byte >= 0x20 && byte < 0x7F) || byte == '\n' || byte == '\r' || byte == '\t';
}

bool classify_hides_text(const char *data, size_t len)
{
	size_t sample = len < SAMPLE ? len : SAMPLE, text = 0, nul = 0;

	if (len >= 2 && (memcmp(data, "\xFF\xFE", 2) == 0 || memcmp(data, "\xFE\xFF", 2) == 0))
		return true;
	for (size_t i = 0, width; i < sample; i += width) {
		uint32_t character;

		width = utf8_decode(data + i, len - i, &character);
		if (character < 0x80) {
			text += is_text_byte(data[i]);
			nul += data[i] == '\0';
		} else if (character != UTF8_INVALID) {
			text += width;
		}
	}
	// Wide characters are letters between NULs.
	return text + nul >= sample - sample / 10 && text >= sample / 5;
}
