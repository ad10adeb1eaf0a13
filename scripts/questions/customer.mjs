/**
 * What a customer asks. `ask` answers from the screen, and `expected` from the ledger; both return
 * a text. `before` prepares what the question needs.
 */

import { DAY_MS, HOUR_MS, endOfMoney, ranked, sumOf, usdOf } from './facts.mjs';

const HOME = 'Northwind Labs';
const FAILING = 'Quick Cash';

export const CUSTOMER = [
  {
    text: 'What did yesterday cost, and which model most?',
    async ask(person) {
      await person.click(answer(person.page, 'Yesterday').getByRole('link'));
      return spentAndFirst(person);
    },
    expected(facts) {
      const charges = yesterday(facts);
      const [first] = ranked(charges, ({ model }) => model);
      return `${usdOf(sumOf(charges))}, ${first?.[0]}`;
    },
  },
  {
    text: '… and which key most?',
    async ask(person) {
      await person.click(answer(person.page, 'Yesterday').getByRole('link'));
      await person.choose('By', 'Key');
      return spentAndFirst(person);
    },
    expected(facts) {
      const charges = yesterday(facts);
      const [first] = ranked(charges, ({ key_id: id }) => facts.keys.get(id));
      return `${usdOf(sumOf(charges))}, ${first?.[0]}`;
    },
  },
  {
    text: 'Why was this request charged so?',
    before: ({ facts }) => ({ id: charged(facts).id }),
    async ask(person, { id }) {
      await person.finds(id);
      const lines = person.page.locator('table.lines');
      const rates = await person.reads(lines.locator('tbody tr').first().locator('td.n').nth(1));
      return `${await person.readsExactly(lines.locator('tfoot data'))}, first at ${rates}`;
    },
    expected(facts) {
      const { usd, input_rate: rate } = charged(facts);
      return `${usdOf(usd)}, first at ${String(Number(rate) * 1_000_000)}`;
    },
  },
  {
    text: 'When will my money run out?',
    ask: async (person) => {
      const until = await person.readsExactly(person.page.locator('#figures data').first());
      return until.slice(0, 10);
    },
    expected: (facts) => endOfMoney(facts, facts.named(HOME))?.toISOString().slice(0, 10),
  },
  ...['Claude Code', 'Codex'].map((client) => ({
    text: `How do I connect ${client}?`,
    async ask(person, { demoKey, url }) {
      await person.click(tab(person.page, 'Connect'));
      if (client !== 'Claude Code') {
        await person.click(person.page.getByRole('button', { name: client, exact: true }));
      }
      await person.click(person.page.getByRole('button', { name: 'My key' }));
      const blocks = person.page.locator('pre');
      const texts = [];
      for (let index = 0; index < (await blocks.count()); index += 1) {
        texts.push(await person.reads(blocks.nth(index)));
      }
      const text = texts.join(' ');
      return [`has ${text.includes(demoKey) ? 'my key' : 'no key'}`, hasUrl(text, url)].join(', ');
    },
    expected: () => 'has my key, the address',
  })),
  {
    text: 'Where is my invoice of the last month?',
    async ask(person) {
      await person.click(tab(person.page, 'Billing'));
      const months = person.page.getByLabel('Month (UTC)');
      const last = await months.locator('option').nth(1).innerText();
      await person.choose('Month (UTC)', last);
      await person.reads(person.page.getByRole('button', { name: 'Print or save as PDF' }));
      const total = person.page.locator('.paper .figure', { hasText: 'Charges' });
      const number = await person.reads(person.page.locator('.paper .facts dd').first());
      const charged = await person.readsExactly(total.locator('data'));
      return `${number === '' ? 'no number' : 'numbered'}, ${charged}`;
    },
    expected(facts) {
      const [from, until] = lastMonth(facts);
      const charges = ofHome(facts).filter(
        ({ created_at: at }) => at >= from.getTime() && at < until.getTime(),
      );
      return `numbered, -${usdOf(sumOf(charges))}`;
    },
  },
  {
    text: 'Why do my requests fail now?',
    before: async ({ admin, facts }) => {
      const { id } = facts.named(FAILING);
      const key = { account_id: id, name: 'questions', scope: 'manage' };
      return { secret: (await admin('POST', '/admin/keys', key)).api_key };
    },
    async ask(person) {
      await person.click(person.page.getByRole('link', { name: 'Requests of the last hour' }));
      const row = person.page.locator('tr[data-request]').first();
      return person.reads(row.locator('.when.wraps'));
    },
    expected(facts) {
      const { id } = facts.named(FAILING);
      const last = facts.requests
        .filter((each) => each.account_id === id && each.endedAt > facts.now - HOUR_MS)
        .filter((each) => each.error_type !== null)
        .sort((a, b) => b.endedAt - a.endedAt)[0];
      return `${last.error_type}: ${last.message}`;
    },
  },
];

/** A figure of the first screen. */
export function answer(page, name) {
  const label = page.locator('dt').getByText(name, { exact: true });
  return page.locator('.figure').filter({ has: label });
}

export function tab(page, name) {
  return page.getByRole('navigation').getByRole('link', { name, exact: true });
}

/** The amount over the plot, and the first of the groups below it. */
async function spentAndFirst(person) {
  const { page } = person;
  const spent = await person.readsExactly(page.locator('.headline strong data'));
  const first = page.locator('table.groups tbody tr').first();
  return `${spent}, ${await groupName(person, first)}`;
}

/** The name of a group, without the links below it. */
export async function groupName(person, row) {
  const text = await person.reads(row.locator('th'));
  return text.replace(/ Requests.*$/, '');
}

const hasUrl = (text, url) => (text.includes(url) ? 'the address' : 'no address');

function ofHome({ charges, named }) {
  const { id } = named(HOME);
  return charges.filter(({ account_id: account }) => account === id);
}

function yesterday(facts) {
  const { today } = facts;
  return ofHome(facts).filter(({ created_at: at }) => at >= today - DAY_MS && at < today);
}

/** A request of some days ago. */
function charged(facts) {
  const all = ofHome(facts).filter(({ input_tokens: tokens }) => tokens > 0);
  return all[Math.floor(all.length / 2)];
}

function lastMonth({ now }) {
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return [new Date(Date.UTC(year, month - 1)), new Date(Date.UTC(year, month))];
}
