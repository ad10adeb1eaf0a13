/**
 * `node native-tools.mjs <node_modules>`: starts each installed tool that has a part for this
 * platform only, such as a native addon. Exits with 1, and prints a line for each tool that does
 * not start. Run it with the project's own Node.
 */

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const PLATFORM = `${process.platform}-${process.arch}`;
const [installed] = process.argv.slice(2);
const store = resolve(installed, '.pnpm');
const problems = readdirSync(store).flatMap(tools).flatMap(problemOf);
process.stdout.write(problems.map((problem) => `${problem}\n`).join(''));
// A native addon may keep the process alive.
process.exit(problems.length === 0 ? 0 : 1);

/** The packages of one folder of pnpm's store that have parts for platforms. */
function tools(folder) {
  const name = /^(@[^+@]+\+)?[^@]+/.exec(folder)?.[0].replace('+', '/') ?? '';
  const directory = join(store, folder, 'node_modules', name);
  const manifest = join(directory, 'package.json');
  if (name === '' || !existsSync(manifest)) return [];
  const { optionalDependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8'));
  const parts = Object.keys(optionalDependencies).filter((part) => part.includes(PLATFORM));
  return parts.length === 0 ? [] : [{ name, manifest, parts }];
}

function problemOf({ name, manifest, parts }) {
  const require = createRequire(manifest);
  // Some tools look for their part only when they are used.
  if (!parts.some((part) => isInstalled(require, part))) {
    return [`${name}: none of ${parts.join(', ')} is installed`];
  }
  try {
    require(name);
    return [];
  } catch (error) {
    return [`${name}: ${String(error).split('\n')[0]}`];
  }
}

function isInstalled(require, part) {
  return (require.resolve.paths(part) ?? []).some((folder) =>
    existsSync(join(folder, part, 'package.json')),
  );
}
