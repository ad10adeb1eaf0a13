/**
 * Other gateways from npm and PyPI. Only the benchmark depends on them; it installs them when it
 * runs.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pnpm, root, run, step } from '../scripts/setup.mjs';

const PEERS = join(root, 'bench/peers');

export function findPeer(name) {
  const dir = join(PEERS, 'node_modules', name);
  if (!existsSync(dir)) {
    step(`Installing ${name} for the comparison (once)`);
    pnpm('--dir', PEERS, 'install', '--frozen-lockfile', '--ignore-scripts');
  }
  const { version } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
  return { dir, version };
}

const PYTHON_REQUIREMENTS = join(PEERS, 'python-requirements.txt');

/** Installs a Python package into a virtual environment of its own. */
export function findPythonPeer(name) {
  const dir = join(PEERS, '.venv', name);
  const requirement = requirementOf(name);
  const bin = join(dir, 'bin');
  const mark = join(dir, 'installed');
  if (!existsSync(mark) || readFileSync(mark, 'utf8') !== requirement) {
    step(`Installing ${requirement} for the comparison (once, takes minutes)`);
    run('python3', ['-m', 'venv', dir]);
    run(join(bin, 'pip'), ['install', '--quiet', requirement]);
    writeFileSync(mark, requirement);
  }
  return { bin, version: requirement.split('==')[1] };
}

function requirementOf(name) {
  const lines = readFileSync(PYTHON_REQUIREMENTS, 'utf8').split('\n');
  const line = lines.find((text) => text.split(/[[=]/)[0] === name);
  if (line === undefined) throw new Error(`${PYTHON_REQUIREMENTS} does not name ${name}`);
  return line.trim();
}
