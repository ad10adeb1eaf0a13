/** What follows from the table of variables. */

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { readConfig, readEnvironment } from '../../src/config/config.js';
import { exampleFile, givenValues, unknownVariables } from '../../src/config/describe-variables.js';
import { BY_NAME, RETIRED } from '../../src/config/variables.js';

const NAMES = [...BY_NAME.keys()];

describe('the example file', () => {
  it('is .env.example: npm run -s farthing -- config > .env.example', () => {
    expect(readFileSync(join(__dirname, '../../../../.env.example'), 'utf8')).toBe(exampleFile());
  });

  it('sets every variable to its default', () => {
    const example = parseEnv(exampleFile());
    expect(Object.keys(example).sort()).toEqual([...NAMES].sort());
    expect(readConfig(example)).toEqual({ ...readConfig({}), env: example });
  });

  it('describes every variable, or the one before it on the next line does', () => {
    const described = exampleFile().split('\n\n').slice(1);
    expect(described.filter((group) => !group.startsWith('# '))).toEqual([]);
  });

  it('begins with the twelve that most gateways set, and ends with those for tests and proxies', () => {
    const sections = exampleFile().split(/^# --- .* ---$/m);
    const inEach = sections.map((text) => Object.keys(parseEnv(text)).length);
    expect(inEach).toEqual([0, 12, NAMES.length - 15, 3]);
  });
});

describe('the values that are given', () => {
  it('are listed with their origin, and secrets are masked', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'variables-')), 'env');
    writeFileSync(file, 'PORT=9000\nMETRICS_TOKEN=a-secret-of-the-file\n');
    const env = { ENV_FILE: file, PORT: '9001', ADMIN_TOKEN: 'a-secret-of-the-process' };
    expect(givenValues(env, readEnvironment(env))).toEqual([
      'PORT=9001  (environment)',
      'ADMIN_TOKEN=(secret)  (environment)',
      `ENV_FILE=${file}  (environment)`,
      'METRICS_TOKEN=(secret)  (ENV_FILE)',
    ]);
  });

  it('show no variable whose name says that it is a secret, or whose address may contain one', () => {
    const env = Object.fromEntries(NAMES.map((name) => [name, 'shown']));
    const shown = givenValues(env, env).filter((line) => line.includes('=shown'));
    const secrets =
      /TOKEN|SECRET|_KEY=|PEPPER|HEADERS=|DATABASE_URL|REDIS_URL|PROXY=|OTLP.*ENDPOINT/;
    expect(shown.length).toBeGreaterThan(40);
    expect(shown.filter((line) => secrets.test(line))).toEqual([
      'TRUST_PROXY=shown  (environment)',
      'NO_PROXY=shown  (environment)',
      'SAME_KEY_IN_BOTH_HEADERS=shown  (environment)',
    ]);
  });
});

// F456
describe('a retired variable', () => {
  it.each([...RETIRED])('is named, with what applies in its place: %s', (name, inItsPlace) => {
    expect(BY_NAME.has(name)).toBe(false);
    expect(unknownVariables({ [name]: '7' })).toEqual([
      `${name}: is no longer a variable of the gateway; ${inItsPlace}`,
    ]);
  });
});

describe('a misspelt variable', () => {
  it.each(NAMES.filter((name) => name.length > 6))(
    'is found in %s with a letter too few, doubled or changed',
    (name) => {
      for (const at of [1, Math.floor(name.length / 2)]) {
        const forms = [
          name.slice(0, at) + name.slice(at + 1),
          name.slice(0, at) + name.slice(at - 1),
          `${name.slice(0, at)}Q${name.slice(at + 1)}`,
        ].filter((form) => !BY_NAME.has(form));
        for (const form of forms) {
          const [found = ''] = unknownVariables({ [form]: 'a-value' });
          const named = found.replace(`${form}: is not a variable of the gateway; `, '');
          // HTTPP_PROXY is as close to HTTPS_PROXY as to HTTP_PROXY.
          const alike = [name, name.replace('HTTP_', 'HTTPS_'), name.replace('HTTPS_', 'HTTP_')];
          expect(alike.map((each) => `${each} is`)).toContain(named);
        }
      }
    },
  );

  it('is found if a word is missing', () => {
    expect(unknownVariables({ UPSTREAM_KEY: 'k' })).toEqual([
      'UPSTREAM_KEY: is not a variable of the gateway; UPSTREAM_API_KEY is',
    ]);
  });

  it('is not found among the variables of other programs', () => {
    const others =
      'PATH HOME HOSTNAME TERM SHELL USER PWD LANG TZ NODE_ENV NODE_OPTIONS NODE_EXTRA_CA_CERTS ' +
      'REDIS_PORT REDIS_SERVICE_HOST REDIS_PORT_6379_TCP DATABASE_SERVICE_HOST POSTGRES_PASSWORD ' +
      'KUBERNETES_PORT KUBERNETES_SERVICE_HOST LOG_DIR HTTP_HOST DATA_SOURCE KEY_ID PUBLIC_IP ' +
      'ACCOUNT_ID STRIPE_ACCOUNT WEBHOOK_PATH OTEL_LOG_LEVEL OTEL_PROPAGATORS npm_config_cache';
    expect(unknownVariables(Object.fromEntries(others.split(' ').map((n) => [n, 'x'])))).toEqual(
      [],
    );
  });
});
