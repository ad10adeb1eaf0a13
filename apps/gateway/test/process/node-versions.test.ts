/**
 * The built gateway on the lowest Node that `engines` names and on the newest LTS. Both are
 * dependencies of the repository, so that the lockfile pins them.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, describe, expect, it } from '@jest/globals';
import { minVersion, satisfies } from 'semver';
import { lowestNode, projectNode } from '../../../../scripts/node-programs.cjs';
import { engines } from '../../package.json';
import { isSupportedNode } from '../../src/base/node-version.js';
import { MAIN, spawnGateway } from '../support/gateway-process.js';
import { postChat, postMessages, userMessage } from '../support/gateway.js';

/** No package has the lowest version for each platform. Without it, this Node is tested twice. */
const LOWEST = lowestNode ?? process.execPath;
const NEWEST_LTS = projectNode ?? process.execPath;
const MEBIBYTE = 2 ** 20;
const ENCODERS = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
};

const scratch = mkdtempSync(join(tmpdir(), 'gateway-node-versions-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function evaluate(node: string, expression: string): unknown {
  return JSON.parse(
    execFileSync(node, ['-p', `JSON.stringify(${expression})`], { encoding: 'utf8' }),
  );
}

describe('the versions of Node under test', () => {
  (lowestNode === undefined ? it.skip : it)(
    'include exactly the lowest version that engines admits',
    () => {
      expect(evaluate(LOWEST, 'process.versions.node')).toBe(minVersion(engines.node)!.version);
    },
  );

  it('include an LTS release that engines admits', () => {
    expect(evaluate(NEWEST_LTS, 'process.release.lts ?? null')).not.toBeNull();
    expect(satisfies(evaluate(NEWEST_LTS, 'process.versions.node') as string, engines.node)).toBe(
      true,
    );
  });
});

describe('isSupportedNode', () => {
  it.each([
    '16.20.2',
    '20.20.2',
    '22.9.0',
    '22.18.99',
    '22.19.0',
    '22.19.1',
    '22.100.0',
    '23.0.0',
    '23.99.0',
    '24.0.0',
    '24.21.0',
    '25.0.0',
    '100.0.0',
  ])('accepts or refuses %s as semver does', (version) => {
    expect(isSupportedNode(version, engines.node)).toBe(satisfies(version, engines.node));
  });

  it('refuses a range that it cannot read', () => {
    expect(() => isSupportedNode('22.19.0', '22.x')).toThrow('cannot read 22.x');
  });
});

describe.each([
  { name: 'the lowest Node', node: LOWEST },
  { name: 'the newest LTS', node: NEWEST_LTS },
])('the gateway on $name', ({ name, node }) => {
  it('serves plain, streamed, compressed and large requests, and stops on SIGTERM', async () => {
    // Without DATABASE_URL and UPSTREAM_API_KEY: the embedded ledger and the simulated upstream.
    const gateway = await spawnGateway({ DATA_DIR: join(scratch, name) }, node);
    const key = /Demo key: {2}(\S+)/.exec(gateway.output())![1]!;

    for (const [post, end, largeBytes] of [
      [postMessages, 'event: message_stop', 6 * MEBIBYTE],
      [postChat, 'data: [DONE]', 2 * MEBIBYTE],
    ] as const) {
      const text = async (body: unknown, headers?: Record<string, string>) => {
        const response = await post(gateway, key, body, headers);
        const answer = await response.text();
        expect({ status: response.status, answer }).toMatchObject({ status: 200 });
        return answer;
      };
      expect(JSON.parse(await text(userMessage('Hello')))).toHaveProperty('usage');
      expect(await text(userMessage('Hello', { stream: true }))).toContain(end);
      for (const [encoding, encode] of Object.entries(ENCODERS)) {
        const body = encode(JSON.stringify(userMessage('Hello')));
        expect(JSON.parse(await text(body, { 'content-encoding': encoding }))).toHaveProperty(
          'usage',
        );
      }
      // Larger than what the main thread prepares: this goes through the worker thread.
      expect(JSON.parse(await text(userMessage('a'.repeat(largeBytes))))).toHaveProperty('usage');
    }
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
    expect(metrics).toContain('gateway_');

    gateway.send('SIGTERM');
    expect(await gateway.exited).toBe(0);
    expect(gateway.output()).toContain('"stopped"');
    expect(gateway.errorOutput()).toBe('');
    // After a minute, it warns of models of the bundled list that retire soon.
    const warnings = gateway
      .output()
      .split('\n')
      .filter((line) => /"level":(40|50|60)/.test(line) && !line.includes('"retires_at"'));
    expect(warnings).toEqual([]);
  });

  it('runs the command line', () => {
    const run = (...args: string[]) =>
      spawnSync(node, [MAIN, ...args], {
        env: { PATH: process.env['PATH'], DATA_DIR: join(scratch, name) },
        encoding: 'utf8',
      });
    expect(run('ledger', 'audit')).toMatchObject({ status: 0, stderr: '' });
    expect(run('keys', 'list')).toMatchObject({ status: 0, stderr: '' });
  });
});
