/** The files of the pages, as a browser gets them from either port. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { loadPage } from '../../src/http/pages/page-files.js';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const FOREVER = 'public, max-age=31536000, immutable';

const folder = mkdtempSync(join(tmpdir(), 'gateway-pages-'));

function write(path: string, text: string): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  writeFileSync(`${file}.br`, brotliCompressSync(text));
  writeFileSync(`${file}.gz`, gzipSync(text));
}

const htmlOf = (name: string): string => `<!doctype html><title>${name}</title>`;
for (const name of ['customer', 'console']) {
  write(`${name}/index.html`, htmlOf(name));
  write(`${name}/assets/app-1a2b3c.js`, `console.log('${name}')`);
  writeFileSync(join(folder, name, 'assets', 'plain-4d5e6f.css'), 'body{}');
}
writeFileSync(join(folder, 'secret.txt'), 'not a file of a page');

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ env: { PAGES_DIR: folder } });
});
afterAll(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true });
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/**
 * Sends the path as written. `fetch` would normalize the path, decode the body and follow
 * redirects.
 */
function get(
  base: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<Answer> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    request({ host: hostname, port, path, headers, method }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('end', () => {
        resolve({
          status: res.statusCode ?? 0,
          headers: res.headers,
          bytes: Buffer.concat(chunks),
        });
      });
    })
      .on('error', reject)
      .end();
  });
}

const ports = () =>
  [
    [gateway.url, '/dashboard', 'customer'],
    [gateway.adminUrl, '/console', 'console'],
  ] as const;

describe('a page', () => {
  it('is where browsers that ask for / are redirected; other clients are not', async () => {
    for (const [base, prefix] of ports()) {
      const browser = await get(base, '/', { accept: BROWSER });
      expect(browser.status).toBe(302);
      expect(browser.headers.vary).toMatch(/accept/i);
      const target = new URL(browser.headers.location ?? '', `${base}/`);
      expect(target.href).toBe(`${base}${prefix}/`);
      expect((await get(base, prefix)).headers.location).toBe(`${prefix.slice(1)}/`);
    }
    for (const accept of ['*/*', 'application/json', undefined]) {
      const program = await get(gateway.url, '/', accept === undefined ? {} : { accept });
      expect(program.status).toBe(200);
      expect(JSON.parse(program.bytes.toString())).toMatchObject({ name: 'Farthing' });
    }
  });

  it('is revalidated each time, and sent again only if it has changed', async () => {
    for (const [base, prefix, name] of ports()) {
      const page = await get(base, `${prefix}/?tab=1`);
      expect(page.status).toBe(200);
      expect(page.bytes.toString()).toBe(htmlOf(name));
      expect(page.headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
      });
      const etag = page.headers.etag ?? '';
      const again = await get(base, `${prefix}/`, { 'if-none-match': `"other", ${etag}` });
      expect([again.status, again.bytes.length]).toEqual([304, 0]);
      expect((await get(base, `${prefix}/`, { 'if-none-match': '"other"' })).status).toBe(200);
    }
  });

  it('has files that are cached forever, in Brotli if the browser accepts it, or else in gzip or plain', async () => {
    const decode = { br: brotliDecompressSync, gzip: gunzipSync } as const;
    for (const [base, prefix, name] of ports()) {
      const path = `${prefix}/assets/app-1a2b3c.js`;
      for (const [accepted, coding] of [
        ['gzip, deflate, br, zstd', 'br'],
        ['gzip', 'gzip'],
        ['br;q=0, gzip;q=0.5', 'gzip'],
        ['identity', undefined],
        ['br;q=0, gzip;q=0', undefined],
        ['', undefined],
      ] as const) {
        const file = await get(base, path, { 'accept-encoding': accepted });
        expect(file.status).toBe(200);
        expect(file.headers['content-encoding']).toBe(coding);
        expect(file.headers['cache-control']).toBe(FOREVER);
        expect(file.headers['content-type']).toBe('text/javascript; charset=utf-8');
        expect(file.headers.vary).toMatch(/accept-encoding/i);
        expect(Number(file.headers['content-length'])).toBe(file.bytes.length);
        const text = coding === undefined ? file.bytes : decode[coding](file.bytes);
        expect(text.toString()).toBe(`console.log('${name}')`);
      }
      const head = await get(base, path, {}, 'HEAD');
      expect([head.status, head.bytes.length]).toEqual([200, 0]);
      // There is no compressed copy of this file.
      const plain = await get(base, `${prefix}/assets/plain-4d5e6f.css`, {
        'accept-encoding': 'br',
      });
      expect(plain.headers['content-encoding']).toBe(undefined);
      expect(plain.bytes.toString()).toBe('body{}');
    }
  });

  it('may load nothing from elsewhere, nor be framed, nor turn text into code', async () => {
    for (const [base, prefix] of ports()) {
      for (const path of [`${prefix}/`, `${prefix}/assets/app-1a2b3c.js`]) {
        const { headers } = await get(base, path);
        const policy = String(headers['content-security-policy']);
        const rules = new Map(
          policy.split('; ').map((rule) => {
            const [name = '', ...values] = rule.split(' ');
            return [name, values.join(' ')];
          }),
        );
        expect(Object.fromEntries(rules)).toEqual({
          'default-src': "'none'",
          'script-src': "'self'",
          'style-src': "'self'",
          'img-src': "'self' data:",
          'connect-src': "'self'",
          'base-uri': "'none'",
          'form-action': "'none'",
          'frame-ancestors': "'none'",
          'require-trusted-types-for': "'script'",
          'trusted-types': "'none'",
        });
        expect(headers).toMatchObject({
          'x-content-type-options': 'nosniff',
          'referrer-policy': 'no-referrer',
          'cross-origin-opener-policy': 'same-origin',
          'cross-origin-resource-policy': 'same-origin',
        });
      }
    }
  });

  it('gives access to no other file', async () => {
    for (const [base, prefix] of ports()) {
      for (const path of [
        '/secret.txt',
        '/../secret.txt',
        '/%2e%2e/secret.txt',
        '/..%2fsecret.txt',
        '/assets/../index.html',
        '/index.html',
        '/assets',
        '/assets/',
        '/assets/app-1a2b3c.js.br',
        '/assets/app-1a2b3c.js/',
        '/__proto__',
        '/assets/%61pp-1a2b3c.js',
        '//',
      ]) {
        const refused = await get(base, prefix + path, { accept: BROWSER });
        expect([path, refused.status]).toEqual([path, 404]);
        expect(refused.headers['content-type']).toBe('application/json');
      }
      expect((await get(base, `${prefix}/`, {}, 'POST')).status).toBe(404);
    }
    expect((await get(gateway.url, '/console/')).status).toBe(404);
    expect((await get(gateway.adminUrl, '/dashboard/')).status).toBe(404);
  });

  it('can be switched off; a folder without it is refused, naming PAGES_DIR', async () => {
    const without = await startTestGateway({ env: { PAGES_DIR: 'none' } });
    try {
      for (const [base, path] of [
        [without.url, '/dashboard/'],
        [without.adminUrl, '/console/'],
      ] as const) {
        expect((await get(base, path)).status).toBe(404);
      }
      expect((await get(without.url, '/', { accept: BROWSER })).status).toBe(200);
    } finally {
      await without.stop();
    }
    const log = pino({ level: 'silent' });
    expect(() => loadPage('customer', join(folder, 'none'), log)).toThrow(
      /PAGES_DIR: has no customer\/index\.html/,
    );
  });
});
