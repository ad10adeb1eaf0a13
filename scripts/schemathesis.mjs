/**
 * Sends thousands of requests to a gateway. Schemathesis generates them from the gateway's OpenAPI
 * documents and looks for crashes and for answers that the documents do not describe. Needs Python
 * 3.10 or newer; the first run installs Schemathesis from PyPI.
 *
 *     npm run check:schemathesis -- 50    # examples for each endpoint; 15 by default
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureBuilt, ensureInstalled, node, root, run, step } from './setup.mjs';

const VERSION = '4.32.5';
const ADMIN_TOKEN = 'admin-token-of-schemathesis';
const ports = { client: 18_980, admin: 18_981 };
const examples = process.argv[2] ?? '15';

/**
 * Checks that are left out. Not every input that fits its schema is accepted, because a schema
 * cannot express that `until` must be after `from`, or that a key exists. And a request without the
 * required credential cannot be sent, because `--header` adds the credential to every request.
 */
const EXCLUDED = 'positive_data_acceptance,missing_required_header';
/** The log-in is limited by address, and the admin port does not believe `X-Forwarded-For`. */
const LEFT_OUT = ['logIn'];

ensureInstalled();
ensureBuilt();
const venv = join(root, 'node_modules', '.schemathesis', VERSION);
const schemathesis = join(venv, 'bin', 'schemathesis');
if (!existsSync(schemathesis)) {
  step(`Installing Schemathesis ${VERSION}`);
  run('python3', ['-m', 'venv', venv]);
  run(join(venv, 'bin', 'pip'), ['install', '--quiet', `schemathesis==${VERSION}`]);
}

const STRIPE = { secretKey: 'sk_test_of_schemathesis', webhookSecret: 'whsec_of_schemathesis' };
// Imported here, because it may have to be built first.
const { startStripeSimulator } = await import('../packages/payments/dist/testing/index.js');
const stripe = await startStripeSimulator(STRIPE);
const folder = mkdtempSync(join(tmpdir(), 'gateway-schemathesis-'));
const gateway = spawn(node, [join(root, 'apps/gateway/dist/main.js'), 'serve'], {
  stdio: 'ignore',
  env: {
    ...process.env,
    PORT: String(ports.client),
    ADMIN_PORT: String(ports.admin),
    DATA_DIR: folder,
    DATABASE_URL: '',
    REDIS_URL: '',
    UPSTREAM_API_KEY: '',
    UPSTREAM_URL: '',
    ADMIN_TOKEN,
    LOG_LEVEL: 'error',
    TRUST_PROXY: '1',
    PUBLIC_URL: `http://127.0.0.1:${ports.client}`,
    STRIPE_SECRET_KEY: STRIPE.secretKey,
    STRIPE_WEBHOOK_SECRET: STRIPE.webhookSecret,
    STRIPE_API_URL: stripe.url,
  },
});
let failures = 0;
try {
  await ready();
  const created = await fetch(`http://127.0.0.1:${ports.admin}/admin/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'schemathesis', balance_usd: '1000', scope: 'manage' }),
  });
  const credentials = { client: (await created.json()).api_key, admin: ADMIN_TOKEN };
  // The admin port is tested last, because its requests find the key and change it.
  for (const port of ['client', 'admin']) failures += await test(port, credentials[port]);
} finally {
  gateway.kill();
  await stripe.close();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(failures === 0 ? 0 : 1);

async function ready() {
  for (let attempt = 0; attempt < 120; attempt += 1) {
    const answer = await fetch(`http://127.0.0.1:${ports.admin}/readyz`).catch(() => undefined);
    if (answer?.ok) return;
    await sleep(250);
  }
  throw new Error('the gateway does not start');
}

async function test(port, credential) {
  step(`Testing the ${port} port`);
  const url = `http://127.0.0.1:${ports[port]}`;
  const args = ['run', `${url}/openapi.json`, '--url', url, '--no-color'];
  args.push('--header', `Authorization: Bearer ${credential}`, '--max-examples', examples);
  args.push('--phases', 'examples,coverage,fuzzing', '--exclude-checks', EXCLUDED);
  for (const id of LEFT_OUT) args.push('--exclude-operation-id', id);
  // Not `spawnSync`: the simulated Stripe answers in this process.
  const child = spawn(schemathesis, args, {
    stdio: 'inherit',
    cwd: folder,
    env: {
      ...process.env,
      PYTHONPATH: join(root, 'scripts'),
      SCHEMATHESIS_HOOKS: 'schemathesis_hooks',
    },
  });
  const [code] = await once(child, 'exit');
  return code === 0 ? 0 : 1;
}
