// SPDX-License-Identifier: Apache-2.0
#include "engines.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>

#include <string>

struct icu_nfkc {
	const icu::Normalizer2 *normalizer;
	std::string result;
};

struct icu_nfkc *icu_nfkc_new(void)
{
	UErrorCode status = U_ZERO_ERROR;
	const icu::Normalizer2 *normalizer = icu::Normalizer2::getNFKCInstance(status);

	return U_FAILURE(status) ? nullptr : new icu_nfkc{ normalizer, std::string() };
}

int icu_nfkc_normalize(struct icu_nfkc *nfkc, const char *text, size_t len, const char **ret, size_t *ret_len)
{
	UErrorCode status = U_ZERO_ERROR;
	icu::StringByteSink<std::string> sink(&nfkc->result);

	nfkc->result.clear();
	nfkc->normalizer->normalizeUTF8(0, icu::StringPiece(text, static_cast<int32_t>(len)), sink, nullptr,
					status);
	*ret = nfkc->result.data();
	*ret_len = nfkc->result.size();
	return U_FAILURE(status) ? -1 : 0;
}
