/** The largest size of a package in a page: bytes, minified and compressed by gzip. */
export const SIZE_LIMITS = {
  // 13 KiB: requests, responses and streams, both ways between client and upstream
  // (docs/decisions/0013).
  '@gateway/translator': 13_312,
  '@gateway/translator/streams': 5_000,
  '@gateway/translator/native': 6_000,
  '@gateway/translator/reverse': 18_000,
  '@gateway/translator/mapping': 2_000,
  '@gateway/rate-limiter': 1_500,
  // Most of it is zod. The namespace import bundles only the used part; all of zod would make it 96
  // kB.
  '@gateway/billing': 31_000,
};
