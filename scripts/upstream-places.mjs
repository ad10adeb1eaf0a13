/**
 * Lists the places in a request to the upstream that the gateway must check (tool definitions,
 * sources of files, images and documents, cache points, ids of objects, names of models, members
 * that change the price), and the members with free-form data. The list is derived from the types
 * of the provider's SDK, so that an update of the SDK shows new places.
 *
 * Writes `apps/gateway/test/exchange/upstream-places.json`, and the names that the simulator and
 * the gateway know. With `--check` it compares instead of writing, as the test
 * `upstream-places.test.ts` does. That test also checks the gateway's rules against every place.
 */

import { join } from 'node:path';
import ts from 'typescript';
import { writeOrCompare } from './generated-files.mjs';
import { openTypes, packageFolder } from './sdk-types.mjs';

const SDK = '@anthropic-ai/sdk';
/** It uses the API's earlier version, whose requests have members that the newer one dropped. */
const EARLIER_SDK = 'anthropic-sdk-0';
const ADDRESS =
  /^(file_id|container|thread|skill_id|previous_message_id|workspace_id|user_profile_id)$/;
/** By any name that contains one of these words: a later member may be called `fallback_speed`. */
const PRICED = /speed|tier|geo|region|container|fallbacks|mcp_servers|compaction/i;

const files = filesOf(SDK);
const earlierFiles = filesOf(EARLIER_SDK);
const sdk = openTypes(Object.values(files));
const { checker, exported, itemsOf, partsOf, typesOf } = sdk;

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
    priced: new Set(),
  },
  /** `type` of the entries of `usage.iterations`. */
  iterationTypes: new Set(),
};

for (const [api, file] of Object.entries({ beta: files.beta, stable: files.stable })) {
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

const names = {
  /** Members of the body in the API's versions that the two SDKs use. */
  members: [
    ...bodyMembers(sdk, files),
    ...bodyMembers(openTypes(Object.values(earlierFiles)), earlierFiles),
  ],
  toolTypes: found.toolTypes,
  betas: sdk.literalsOf(exported(files.betas, 'AnthropicBeta')),
};
const listOf = (values) => JSON.stringify([...new Set(values)].sort());
const NOTE = ` Written by \`scripts/upstream-places.mjs\` from the SDK's types. */`;

const OUTPUTS = {
  'apps/gateway/src/exchange/preparation/known-members.ts': `/** Members of requests.${NOTE}
export const KNOWN_MEMBERS: ReadonlySet<string> = new Set(${listOf(names.members)});
`,
  'apps/gateway/test/exchange/upstream-places.json': JSON.stringify(sorted(found)),
  'packages/upstream-simulator/src/models/known-names.ts': `/** Names that the API knows.${NOTE}

/** The members of a request's body, in all versions of the API. */
export const KNOWN_MEMBERS: readonly string[] = ${listOf(names.members)};

/** The types of tools. */
export const KNOWN_TOOL_TYPES: readonly string[] = ${listOf(names.toolTypes)};

/** The documented values of \`anthropic-beta\`. */
export const KNOWN_BETAS: readonly string[] = ${listOf(names.betas)};
`,
};

await writeOrCompare(OUTPUTS, 'node scripts/upstream-places.mjs');

function bodyMembers(types, { beta, stable }) {
  return [beta, stable]
    .flatMap((file) => types.membersOf(types.exported(file, 'MessageCreateParamsBase')))
    .filter((member) => !types.isHeader(member))
    .map(({ name }) => name);
}

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
      if (PRICED.test(name)) found.places.priced.add(at);
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

function lastName(path) {
  return path.split('.').at(-1).replace(/\[\]$/, '');
}

function sorted(value) {
  if (value instanceof Set) return [...value].sort();
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, sorted(inner)]));
}

function filesOf(name) {
  const folder = packageFolder(name, 'apps/gateway');
  return {
    beta: join(folder, 'resources/beta/messages/messages.d.ts'),
    stable: join(folder, 'resources/messages/messages.d.ts'),
    betas: join(folder, 'resources/beta/beta.d.ts'),
  };
}
