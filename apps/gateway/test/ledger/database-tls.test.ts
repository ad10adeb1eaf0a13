/** What `sslmode` in DATABASE_URL does, with a server that speaks only the first messages. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { checkPostgresServer } from '@gateway/balance-store/postgres';
import { makeCertificate } from '../support/certificate.js';

/** The client's first message: may we go on in TLS? */
const MAY_WE_ENCRYPT = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const scratch = mkdtempSync(join(tmpdir(), 'database-tls-'));
const authority = join(scratch, 'authority.pem');

let server: Server;
let url: string;
let inPlain: Buffer[];
let inTls: Buffer[];

beforeAll(async () => {
  const { key, cert } = makeCertificate();
  writeFileSync(authority, cert);
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (bytes) => {
      inPlain.push(bytes);
      socket.write('S');
      const encrypted = new TLSSocket(socket, { isServer: true, key, cert });
      encrypted.on('error', () => undefined);
      encrypted.once('data', (start) => {
        inTls.push(start);
        encrypted.destroy();
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const { port } = server.address() as AddressInfo;
  url = `postgres://gateway:the-password@localhost:${String(port)}/ledger?sslmode=verify-full`;
});
beforeEach(() => {
  inPlain = [];
  inTls = [];
});
afterAll(async () => {
  rmSync(scratch, { recursive: true, force: true });
  await new Promise((resolve) => server.close(resolve));
});

// F469: somebody between the gateway and PostgreSQL: with sslmode=verify-full, nothing is sent to a
// server whose certificate no trusted authority has signed.
it('a server without a trusted certificate gets no name, and no password', async () => {
  await expect(checkPostgresServer(url)).rejects.toThrow(/self-signed certificate/);
  expect(inPlain.every((bytes) => bytes.equals(MAY_WE_ENCRYPT))).toBe(true);
  expect(inPlain.length).toBeGreaterThan(0);
  expect(inTls).toEqual([]);
});

it('a server whose authority the address names gets both in TLS only', async () => {
  await expect(checkPostgresServer(`${url}&sslrootcert=${authority}`)).rejects.toThrow();
  expect(inPlain.every((bytes) => bytes.equals(MAY_WE_ENCRYPT))).toBe(true);
  expect(inTls[0]!.toString('latin1')).toContain('user\0gateway\0database\0ledger');
});
