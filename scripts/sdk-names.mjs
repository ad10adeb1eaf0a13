/**
 * Compares the names in the SDKs' types (members of requests, blocks, events, tools, betas …)
 * with the project: a name is served if the sources of the translation or the gateway contain it,
 * and otherwise it has a reason in `scripts/unserved-names.json`. Names without either are printed,
 * and so are rows of that file that no SDK has or that are served by now; the exit code is then 1.
 *
 * `--from FOLDER` takes the SDKs from the `node_modules` of that folder (default: those installed),
 * and `--reasons FILE` another file of reasons.
 */

import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openTypes, packageFolder } from './sdk-types.mjs';
import { root } from './setup.mjs';

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: 'apps/gateway' },
    reasons: { type: 'string', default: join(root, 'scripts/unserved-names.json') },
  },
});
const SOURCES = [
  'packages/translator/src/**/*.ts',
  'apps/gateway/src/{exchange,customer,upstream}/**/*.ts',
  'apps/gateway/src/config/tool-families.ts',
];

/** By place: the name of a type, and where in it the names are. */
const ANTHROPIC = {
  messages: {
    file: 'beta/messages/messages.d.ts',
    member: ['MessageCreateParamsBase', 'members'],
    'block of a request': ['BetaContentBlockParam', 'types'],
    'block of an answer': ['BetaContentBlock', 'types'],
    event: ['BetaRawMessageStreamEvent', 'types'],
    delta: ['BetaRawContentBlockDelta', 'types'],
    tool: ['BetaToolUnion', 'types'],
    'stop reason': ['BetaStopReason', 'literals'],
    'member of usage': ['BetaUsage', 'members'],
  },
  header: { file: 'beta/beta.d.ts', beta: ['AnthropicBeta', 'literals'] },
  errors: { file: 'shared.d.ts', code: ['ErrorDetails', 'error_code', 'literals'] },
};
const OPENAI = {
  'chat completions': {
    file: 'chat/completions/completions.d.ts',
    member: ['ChatCompletionCreateParamsBase', 'members'],
    'member of a message': ['ChatCompletionMessageParam', 'members'],
    'part of a message': ['ChatCompletionContentPart', 'types'],
    tool: ['ChatCompletionTool', 'types'],
    'member of an answer': ['ChatCompletionMessage', 'members'],
    'member of a delta': ['ChatCompletionChunk', 'choices', 'delta', 'members'],
    'finish reason': ['ChatCompletion', 'choices', 'finish_reason', 'literals'],
    'member of usage': ['ChatCompletion', 'usage', 'members'],
  },
  responses: {
    file: 'responses/responses.d.ts',
    member: ['ResponseCreateParamsBase', 'members'],
    'item of a request': ['ResponseInputItem', 'types'],
    'part of a request': ['ResponseInputContent', 'types'],
    'item of an answer': ['ResponseOutputItem', 'types'],
    event: ['ResponseStreamEvent', 'types'],
    tool: ['Tool', 'types'],
    'member of an answer': ['Response', 'members'],
    'reason to end': ['Response', 'incomplete_details', 'reason', 'literals'],
    'member of usage': ['ResponseUsage', 'members'],
  },
};

const sdkNames = [...namesIn('@anthropic-ai/sdk', ANTHROPIC), ...namesIn('openai', OPENAI)];
const served = wordsOf(SOURCES);
const reasons = readReasons(values.reasons);
const problems = [
  ...sdkNames
    .filter(({ place, name }) => !isServed(name) && !reasons.has(`${place}: ${name}`))
    .map(({ place, name }) => `${place}: ${name} is neither served nor in unserved-names.json`),
  ...[...reasons].flatMap((row) => {
    const found = sdkNames.find(({ place, name }) => `${place}: ${name}` === row);
    if (found === undefined) return [`${row} is in unserved-names.json, but in no SDK`];
    return isServed(found.name) ? [`${row} is in unserved-names.json, but served`] : [];
  }),
];
process.stdout.write(problems.map((problem) => `${problem}\n`).join(''));
process.exitCode = problems.length === 0 ? 0 : 1;

/** Rules for tools name the type without its date. */
function isServed(name) {
  return served.has(name) || served.has(name.replace(/_(\d{8}|\d{4}_\d\d_\d\d)$/, ''));
}

function namesIn(sdk, formats) {
  const folder = join(packageFolder(sdk, resolve(root, values.from)), 'resources');
  const types = openTypes(Object.values(formats).map(({ file }) => join(folder, file)));
  return Object.entries(formats).flatMap(([format, { file, ...places }]) =>
    Object.entries(places).flatMap(([what, [type, ...path]]) => {
      const names = namesAt(types, types.exported(join(folder, file), type), path);
      if (names.length === 0)
        throw new Error(`${sdk} has no names at ${[type, ...path].join('.')}`);
      return [...new Set(names)].map((name) => ({ place: `${format}: ${what}`, name }));
    }),
  );
}

function namesAt(types, type, path) {
  const [step, ...rest] = path;
  if (step === 'members') return types.membersOf(type).map(({ name }) => name);
  if (step === 'types') return types.typesOf(type);
  if (step === 'literals') return types.literalsOf(type);
  return types.memberOf(type, step).flatMap((inner) => namesAt(types, inner, rest));
}

/** Every word of the code, without comments. */
function wordsOf(patterns) {
  const files = globSync(patterns, { cwd: root });
  const code = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
  const withoutComments = code.replace(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '');
  return new Set(withoutComments.match(/[\w.-]+/g)?.flatMap((word) => [word, ...word.split('.')]));
}

/** `{"place": {"reason": ["name"]}}`, as `place: name`. */
function readReasons(file) {
  const rows = Object.entries(JSON.parse(readFileSync(file, 'utf8')));
  return new Set(
    rows.flatMap(([place, byReason]) =>
      Object.values(byReason).flatMap((names) => names.map((name) => `${place}: ${name}`)),
    ),
  );
}
