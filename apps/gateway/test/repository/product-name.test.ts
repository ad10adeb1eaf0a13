/** What people read or install is named after the product (decision 0101). */

import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { createProgram } from '../../src/cli/program.js';
import { createRegistry } from '../../src/observe/registry.js';
import { openApiDocument } from '../../src/openapi/document.js';

const ROOT = join(__dirname, '../../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const filesOf = (pattern: string): readonly string[] =>
  execFileSync('git', ['ls-files', pattern], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
/** Documents for those who work on the product rather than with it. */
const OF_DEVELOPERS = ['docs/faults.md'];

describe('Farthing is the name in', () => {
  it('the help of the command line', () => {
    expect(createProgram().helpInformation()).toMatch(/^Usage: farthing .*\n\nFarthing, /);
  });

  it.each(['client', 'admin'] as const)('the OpenAPI document: %s', (port) => {
    expect(openApiDocument(port, []).info.title).toMatch(/^Farthing/);
  });

  it('the version among the metrics', async () => {
    expect(await createRegistry().metrics()).toMatch(/^# HELP gateway_build_info .*Farthing/m);
  });

  it.each(['console', 'customer'])('the title of the page: %s', (page) => {
    expect(read(`apps/dashboard/src/${page}/index.html`)).toMatch(/<title>.*\bFarthing\b/);
  });

  it.each(['README.md', ...filesOf('docs/*.md')].filter(isForUsers))('the title: %s', (file) => {
    expect(read(file)).toMatch(/^# .*\bFarthing\b/);
  });

  it('the chart, with its labels and its image', () => {
    const chart = parse(read('deploy/helm/farthing/Chart.yaml')) as Record<string, string>;
    const values = parse(read('deploy/helm/farthing/values.yaml')) as {
      image: { repository: string };
    };
    expect(chart).toMatchObject({
      name: 'farthing',
      description: expect.stringMatching(/^Farthing/),
    });
    expect(values.image.repository).toBe('farthing');
  });

  it('the unit, with its user and its folders', () => {
    const unit = read('deploy/systemd/farthing.service');
    expect(unit).toMatch(/^Description=Farthing/m);
    for (const name of ['User', 'Group', 'StateDirectory']) {
      expect(unit).toContain(`\n${name}=farthing\n`);
    }
    expect(unit).not.toMatch(/\/gateway\b/);
  });

  it('the labels of the image', () => {
    expect(read('deploy/Dockerfile')).toContain('org.opencontainers.image.title="Farthing"');
  });

  it('the dashboard', () => {
    expect(JSON.parse(read('deploy/grafana/gateway.json'))).toMatchObject({ title: 'Farthing' });
  });

  // F461: an installation with compose gets the files with the new name, and would begin with empty
  // volumes: compose stops first, because its file of variables has another name now.
  it.each(['compose.yaml', 'compose.replicas.yaml'])(
    'the project and the file of variables: %s',
    (file) => {
      const { name, services } = parse(read(`deploy/${file}`), { merge: true }) as {
        name: string;
        services: Record<string, { image: string; build?: object; env_file?: string }>;
      };
      expect(name).toMatch(/^farthing/);
      const built = Object.values(services).filter(({ build }) => build !== undefined);
      expect(built.length).toBeGreaterThan(0);
      for (const service of built) {
        expect(service).toMatchObject({ image: 'farthing', env_file: 'farthing.env' });
      }
    },
  );
});

// F462: a release of the chart from before the name is upgraded: its selectors cannot change, and
// its Service may not: each name and selector follows `nameOverride`.
it('the chart names nothing after itself but its own label', () => {
  const folder = 'deploy/helm/farthing/templates';
  const lines = readdirSync(join(ROOT, folder))
    .flatMap((name) => read(`${folder}/${name}`).split('\n'))
    .filter((line) => /\.Chart\.Name|[\s:]farthing\b/.test(line.replace('/etc/farthing', '')));
  expect(lines).toEqual([
    '{{ .Values.nameOverride | default .Chart.Name }}',
    'helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}',
  ]);
});

it('no document types the former name of the command, which ends with the next release', () => {
  const former = /^ *(?:[A-Z_]+=\S+ +)*(?:gateway|npm run (?:-s )?gateway --) +[a-z].*$/;
  const typed = filesOf('*.md').flatMap((file) => {
    const text = read(file);
    const blocks = [...text.matchAll(/^ *```\w*\n(.*?)^ *```/gms)].flatMap(([, code]) =>
      code!.split('\n'),
    );
    const words = [...text.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!);
    return [...blocks, ...words].filter((line) => former.test(line));
  });
  expect(typed).toEqual([]);
});

function isForUsers(file: string): boolean {
  return !/^docs\/.*\//.test(file) && !OF_DEVELOPERS.includes(file);
}
