/**
 * The files of `deploy/` name only metrics and variables of the gateway, versions of this
 * repository, and files that exist.
 */

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NODE_VERSION } from '../../../../scripts/node-programs.cjs';
import { BY_NAME } from '../../src/config/variables.js';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

const ROOT = join(__dirname, '../../../..');
const CHART = 'deploy/helm/farthing';
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

let gateway: TestGateway;
let metrics: string;
beforeAll(async () => {
  gateway = await startTestGateway({
    env: {
      WEBHOOK_URL: 'https://receiver.example',
      WEBHOOK_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}`,
      SMTP_URL: 'smtp://mail.example',
      MAIL_FROM: 'gateway@mail.example',
    },
  });
  metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
});
afterAll(() => gateway.stop());

describe.each([['deploy/prometheus/gateway.rules.yaml'], ['deploy/grafana/gateway.json']])(
  '%s',
  (file) => {
    it('reads only metrics that the gateway has', () => {
      const named = new Set(read(file).match(/\b(gateway|nodejs|process)_[a-z0-9_]+/g));
      expect(named.size).toBeGreaterThan(5);
      // A series may have no value yet, but each metric has its type.
      const types = [...named].map((name) => `# TYPE ${name.replace(/_bucket$/, '')} `);
      expect(types.filter((type) => !metrics.includes(type))).toEqual([]);
    });

    it('selects only values of `endpoint` and `status` that the metrics have', () => {
      const values = [...read(file).matchAll(/\b(endpoint|status)=~?\\?"([^"\\]+)\\?"/g)];
      for (const [, label, pattern] of values) {
        const known = [...metrics.matchAll(new RegExp(`\\b${label!}="([^"]+)"`, 'g'))];
        const alternatives = pattern!.split('|');
        for (const alternative of alternatives) {
          const isKnown = known.some(([, value]) => new RegExp(`^(${alternative})$`).test(value!));
          expect([label, alternative, isKnown]).toEqual([label, alternative, true]);
        }
      }
    });
  },
);

describe('the files that start a gateway', () => {
  it.each([
    ['deploy/compose.yaml'],
    ['deploy/compose.replicas.yaml'],
    ['deploy/Dockerfile'],
    ['deploy/systemd/farthing.service'],
    ['deploy/helm/farthing/templates/deployment.yaml'],
  ])('set only variables that the gateway reads: %s', (file) => {
    const others = /^(NODE_|PATH$|POSTGRES_|SITE$|SQLITE_TMPDIR$|WORKERS$)/;
    const set = [
      ...read(file).matchAll(/^ *(?:ENV )?([A-Z][A-Z_]+)[:=]/gm),
      ...read(file).matchAll(/\bname: ([A-Z][A-Z_]+)\b/g),
      ...read(file).matchAll(/^Environment=.*?\b([A-Z_]+)=/gm),
    ].map(([, name]) => name!);
    expect(set.filter((name) => !BY_NAME.has(name) && !others.test(name))).toEqual([]);
  });

  it.each([['values.yaml'], ['templates/_helpers.tpl']])(
    'name only variables that the gateway reads: the chart, %s',
    (file) => {
      const named = read(`${CHART}/${file}`).match(/\b[A-Z]{2,}(?:_[A-Z]+)+\b/g);
      expect([...new Set(named)].filter((name) => !BY_NAME.has(name))).toEqual([]);
      expect(named).toContain('DATABASE_URL');
    },
  );

  it('the chart starts from the defaults of the gateway, except for a pod among others', () => {
    // Pods are reached from other machines, are replaced, and stop while clients still come.
    const ofPods = { HOST: '0.0.0.0', ADMIN_HOST: '0.0.0.0', REPLICAS: '2', DRAIN_DELAY_S: '5' };
    const values = read(`${CHART}/values.yaml`);
    const valueOf = (name: string) => new RegExp(`^${name}: '?([^'\n]*)'?$`, 'm').exec(values)?.[1];
    const template = read(`${CHART}/templates/deployment.yaml`).replaceAll(
      /{{-? if .*?end }}/gs,
      '',
    );
    const set = [...template.matchAll(/name: ([A-Z_]+)(?:, |\n +)value: (.*?)(?: }|)$/gm)].map(
      ([, name, value]): [string, string | undefined] => {
        const named = /\.Values\.(\w+) (?:\||\.Values\.autoscaling\.enabled)/.exec(value!)?.[1];
        return [name!, named === undefined ? value!.replaceAll('"', '') : valueOf(named)];
      },
    );
    expect(set.map(([name]) => name)).toEqual(expect.arrayContaining(['WORKERS', 'REPLICAS']));
    for (const [name, value] of set) {
      expect([name, BY_NAME.get(name)?.schema.safeParse(value).success]).toEqual([name, true]);
    }
    const different = set.filter(([name, value]) => BY_NAME.get(name)?.default !== value);
    expect(Object.fromEntries(different)).toEqual(ofPods);
  });

  it('use the versions of Node and pnpm that the project uses', () => {
    expect(read('deploy/Dockerfile')).toContain(`NODE_IMAGE=node:${NODE_VERSION}-`);
    const pnpm = /PNPM = 'pnpm@(.*)'/.exec(read('scripts/setup.mjs'))![1]!;
    const { dependencies } = JSON.parse(read('.github/pnpm/package.json')) as {
      dependencies: Record<string, string>;
    };
    expect(dependencies).toEqual({ pnpm });
  });

  // F407: another pnpm than the one that was tried gets into the build of the image: npm compares
  // each of its files with a digest.
  it('build the image with a package manager whose bytes a lockfile pins', () => {
    const [, build = ''] = read('deploy/Dockerfile').split(/^FROM .*$/m);
    expect(build).toContain('RUN npm install --no-save --prefix .github/pnpm\n');
    expect(build).not.toMatch(/\b(npx|corepack)\b/);
    expect(read('deploy/Dockerfile.dockerignore')).toContain('\n!.github/pnpm\n');
    const { packages } = JSON.parse(read('.github/pnpm/package-lock.json')) as {
      packages: Record<string, { integrity?: string }>;
    };
    const files = Object.entries(packages).filter(([path]) => path !== '');
    expect(files.length).toBeGreaterThan(0);
    for (const [path, { integrity }] of files) {
      expect([path, integrity]).toEqual([path, expect.stringMatching(/^sha512-/)]);
    }
  });

  // F408: the process crashes where core files are written: none is, because it would have
  // credentials and prompts.
  it('let the gateway write no core file', () => {
    expect(read('deploy/systemd/farthing.service')).toMatch(/^LimitCORE=0$/m);
    for (const file of ['deploy/compose.yaml', 'deploy/compose.replicas.yaml']) {
      expect(read(file)).toMatch(/^ +ulimits: \{ core: 0 \}$/m);
    }
  });

  // F159: a setting that compose does not pass on, a pod without a network policy: compose passes
  // on a whole file; each pod of the chart has a policy.
  it.each([['deploy/compose.yaml'], ['deploy/compose.replicas.yaml']])(
    'pass on every setting of a file, and set only those that belong to the containers: %s',
    (file) => {
      const [gateway = ''] = /^( *)environment:\n(?:\1 .*\n)+/m.exec(read(file)) ?? [];
      expect(read(file)).toMatch(/^ +env_file: farthing\.env$/m);
      const set = [...gateway.matchAll(/^ +([A-Z_]+): (.*)$/gm)];
      expect(set.map(([, name]) => name)).toEqual(expect.arrayContaining(['HOST', 'PORT']));
      // A variable with a default here would hide the value of the file.
      expect(set.filter(([, , value]) => value!.includes(':-'))).toEqual([]);
    },
  );

  // F465: somebody gets to run commands in the container: there is no shell and no package manager,
  // because the image has Node, the libraries that it loads, and nothing else.
  it('build an image of Node alone, in which nothing is installed', () => {
    const stages = read('deploy/Dockerfile').split(/^FROM /m);
    const [minimal, image] = stages.slice(-2);
    expect(minimal).toMatch(/^scratch AS minimal\nCOPY --from=root \/minimal \/\n\n$/);
    expect(image).toMatch(/^\$\{ROOT_IMAGE\}\n/);
    expect(stages[0]).toContain('\nARG ROOT_IMAGE=minimal\n');
    expect(image).not.toMatch(/^(RUN|ADD) /m);
    expect(image).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
    const copied = [...image!.matchAll(/^COPY (.*)$/gm)].map(([, what]) => what);
    expect(copied).toEqual(['--from=build /app /app', '--from=root --chown=1000:1000 /volume /']);
  });

  // F159
  it('have a network policy for the pods of each workload of the chart', () => {
    const folder = `${CHART}/templates`;
    const templates = readdirSync(join(ROOT, folder)).map((name) => read(`${folder}/${name}`));
    const policies = templates.filter((text) => text.includes('kind: NetworkPolicy')).join();
    const workloads = templates.filter((text) =>
      /^kind: (Deployment|Job|CronJob|StatefulSet)$/m.test(text),
    );
    expect(workloads).toHaveLength(2);
    for (const workload of workloads) {
      const [, labels = ''] =
        /\n {2}template:[^]*?\n {6}labels:([^]*?)\n {4}\S/.exec(workload) ?? [];
      const selected = ['farthing.selector', '{{ include "farthing.app" . }}-migrate'].filter(
        (name) => labels.replace('farthing.labels', 'farthing.selector').includes(name),
      );
      expect([labels, selected.length]).toEqual([labels, 1]);
      expect(policies).toContain(selected[0]);
    }
  });

  it('copy only files that exist into the image', () => {
    const admitted = read('deploy/Dockerfile.dockerignore').match(/^!\S+/gm)!;
    for (const path of admitted)
      expect([path, existsSync(join(ROOT, path.slice(1)))]).toEqual([path, true]);
  });
});

it('the handbook says what to do for each alert', () => {
  const rules = read('deploy/prometheus/gateway.rules.yaml');
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);
  const explained = [...read('docs/operating.md').matchAll(/^\| (\w+) +\| \S/gm)];
  expect(explained.map(([, name]) => name!)).toEqual(expect.arrayContaining(alerts));
});

it('the chart has the version of the gateway', () => {
  const { version } = JSON.parse(read('apps/gateway/package.json')) as { version: string };
  expect(read(`${CHART}/Chart.yaml`)).toContain(
    `\nversion: ${version}\nappVersion: '${version}'\n`,
  );
});
