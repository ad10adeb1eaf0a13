/**
 * Writes the lists in `packages/translator/docs/mapping.md` that show the treatment of each field,
 * between `<!-- name -->` and `<!-- /name -->`. It calls the built package. With `--check` it
 * compares instead of writing.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isCheck, writeOrCompare } from './generated-files.mjs';
import { ensureBuilt, root, step } from './setup.mjs';

const PAGE = 'packages/translator/docs/mapping.md';

step(isCheck ? 'Comparing the mapping tables' : 'Writing the mapping tables');
ensureBuilt();
const dist = join(root, 'packages/translator/dist');
const {
  chatUsage,
  finishReason,
  normalizeToolChoice,
  REQUEST_FIELDS,
  RESPONSES_FIELDS,
  STOP_REASONS,
} = await import(join(dist, 'index.js'));

const TABLES = {
  'request fields': list(fieldRows(REQUEST_FIELDS)),
  'responses fields': list(fieldRows(RESPONSES_FIELDS)),
  'tool choices': list(grouped(toolChoiceRows())),
  'stop reasons': table(
    ['`stop_reason`', '`finish_reason`', 'of a message with calls', 'asked with `functions`'],
    grouped(STOP_REASONS.map((reason) => [code(reason), ...finishReasons(reason)])),
  ),
  'usage counts': list(usageRows()),
};

let after = readFileSync(join(root, PAGE), 'utf8');
for (const [name, rendered] of Object.entries(TABLES)) {
  const region = new RegExp(`(<!-- ${name} -->)[^]*?(<!-- /${name} -->)`);
  if (!region.test(after)) throw new Error(`mapping.md lacks the markers of the table "${name}"`);
  after = after.replace(region, (_, open, close) => `${open}\n\n${rendered}\n\n${close}`);
}
process.stdout.write(`  ${Object.keys(TABLES).length} tables\n`);
await writeOrCompare({ [PAGE]: after }, 'npm run docs');

/** Fields with the same treatment share a row. Neutral values are in parentheses. */
function fieldRows(fields) {
  return grouped(
    [...fields].map(([name, field]) => {
      if (field.fate === 'mapped') {
        return field.to === name ? [code(name), 'the same name'] : [code(name), listOf(field.to)];
      }
      const neutral = field.neutral.length > 0 ? ` (${field.neutral.map(code).join(', ')})` : '';
      return [`${code(name)}${neutral}`, `ignored; ${field.why}`];
    }),
  );
}

/** Joins the first cells of rows whose other cells are equal. */
function grouped(rows) {
  const groups = new Map();
  for (const [first, ...rest] of rows) {
    const key = rest.join(' | ');
    groups.set(key, { firsts: [...(groups.get(key)?.firsts ?? []), first], rest });
  }
  return [...groups.values()].map(({ firsts, rest }) => [firsts.join(', '), ...rest]);
}

/** Formats names as code and leaves prose unchanged. */
function listOf(to) {
  const names = /^[\w.]+(?:(, | or )[\w.]+)*$/;
  return names.test(to) ? to.replace(/[\w.]+(?=, | or |$)/g, code) : to;
}

function toolChoiceRows() {
  const f = { type: 'function', function: { name: 'f' } };
  const forms = [
    'auto',
    'none',
    'required',
    'any',
    { type: 'required' },
    f,
    { type: 'function', name: 'f' },
    ...['auto', 'required'].map((mode) => allowed({ mode, tools: [f] })),
    { type: 'allowed_tools', mode: 'auto', tools: [f] },
    allowed({ mode: 'auto', tools: [] }),
    { type: 'auto' },
    { type: 'any' },
    { type: 'tool', name: 'f' },
    { type: 'none' },
    { type: 'custom', custom: { name: 'f' } },
  ];
  return forms.map((form) => {
    const result = normalizeToolChoice(form);
    const becomes = {
      native: () => 'as it is',
      refused: () => `refused: ${code(result.problem.param)}`,
      normalized: () => {
        const offered = result.allowedTools?.map(code).join(', ');
        return `${code(JSON.stringify(result.toolChoice))}${offered ? `, only ${offered} offered` : ''}`;
      },
    };
    return [code(JSON.stringify(form)), becomes[result.outcome]()];
  });
}

function allowed(choice) {
  return { type: 'allowed_tools', allowed_tools: choice };
}

function finishReasons(reason) {
  const messages = [
    { hasCalls: false, legacyFunctions: false },
    { hasCalls: true, legacyFunctions: false },
    { hasCalls: true, legacyFunctions: true },
  ];
  return messages.map((message) => code(finishReason(reason, message)));
}

/** Each native count is a different power of ten, so that the digits of a sum show its parts. */
function usageRows() {
  const native = {
    inputTokens: 'input_tokens',
    cacheReadInputTokens: 'cache_read_input_tokens',
    cacheCreationInputTokens: 'cache_creation_input_tokens',
    outputTokens: 'output_tokens',
    thinkingTokens: 'output_tokens_details.thinking_tokens',
  };
  const powers = Object.keys(native).map((name, at) => /** @type {const} */ ([name, 10 ** at]));
  const usage = chatUsage({ cacheCreation1hInputTokens: 0, ...Object.fromEntries(powers) });
  return leaves(usage).map(([path, sum]) => {
    const parts = powers.filter(([, power]) => Math.floor(sum / power) % 10 === 1);
    return [code(path), parts.map(([name]) => code(native[name])).join(' + ')];
  });
}

function leaves(object, path = '') {
  return Object.entries(object).flatMap(([name, value]) =>
    typeof value === 'object' ? leaves(value, `${path}${name}.`) : [[`${path}${name}`, value]],
  );
}

function code(text) {
  return `\`${text}\``;
}

function list(rows) {
  return rows.map(([from, to]) => `- ${from}: ${to}`).join('\n');
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
