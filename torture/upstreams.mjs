/**
 * The upstream of the torture: one simulator, or several accounts with a simulator each. On demand
 * an account refuses requests, limits them, fails or cannot be reached. Records which requests an
 * account accepted.
 *
 * @import { ScriptedReply } from '../packages/upstream-simulator/dist/index.js'
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startUpstreamSimulator } from '../packages/upstream-simulator/dist/index.js';
import { startFaultProxy } from './fault-proxy.mjs';

/**
 * The answers of an account that serves no request. After an error of the API, the gateway may send
 * the request to another account.
 */
/** @type {Readonly<Record<string, ScriptedReply>>} */
const REFUSALS = {
  limits: { error: { type: 'rate_limit_error' }, headers: { 'retry-after': '1' } },
  refusesCredential: { error: { type: 'authentication_error' } },
  hasNoCredit: { error: { type: 'billing_error' } },
  isOverloaded: { error: { type: 'overloaded_error' } },
  fails: { error: { type: 'api_error' } },
  // Plain responses are served.
  beginsWithError: { streamError: { afterEvents: 0, type: 'overloaded_error' } },
  // Nobody can say whether the API accepted the request, so it counts as accepted.
  hasProxyThatFails: { status: 502, body: '<html>' },
};
export const REFUSAL_NAMES = Object.keys(REFUSALS);

/**
 * @param {object} options
 * @param {number} options.accounts - 0: one upstream without `UPSTREAMS`
 * @param {number} options.journalEntries - number of responses that each journal keeps
 */
export async function startUpstreams({ accounts, journalEntries }) {
  const names = accounts === 0 ? ['only'] : Array.from({ length: accounts }, (_, i) => `acct-${i}`);
  /** The questions that an account accepted. */
  const accepted = new Set();
  /** Requests for questions that an account had accepted before. */
  const repeated = [];
  const members = [];
  for (const name of names) members.push(await startMember(name));
  const folder = mkdtempSync(join(tmpdir(), 'gateway-torture-'));
  const file = join(folder, 'upstreams.json');
  const list = members.map(({ name, link, apiKey }) => ({
    name,
    url: `http://127.0.0.1:${link.port}`,
    api_key: apiKey,
  }));
  writeFileSync(file, JSON.stringify({ accounts: list }));

  function note(text, mayMove) {
    const question = /question \d+ /.exec(text)?.[0];
    if (question === undefined) return;
    if (accepted.has(question)) repeated.push(question);
    if (!mayMove) accepted.add(question);
  }

  async function startMember(name) {
    const apiKey = `torture-upstream-key-${name}`;
    const simulator = await startUpstreamSimulator({
      apiKey,
      keepBodies: false,
      eventDelayMs: 1,
      allowScriptText: true,
      maxJournalEntries: journalEntries,
    });
    const member = { name, apiKey, simulator, refusal: undefined, link: await linkTo(simulator) };
    if (accounts === 0) return member;
    simulator.scriptWhen((request) => {
      note(JSON.stringify(request), isRefused(member.refusal, request));
      return false;
    }, {});
    for (const [kind, reply] of Object.entries(REFUSALS))
      simulator.scriptWhen(() => member.refusal === kind, reply);
    return member;
  }

  /** Whether an error of the API itself answers this request, so that it may be sent again. */
  function isRefused(kind, request) {
    if (kind === undefined || kind === 'hasProxyThatFails') return false;
    return kind !== 'beginsWithError' || request.stream === true;
  }

  return {
    members,
    accepted,
    repeated,
    /**
     * Configuration of the gateways.
     *
     * @type {Readonly<Record<string, string>>}
     */
    env:
      accounts === 0
        ? {
            UPSTREAM_URL: `http://127.0.0.1:${members[0].link.port}`,
            UPSTREAM_API_KEY: members[0].apiKey,
          }
        : { UPSTREAMS: file },
    usages: () =>
      members.flatMap(({ name, simulator }) =>
        simulator.journal
          .usages()
          .map((usage) => ({ ...usage, account: accounts === 0 ? null : name })),
      ),
    /** Makes every account accept requests again. */
    heal() {
      for (const member of members) member.refusal = undefined;
    },
    /** Ends the simulators. The caller ends the links. */
    async stop() {
      for (const { simulator } of members) await simulator.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function linkTo({ port }) {
  return startFaultProxy({ host: '127.0.0.1', port });
}
