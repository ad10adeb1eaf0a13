/**
 * Lists the places in a request to the upstream that the gateway must check (tool definitions,
 * sources of files, images, documents, cache points, ids of objects and names of models), and the
 * members with free-form data. The list is derived from the types of the provider's SDK, so that an
 * update of the SDK shows new places.
 *
 * Writes `apps/gateway/test/upstream-places.json`; with `--print` it prints the list instead. The
 * test `upstream-places.test.ts` compares the two and checks the gateway's rules against every
 * place.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { root } from './setup.mjs';

const SDK = '@anthropic-ai/sdk';
const OUTPUT = join(root, 'apps/gateway/test/upstream-places.json');
const ADDRESS =
  /^(file_id|container|thread|skill_id|previous_message_id|workspace_id|user_profile_id)$/;

const sdk = sdkFolder();
const files = {
  beta: join(sdk, 'resources/beta/messages/messages.d.ts'),
  stable: join(sdk, 'resources/messages/messages.d.ts'),
};
const program = ts.createProgram(Object.values(files), {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  target: ts.ScriptTarget.ES2022,
  types: [],
});
const checker = program.getTypeChecker();

const found = {
  /** Members of a request. */
  rootMembers: new Set(),
  /** Names of the members whose contents the types leave open. */
  freeForm: new Set(),
  /** `type` of every tool definition. */
  toolTypes: new Set(),
  /** Paths by the kind of value in them. */
  places: {
    tool: new Set(),
    file: new Set(),
    image: new Set(),
    document: new Set(),
    cache: new Set(),
    address: new Set(),
    model: new Set(),
  },
  /** `type` of the entries of `usage.iterations`. */
  iterationTypes: new Set(),
};

for (const [api, file] of Object.entries(files)) {
  const tools = new Set(partsOf(exported(file, api === 'beta' ? 'BetaToolUnion' : 'ToolUnion')));
  for (const tool of tools) for (const type of typesOf(tool)) found.toolTypes.add(type);
  for (const name of ['MessageCreateParamsBase', 'MessageCountTokensParams']) {
    walk(exported(file, name), tools);
  }
}
const usage = checker.getPropertyOfType(exported(files.beta, 'BetaUsage'), 'iterations');
if (usage === undefined) throw new Error(`${SDK} has no BetaUsage.iterations`);
for (const iteration of partsOf(checker.getTypeOfSymbol(usage))) {
  for (const type of typesOf(iteration)) found.iterationTypes.add(type);
}

const text = `${JSON.stringify(sorted(found), null, 2)}\n`;
if (process.argv.includes('--print')) process.stdout.write(text);
else writeFileSync(OUTPUT, text);

/**
 * Visits every path below a type. A path ends where one of the types above it occurs again, so that
 * recursive types end too.
 */
function walk(start, tools) {
  follow(start, '', '', []);

  function visit(type, path, above) {
    for (const member of checker.getPropertiesOfType(type)) {
      const { name } = member;
      const at = path === '' ? name : `${path}.${name}`;
      if (path === '') found.rootMembers.add(name);
      if (name === 'cache_control') found.places.cache.add(at);
      if (ADDRESS.test(name)) found.places.address.add(at);
      const type = checker.getTypeOfSymbol(member);
      // By any name: a rule that looks for `model` must not miss a `fallback_model`.
      if (/model/i.test(name) || type.aliasSymbol?.name === 'Model') found.places.model.add(at);
      follow(type, at, name, above);
    }
    for (const { type: value } of checker.getIndexInfosOfType(type)) {
      follow(value, `${path}.*`, lastName(path), above);
    }
  }

  function follow(type, path, name, above) {
    for (const { part, isItem } of itemsOf(type)) {
      const at = isItem ? `${path}[]` : path;
      if (part.flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any)) {
        found.freeForm.add(name);
        continue;
      }
      if (!(part.flags & ts.TypeFlags.Object)) continue;
      if (tools.has(part)) found.places.tool.add(at);
      for (const kind of typesOf(part)) {
        if (['file', 'image', 'document'].includes(kind)) found.places[kind].add(at);
      }
      if (!above.includes(part)) visit(part, at, [...above, part]);
    }
  }
}

/** The members of a union; in place of an array, the members of its item type. */
function itemsOf(type, isItem = false) {
  return partsWithArrays(type).flatMap((part) =>
    checker.isArrayType(part)
      ? itemsOf(checker.getTypeArguments(part)[0], true)
      : [{ part, isItem }],
  );
}

function partsWithArrays(type) {
  return type.isUnion() ? type.types.flatMap(partsWithArrays) : [type];
}

function partsOf(type) {
  return itemsOf(type).map(({ part }) => part);
}

/** The string literals that the member named `type` of this type may have. */
function typesOf(type) {
  const member = checker.getPropertyOfType(type, 'type');
  if (member === undefined) return [];
  return partsWithArrays(checker.getTypeOfSymbol(member))
    .filter((part) => part.isStringLiteral())
    .map((part) => part.value);
}

function exported(file, name) {
  const source = program.getSourceFile(file);
  const module = source && checker.getSymbolAtLocation(source);
  const symbol =
    module && checker.getExportsOfModule(module).find((candidate) => candidate.name === name);
  if (symbol === undefined) throw new Error(`${SDK} does not export ${name}`);
  return checker.getDeclaredTypeOfSymbol(symbol);
}

function lastName(path) {
  return path.split('.').at(-1).replace(/\[\]$/, '');
}

function sorted(value) {
  if (value instanceof Set) return [...value].sort();
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, sorted(inner)]));
}

function sdkFolder() {
  const require = createRequire(join(root, 'apps/gateway/package.json'));
  let folder = dirname(require.resolve(SDK));
  for (; ; folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).name === SDK)
      return folder;
  }
}
