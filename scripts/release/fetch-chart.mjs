/**
 * Installs the chart into the cluster that `kubectl` is configured for, as a stranger does, and
 * asks the pods lines of the specification. Needs helm and kubectl. It is for an empty cluster: it
 * leaves what it makes.
 *
 *   node fetch-chart.mjs oci://<charts>/farthing 0.1.0 <image>
 */

import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { checkSpecification } from './specification-lines.mjs';

const [chart, version, image] = process.argv.slice(2);
const RELEASE = 'farthing';
const PASSWORD = randomBytes(16).toString('hex');
/** Not the port of a gateway on this machine. */
const PORT = '18080';
const DATABASE = `
apiVersion: v1
kind: Pod
metadata: { name: postgres, labels: { app: postgres } }
spec:
  containers:
    - name: postgres
      image: postgres:18
      env: [{ name: POSTGRES_PASSWORD, value: ${PASSWORD} }]
      readinessProbe: { exec: { command: [pg_isready, -U, postgres, -h, 127.0.0.1] } }
---
apiVersion: v1
kind: Service
metadata: { name: postgres }
spec: { selector: { app: postgres }, ports: [{ port: 5432 }] }
`;

const run = (program, args, input) =>
  execFileSync(program, args, {
    encoding: 'utf8',
    input,
    stdio: ['pipe', 'pipe', 'inherit'],
  }).trim();
const kubectl = (...args) => run('kubectl', args);

run('kubectl', ['apply', '--filename', '-'], DATABASE);
kubectl('wait', '--for=condition=Ready', 'pod/postgres', '--timeout=180s');
const secrets = {
  DATABASE_URL: `postgres://postgres:${PASSWORD}@postgres:5432/postgres`,
  KEY_PEPPER: randomBytes(32).toString('hex'),
  ADMIN_TOKEN: randomBytes(32).toString('hex'),
};
const literals = Object.entries(secrets).map(([name, value]) => `--from-literal=${name}=${value}`);
kubectl('create', 'secret', 'generic', 'farthing-secrets', ...literals);
// Without UPSTREAM_API_KEY, the simulator answers.
const values = ['existingSecret=farthing-secrets', `image.repository=${image}`];
const set = values.flatMap((value) => ['--set', value]);
const source = [chart, '--version', version, '--wait', '--timeout', '5m'];
run('helm', ['install', RELEASE, ...source, ...set]);
// One of its pods. The chart names it after the release, whose name contains that of the chart.
const pod = `deployment/${RELEASE}`;
const create = ['keys', 'create', '--name', 'alice', '--balance', '5', '--json'];
const made = kubectl('exec', pod, '--', 'node', '/app/dist/main.js', ...create);
const forward = spawn('kubectl', ['port-forward', pod, `${PORT}:8080`], { stdio: 'pipe' });
const ended = once(forward, 'exit');
try {
  await once(forward.stdout, 'data');
  const lines = await checkSpecification(`http://127.0.0.1:${PORT}`, JSON.parse(made).api_key);
  process.stdout.write(`  ${chart}: serves, and ${lines} lines of the specification hold\n`);
} finally {
  forward.kill();
  await ended;
}
