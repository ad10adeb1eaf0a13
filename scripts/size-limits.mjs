/** The most bytes that a package may add to a web page, minified and compressed by gzip. */
export const SIZE_LIMITS = {
  // 20 KiB, for the requests, responses and streams of a chat client in front of the native
  // upstream (docs/decisions/0013 and 0026).
  '@gateway/translator': 20_480,
  '@gateway/translator/models': 1_000,
  '@gateway/translator/features': 3_600,
  '@gateway/translator/errors': 1_200,
  '@gateway/translator/streams': 7_600,
  '@gateway/translator/native': 8_200,
  '@gateway/translator/reverse': 18_000,
  // 28 KiB, because it also translates searches, citations (docs/decisions/0026) and the tools that
  // clients run: their schemas and the way back (docs/decisions/0062).
  '@gateway/translator/responses': 28_672,
  '@gateway/translator/mapping': 2_000,
  '@gateway/rate-limiter': 1_750,
  // Most of it is zod. The namespace import bundles only the used part; all of zod would make it 96
  // kB.
  '@gateway/billing': 31_000,
};

/** The largest size of a page with all of its files, in bytes compressed by gzip. */
export const PAGE_LIMITS = { customer: 60_000, console: 120_000 };
