/** Does what a `curl` command says, for machines that do not have curl. */

import { execFileSync } from 'node:child_process';

/**
 * Lets the shell read the line, as it would for curl: quotes, variables and line breaks.
 *
 * @param command - With `-H`, `-d`, `-s` and an address; any other option throws.
 */
export function fetchAsTyped(command: string): Promise<Response> {
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}`;
  const args = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
  const headers: [string, string][] = [];
  let [url, body]: (string | undefined)[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at]!;
    if (arg === '-H') {
      const [, name, value] = /^([^:]+): ?(.*)$/.exec(args[(at += 1)]!)!;
      headers.push([name!, value!]);
    } else if (arg === '-d') body = args[(at += 1)]!;
    else if (!arg.startsWith('-')) url = arg;
    else if (arg !== '-s') throw new Error(`curl ${arg}: not known here`);
  }
  return fetch(url!, { method: body === undefined ? 'GET' : 'POST', headers, body: body ?? null });
}
