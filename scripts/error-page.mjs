/**
 * Writes `docs/errors.md` from the gateway's catalogue of errors. With `--check` it compares
 * instead of writing.
 */

import { join } from 'node:path';
import { build } from 'esbuild';
import { isCheck, writeOrCompare } from './generated-files.mjs';
import { root, step } from './setup.mjs';

const ERRORS = join(root, 'apps/gateway/src/base/errors');

step(isCheck ? 'Comparing the page of errors' : 'Writing the page of errors');
const { SECTIONS } = await sourceOf('catalogue.ts');
const { EXIT, FAILURES } = await sourceOf('failures.ts');

const INTRODUCTION = `# Errors of Farthing

Made by \`npm run docs\` from \`apps/gateway/src/base/errors\`. Search for the words of the message: \`<name>\` stands for a
value.

An error is \`{"type":"error","error":{"type","message"},"request_id"}\`; everywhere but on \`/v1/messages\`, the
admin port and the webhook, \`error\` also has \`param\` and \`code\`. Whether to try again is in the headers \`retry-after\`
and \`x-should-retry\`, which SDKs obey. Errors of the provider about the request itself pass as they are
([which do](decisions/0006-relayed-and-replaced-errors.md)); in OpenAI's formats they get its \`code\`. A command
prints the same sentences with exit code ${EXIT.refused}, ${EXIT.usage} for a wrong argument or option, or ${EXIT.unavailable} for a status
of 500 or more.

What \`/readyz\` answers is in [operating.md](operating.md#tls-and-balancers), and each alert [there](operating.md#alerts).
`;

const page = [
  INTRODUCTION,
  ...Object.entries(SECTIONS).map(
    ([title, entries]) => `## ${title}\n\n${Object.entries(entries).map(entryText).join('\n\n')}`,
  ),
  '## The start, and commands',
  'The message on stderr says the particulars.',
  ...Object.entries(FAILURES).map(
    ([name, { exit, cause, cure }]) =>
      `### ${name}\n\n- Exit code ${EXIT[exit]}\n- Cause: ${cause}\n- Cure: ${cure}`,
  ),
].join('\n\n');
await writeOrCompare({ 'docs/errors.md': page }, 'npm run docs');

function entryText([name, { status, type, code, errorCode, sentence, cause, cure, retry }]) {
  const shown = sentence.replace(/\{(\w+)\}/g, '<$1>');
  const codes = [
    ...(code === undefined ? [] : [`code \`${code}\``]),
    ...(errorCode === undefined ? [] : [`\`details.error_code\` \`${errorCode}\``]),
  ];
  return [
    `### ${name}`,
    '',
    `> \`${shown}\``,
    '',
    `- ${[`${status} \`${type}\``, ...codes].join(', ')}; ${retryText(retry)}`,
    `- Cause: ${cause}`,
    `- Cure: ${cure}`,
  ].join('\n');
}

function retryText(retry) {
  switch (retry) {
    case 'no':
      return 'do not try again';
    case 'changed':
      return 'try again once that has changed';
    case 'yes':
      return 'try again after a pause';
    case 'wait':
      return 'try again after `retry-after`';
    default:
      return `try again after ${retry} s`;
  }
}

/** The gateway's sources are imported, because the built gateway is one program without exports. */
async function sourceOf(file) {
  const { outputFiles } = await build({
    entryPoints: [join(ERRORS, file)],
    bundle: true,
    format: 'esm',
    write: false,
  });
  const [{ text }] = outputFiles;
  return import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`);
}
