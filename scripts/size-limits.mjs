/**
 * What a bundle for a browser or a Worker may take, in bytes, minified and compressed by gzip.
 * Without a limit, the size is only reported.
 *
 * @type {readonly { name: string, source: string, limit?: number }[]}
 */
export const BUNDLES = [
  {
    name: 'chat requests and streams',
    source: "export { createChatStream, translateRequest } from '@gateway/translator'",
    // 3 % above what it takes (docs/decisions/0073). Raise it rather than write a feature shorter
    // than it reads well.
    limit: 27_750,
  },
  ...['', '/fetch', '/objects', '/native'].map((entry) => whole(`@gateway/translator${entry}`)),
  { ...whole('@gateway/rate-limiter'), limit: 1_750 },
  {
    name: 'one charge',
    source:
      "export { chargeOf, formatUsd, parseUsd, readRates, SPECIFIED_FACTORS } from '@gateway/billing'",
    limit: 3_570,
  },
  // Most of it is zod. The namespace import bundles only the used part; all of zod would make it 96
  // kB.
  { ...whole('@gateway/billing'), limit: 37_570 },
];

function whole(name) {
  return { name, source: `export * from '${name}'` };
}

/** The largest size of a page with all of its files, in bytes compressed by Brotli. */
export const PAGE_LIMITS = { customer: 63_000, console: 70_000 };

/**
 * The largest size of the server's tarball, in bytes: what `npx farthing` downloads of its own.
 * 240 kB of it are the clouds' libraries (docs/decisions/0125).
 */
export const SERVER_LIMIT = 1_120_000;
