/**
 * Installs the packed packages into an empty project and uses them there. Node imports and requires
 * every entry point. Each supported TypeScript version type-checks it under each module resolution.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installPacked, publishedLibraries, withScratch } from './packed.mjs';
import { node, root, run, step } from './setup.mjs';

// The declarations contain `Uint8Array<ArrayBuffer>`, which needs TypeScript 5.7.
const COMPILERS = {
  'typescript-5.7': 'npm:typescript@5.7.3',
  'typescript-5.9': 'npm:typescript@5.9.3',
  'typescript-6.0': 'npm:typescript@6.0.3',
  'typescript-7.0': 'npm:typescript@7.0.2',
};
/** Entries that need neither Node's types nor the browser's. */
const PORTABLE = [
  '@gateway/translator',
  '@gateway/translator/native',

  '@gateway/rate-limiter',
  '@gateway/rate-limiter/redis',
];
const NODE_TYPES = '24.19.2';
const SIMULATOR = readFileSync(join(root, 'packages/upstream-simulator/package.json'), 'utf8');
const { peerDependencies, devDependencies } = JSON.parse(SIMULATOR);
/** The optional peers that `@gateway/upstream-simulator/clouds` needs. */
const CLOUD_PEERS = Object.fromEntries(
  Object.keys(peerDependencies).map((name) => [name, devDependencies[name]]),
);
const entries = publishedLibraries().flatMap((published) => published.entries);

const IMPORTS = `
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
for (const entry of process.argv.slice(2)) {
  const imported = Object.keys(await import(entry)).sort();
  const required = Object.keys(require(entry)).sort();
  assert.deepEqual(required, imported, entry + ' exports other names to require than to import');
}
console.log('  Node ' + process.version + ': import and require of each entry');
`;
// The embedded store loads its worker and its migrations as files, which packing may have left out.
const EMBEDDED = `
import { createRequire } from 'node:module';
import * as imported from '@gateway/balance-store/embedded';
const required = createRequire(import.meta.url)('@gateway/balance-store/embedded');
for (const [kind, { openEmbeddedStore }] of Object.entries({ imported, required })) {
  const store = await openEmbeddedStore({ dataDir: './' + kind, pepper: 'a pepper of 32 characters or more' });
  await store.close();
  console.log('  embedded store: ' + kind);
}
`;

await withScratch(async (dir) => {
  step(`Installing ${publishedLibraries().length} packed packages into an empty project`);
  installPacked(dir, { ...COMPILERS, ...CLOUD_PEERS, '@types/node': NODE_TYPES });
  checkTypes(dir);
  checkImports(dir);
  await checkCommand(dir);
});

function checkTypes(dir) {
  const files = ['all.mts', 'all.cts', 'portable.mts'].map((name) => join(dir, name));
  const [esm, cjs, portable] = files;
  const imports = (names) =>
    names.map((name, at) => `import * as entry${at} from '${name}';\nvoid entry${at};`).join('\n');
  const requires = entries.map(
    (name, at) => `import entry${at} = require('${name}');\nvoid entry${at};`,
  );
  writeFileSync(esm, imports(entries));
  writeFileSync(cjs, requires.join('\n'));
  writeFileSync(portable, imports(PORTABLE));
  for (const compiler of Object.keys(COMPILERS)) {
    const check = (options, checked) => typeCheck(dir, compiler, options, checked);
    check({ module: 'node16', moduleResolution: 'node16', types: ['node'] }, [esm, cjs]);
    check({ module: 'preserve', moduleResolution: 'bundler', types: ['node'] }, [esm]);
    check({ module: 'preserve', moduleResolution: 'bundler', types: [] }, [portable]);
    process.stdout.write(`  ${compiler}: node16 (import, require), bundler\n`);
  }
}

function typeCheck(dir, compiler, options, files) {
  // Without `skipLibCheck`, so that errors in the packages' own declarations show.
  const strict = { strict: true, noEmit: true, target: 'es2022', lib: ['es2022'] };
  const config = join(dir, 'tsconfig.json');
  writeFileSync(config, JSON.stringify({ compilerOptions: { ...strict, ...options }, files }));
  run(node, [join(dir, 'node_modules', compiler, 'bin/tsc'), '-p', config], { cwd: dir });
}

/**
 * Imports and requires each entry on the project's Node, and on the Node of this process, which may
 * be an older supported one. Opens the embedded store on the project's Node only.
 */
function checkImports(dir) {
  writeFileSync(join(dir, 'imports.mjs'), IMPORTS);
  writeFileSync(join(dir, 'embedded.mjs'), EMBEDDED);
  for (const executable of [process.execPath, node]) {
    run(executable, ['imports.mjs', ...entries], { cwd: dir });
  }
  run(node, ['embedded.mjs'], { cwd: dir });
}

/** Starts the simulator's command as its README does. */
async function checkCommand(dir) {
  const command = join(dir, 'node_modules/.bin/upstream-simulator');
  const simulator = spawn(command, ['--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(simulator, 'exit');
  const greeting = String(await Promise.race([once(simulator.stdout, 'data'), exited]));
  const models = await fetch(`${/http\S+/.exec(greeting)}/v1/models`, {
    headers: { 'x-api-key': 'any', connection: 'close' },
  });
  simulator.kill('SIGTERM');
  const [code] = await exited;
  if (models.status !== 200 || code !== 0) {
    throw new Error(`upstream-simulator answered ${models.status} and exited with ${code}`);
  }
  process.stdout.write('  upstream-simulator: starts, serves and stops\n');
}
