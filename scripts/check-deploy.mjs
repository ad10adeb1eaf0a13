/**
 * `npm run check:deploy`: checks the files of `deploy/` with the tools for their formats, without a
 * container engine or a cluster. It also makes the production install that the image contains, and
 * starts the gateway from it as the image would.
 *
 * The image itself is built and run by `check-image.mjs`, which needs a container engine.
 */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { deployTool } from './deploy-tools.mjs';
import { freePort } from './free-port.cjs';
import { chartFolder } from './release/chart.mjs';
import { node, output, pnpm, root } from './setup.mjs';

/** Values that turn each feature of the chart on, and values that turn each off. */
const CHART_VALUES = [
  ['existingSecret=farthing'],
  [
    'existingSecret=farthing',
    'autoscaling.enabled=true',
    'ingress.enabled=true',
    'ingress.tlsSecret=tls',
    'ingress.className=nginx',
    'service.type=LoadBalancer',
    `image.digest=sha256:${'0'.repeat(64)}`,
    'networkPolicy.adminFrom[0].namespaceSelector.matchLabels.name=monitoring',
    'env.OVERDRAFT=none',
    'priceTable=prices',
    'env.MAIL_FROM=gateway@mail.example',
    'env.WEBHOOK_URL=https://receiver.example:8443/events',
    'env.OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318',
    'env.PUBLIC_URL=https://gateway.example:9443',
  ],
  [
    'existingSecret=farthing',
    'migration.enabled=false',
    'disruptionBudget.enabled=false',
    'networkPolicy.enabled=false',
  ],
];
/** The oldest version that the chart admits, and the newest whose schemas are available. */
const KUBERNETES = ['1.30', '1.37'];

/** What is in the install. */
const DEPLOYED = [
  'dist',
  'node_modules',
  'package.json',
  'CHANGELOG.md',
  'LICENSE',
  'NOTICE',
  'README.md',
];

const deploy = join(root, 'deploy');
const scratch = mkdtempSync(join(tmpdir(), 'gateway-deploy-'));
const checks = {
  'Dockerfile: hadolint': checkDockerfile,
  'Dockerfile: the installed gateway starts, and its health check works': checkInstall,
  'compose files: the loader of Docker Compose': checkCompose,
  'Caddyfile: caddy': checkCaddyfile,
  'nginx: nginx -t': checkNginx,
  'haproxy: haproxy -c': checkHaproxy,
  'chart: helm lint, and Kubernetes schemas of the oldest and newest version': checkChart,
  'systemd unit: systemd-analyze': checkUnit,
  'Prometheus rules: promtool, a test for each alert': checkRules,
  'Grafana dashboard: its queries parse': checkDashboard,
};
const failed = [];
for (const [name, check] of Object.entries(checks)) {
  try {
    const remark = await check();
    process.stdout.write(`ok    ${name}${remark === undefined ? '' : ` (${remark})`}\n`);
  } catch (error) {
    failed.push(name);
    process.stdout.write(`FAIL  ${name}\n${error instanceof Error ? error.message : error}\n`);
  }
}
rmSync(scratch, { recursive: true, force: true });
process.exitCode = failed.length === 0 ? 0 : 1;

function checkDockerfile() {
  output(deployTool('hadolint'), [join(deploy, 'Dockerfile')]);
}

/**
 * Installs as the build stage does (`pnpm deploy`), and starts and checks as the final stage does.
 */
async function checkInstall() {
  const app = join(scratch, 'app');
  pnpm('--filter', 'farthing', 'deploy', '--prod', '--legacy', app);
  const extra = readdirSync(app).filter((name) => !DEPLOYED.includes(name));
  if (extra.length > 0) throw new Error(`the install contains ${extra.join(', ')}`);
  const dockerfile = readFileSync(join(deploy, 'Dockerfile'), 'utf8');
  const [, health] = /HEALTHCHECK [^\n]*\\\n\s*CMD (\[.*\])/.exec(dockerfile) ?? [];
  if (health === undefined) throw new Error('the Dockerfile has no HEALTHCHECK');
  const [, ...healthArgs] = JSON.parse(health);
  const port = String(await freePort());
  const env = {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    PORT: port,
    ADMIN_PORT: '0',
    DATA_DIR: join(scratch, 'data'),
    LOG_LEVEL: 'silent',
  };
  const isHealthy = () => spawnSync(node, healthArgs, { env }).status === 0;
  if (isHealthy()) throw new Error('the health check passes without a gateway');
  const gateway = spawn(node, [join(app, 'dist/main.js'), 'serve'], { env, stdio: 'pipe' });
  let printed = '';
  const exited = new Promise((resolve) => gateway.once('exit', resolve));
  const ready = new Promise((resolve) => {
    for (const stream of [gateway.stdout, gateway.stderr]) {
      stream.on('data', (bytes) => {
        printed += bytes;
        if (printed.includes('Farthing is ready')) resolve('ready');
      });
    }
  });
  try {
    if ((await Promise.race([ready, exited])) !== 'ready') throw new Error(printed);
    if (!isHealthy()) throw new Error('the health check fails');
    gateway.kill('SIGTERM');
    const code = await exited;
    if (code !== 0) throw new Error(`the gateway ended with ${code}`);
  } finally {
    gateway.kill('SIGKILL');
  }
}

/**
 * Loads each file twice: once without filling in variables, to check the schema without secrets,
 * and once filling them in, to see that missing secrets are refused.
 */
function checkCompose() {
  for (const file of ['compose.yaml', 'compose.replicas.yaml']) {
    const path = join(deploy, file);
    output(deployTool('compose'), ['-no-interpolation', path]);
    // If secrets are missing, the loader must refuse the file instead of filling in empty values.
    const { status, stderr } = spawnSync(deployTool('compose'), [path], { encoding: 'utf8' });
    if (status === 0 || !stderr.includes('set it')) {
      throw new Error(`${file} accepts missing secrets: ${stderr}`);
    }
  }
}

function checkCaddyfile() {
  const file = join(deploy, 'Caddyfile');
  const env = { ...process.env, SITE: 'localhost', HOME: scratch };
  output(deployTool('caddy'), ['validate', '--adapter', 'caddyfile', '--config', file], { env });
  output(deployTool('caddy'), ['fmt', '--diff', file], { env });
}

/** Names of servers that this machine cannot look up, and the key that a proxy needs for TLS. */
function proxyFile(path, replacements) {
  const key = join(scratch, 'tls.key');
  const certificate = join(scratch, 'tls.crt');
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost'];
  output('openssl', [...request, '-keyout', key, '-out', certificate]);
  const both = join(scratch, 'tls.pem');
  writeFileSync(both, readFileSync(certificate, 'utf8') + readFileSync(key, 'utf8'));
  let text = readFileSync(join(deploy, path), 'utf8').replace(
    /\bgateway-[12]:8080/g,
    '127.0.0.1:8080',
  );
  for (const [from, to] of replacements({ key, certificate, both }))
    text = text.replaceAll(from, to);
  return text;
}

function checkNginx() {
  const conf = proxyFile('nginx/gateway.conf', ({ key, certificate }) => [
    ['/etc/nginx/tls/gateway.key', key],
    ['/etc/nginx/tls/gateway.crt', certificate],
  ]);
  const file = join(scratch, 'nginx.conf');
  const pid = join(scratch, 'nginx.pid');
  writeFileSync(file, `pid ${pid};\nevents {}\nhttp {\naccess_log off;\n${conf}}\n`);
  output(deployTool('nginx'), ['-t', '-q', '-p', scratch, '-c', file]);
}

function checkHaproxy() {
  const conf = proxyFile('haproxy/haproxy.cfg', ({ both }) => [['/etc/haproxy/gateway.pem', both]]);
  const file = join(scratch, 'haproxy.cfg');
  writeFileSync(file, conf);
  output(deployTool('haproxy'), ['-c', '-q', '-f', file]);
}

function checkChart() {
  const helm = deployTool('helm');
  const chart = chartFolder();
  const env = { ...process.env, HELM_CACHE_HOME: scratch, HELM_CONFIG_HOME: scratch };
  for (const values of CHART_VALUES) {
    const set = values.flatMap((value) => ['--set', value]);
    for (const version of KUBERNETES) {
      const kube = ['--kube-version', `${version}.0`];
      output(helm, ['lint', '--strict', chart, ...kube, ...set], { env });
      const manifests = output(helm, ['template', 'test', chart, ...kube, ...set], { env });
      const file = join(scratch, `chart-${version}.yaml`);
      writeFileSync(file, manifests);
      output(deployTool('kubernetes-validate'), ['--strict', '-k', version, file]);
      checkVariables(values, manifests);
      checkEgress(values, manifests);
    }
  }
  checkFormerName(helm, chart, env);
  const { status, stderr } = spawnSync(
    helm,
    ['template', 'test', chart, '--kube-version', `${KUBERNETES[1]}.0`],
    { env, encoding: 'utf8' },
  );
  if (status === 0 || !stderr.includes('existingSecret')) {
    throw new Error(`the chart accepts a missing secret: ${stderr}`);
  }
}

/**
 * A release of the chart that was named gateway keeps the names and selectors of its objects: a
 * Deployment's selector cannot be changed, and clients use the name of the Service.
 */
function checkFormerName(helm, chart, env) {
  const set = ['--set', 'existingSecret=gateway', '--set', 'nameOverride=gateway'];
  for (const [release, name] of [
    ['gateway', 'gateway'],
    ['shop', 'shop-gateway'],
  ]) {
    const kube = ['--kube-version', `${KUBERNETES[1]}.0`];
    const manifests = output(helm, ['template', release, chart, ...kube, ...set], { env });
    const objects = parseAllDocuments(manifests).map((document) => document.toJS());
    const names = [...new Set(objects.map(({ metadata }) => metadata.name))].sort();
    const selectors = objects.flatMap(({ spec = {} }) => [
      ...(spec.selector === undefined ? [] : [spec.selector.matchLabels ?? spec.selector]),
      ...(spec.podSelector === undefined ? [] : [spec.podSelector.matchLabels]),
    ]);
    const selectorOf = (app) =>
      JSON.stringify({ 'app.kubernetes.io/name': app, 'app.kubernetes.io/instance': release });
    assert.deepEqual(names, [name, `${name}-admin`, `${name}-migrate`]);
    assert.deepEqual(
      new Set(selectors.map((selector) => JSON.stringify(selector))),
      new Set(['gateway', 'gateway-migrate'].map(selectorOf)),
    );
  }
}

/**
 * Without `DATABASE_URL`, pods lose the ledger. Without `TRUST_PROXY` behind an ingress, all
 * clients count as one address in the limits per client address.
 */
function checkVariables(values, manifests) {
  const count = (text) => manifests.split(text).length - 1;
  const containers = values.includes('migration.enabled=false') ? 1 : 2;
  if (count('key: DATABASE_URL }') !== containers) throw new Error('DATABASE_URL is not required');
  const isBehindIngress = values.includes('ingress.enabled=true');
  if (count('{ name: TRUST_PROXY, value: "1" }') !== Number(isBehindIngress)) {
    throw new Error('TRUST_PROXY does not follow the ingress');
  }
}

/** What is configured must get out: mail, and addresses with ports of their own. */
function checkEgress(values, manifests) {
  const expected = values.includes('env.MAIL_FROM=gateway@mail.example')
    ? ['4318', '465', '587', '8443']
    : [];
  const known = ['53', '443', '5432', '6379'];
  const ports = [...manifests.matchAll(/\bport: (\d+)(?:, protocol: TCP|\n +protocol: TCP)/g)];
  const others = ports.map(([, port]) => port).filter((port) => !known.includes(port));
  const found = [...new Set(others)].sort().filter((port) => port !== '80');
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    throw new Error(`the network policy lets out ${found}, not ${expected}`);
  }
}

function checkUnit() {
  if (spawnSync('systemd-analyze', ['--version']).error !== undefined) {
    return 'NOT RUN: there is no systemd-analyze on this machine';
  }
  const unit = join(deploy, 'systemd/farthing.service');
  // The unit names /usr/bin/node, which may be missing on this machine.
  const text = readFileSync(unit, 'utf8').replace('/usr/bin/node', node);
  const copy = join(scratch, 'farthing.service');
  writeFileSync(copy, text);
  output('systemd-analyze', ['verify', '--man=no', copy]);
  // The threshold is 10 times the figure that systemd calls "exposure". A service without any
  // restrictions has 96.
  output('systemd-analyze', ['security', '--offline=true', '--threshold=20', copy]);
}

function checkRules() {
  const folder = join(deploy, 'prometheus');
  const rules = join(folder, 'gateway.rules.yaml');
  const tests = join(folder, 'gateway.rules.test.yaml');
  output(deployTool('promtool'), ['check', 'rules', '--lint-fatal', rules]);
  output(deployTool('promtool'), ['test', 'rules', tests]);
  const named = [...readFileSync(rules, 'utf8').matchAll(/- alert: (\w+)/g)].map(
    ([, name]) => name,
  );
  const text = readFileSync(tests, 'utf8');
  const cases = named.flatMap((name) =>
    ['exp_alerts: \\[\\]', 'exp_alerts:\\n'].map((end) => ({ name, end })),
  );
  const missing = cases.filter(
    ({ name, end }) => !new RegExp(`alertname: ${name}\\n\\s+${end}`).test(text),
  );
  if (missing.length > 0) throw new Error(`alerts without both tests: ${JSON.stringify(missing)}`);
}

/** Checks the dashboard's queries as recording rules, because promtool can parse those. */
function checkDashboard() {
  const dashboard = JSON.parse(readFileSync(join(deploy, 'grafana/gateway.json'), 'utf8'));
  const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const rules = queries.map((expr, index) => ({
    record: `panel:${index}`,
    expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'gateway'),
  }));
  mkdirSync(scratch, { recursive: true });
  const file = join(scratch, 'dashboard.rules.yaml');
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
  output(deployTool('promtool'), ['check', 'rules', file]);
}
