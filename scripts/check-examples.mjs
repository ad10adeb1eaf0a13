/**
 * Type-checks the examples of READMEs and docstrings, and the programs of `examples/`, against the
 * packed packages, and runs them. Examples marked `ts no-run` are only type-checked, because they
 * need a server or code of the reader's; the programs run against a started gateway.
 */

import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { join } from 'node:path';
import { programNames, runPrograms } from './example-programs.mjs';
import { examplesOfMarkdown, examplesOfSource, importsOf, moduleOf } from './examples.mjs';
import { installPacked, publishedLibraries, withScratch } from './packed.mjs';
import { node, root, run, step } from './setup.mjs';

const TIMEOUT_MS = 60_000;
const published = publishedLibraries();

await withScratch(async (dir) => {
  step('Checking the examples');
  const examples = [
    ...examplesOfMarkdown(join(root, 'README.md')),
    ...published.flatMap(({ name, dir }) => examplesOf(dir).map((each) => ({ ...each, name }))),
  ].map((each) => ({ ...each, module: `${each.file.replaceAll('/', '-')}-${each.line}.mts` }));
  const programs = programNames();
  const codes = programs.map((name) => readFileSync(join(root, 'examples', name), 'utf8'));
  installPacked(dir, dependenciesOf([...examples, ...codes.map((code) => ({ code }))]));
  for (const name of programs) cpSync(join(root, 'examples', name), join(dir, name));
  const require = createRequire(join(dir, 'package.json'));
  for (const example of examples) {
    const own = example.name && {
      name: example.name,
      exported: Object.keys(require(example.name)),
    };
    writeFileSync(join(dir, example.module), moduleOf(example, own));
  }
  checkTypes(dir);
  for (const example of examples) {
    if (example.isRun) runExample(dir, example);
    const how = example.isRun ? 'runs' : 'compiles';
    process.stdout.write(`  ${example.file}:${example.line} ${how}\n`);
  }
  await runPrograms(dir, (name) => process.stdout.write(`  examples/${name} runs\n`));
});

function examplesOf(dir) {
  const sources = readdirSync(join(dir, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.startsWith('generated'))
    .sort();
  return [
    ...examplesOfMarkdown(join(dir, 'README.md')),
    ...sources.flatMap((name) => examplesOfSource(join(dir, 'src', name))),
  ];
}

/**
 * Other packages that the examples import, in the versions that our packages are developed with.
 */
function dependenciesOf(examples) {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const manifests = [{ devDependencies }, ...published.map(({ manifest }) => manifest)];
  const versions = Object.assign({}, ...manifests.map((each) => each.devDependencies));
  const names = examples
    .flatMap(importsOf)
    .filter((name) => !isBuiltin(name) && !published.some(({ entries }) => entries.includes(name)));
  return {
    '@types/node': versions['@types/node'],
    ...Object.fromEntries(names.map((name) => [name, versions[name]])),
  };
}

function checkTypes(dir) {
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    target: 'es2023',
    module: 'nodenext',
    types: ['node'],
    // check-installs.mjs checks the declarations of our packages.
    skipLibCheck: true,
  };
  writeFileSync(
    join(dir, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['*.mts', '*.ts'] }),
  );
  run(node, [join(root, 'node_modules/typescript/bin/tsc'), '-p', dir], { cwd: dir });
}

/** Runs an example and shows its output only if it fails. */
function runExample(dir, { file, line, module }) {
  const { status, stdout, stderr } = spawnSync(node, [module], {
    cwd: dir,
    timeout: TIMEOUT_MS,
    encoding: 'utf8',
  });
  if (status === 0) return;
  throw new Error(`${file}:${line}: the example fails\n${stdout}${stderr}`);
}
