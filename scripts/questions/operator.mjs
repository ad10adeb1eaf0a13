/** What an operator asks: see `customer.mjs`. */

import { readFileSync } from 'node:fs';
import { answer, groupName, tab } from './customer.mjs';
import { DAY_MS, HOUR_MS, endOfMoney, ranked, sumOf, unitsOf, usdOf } from './facts.mjs';

const ABUSER = 'Quick Cash';
const REFUNDED = 'Meridian Bank';
const WATCHED = 'Aster Robotics';
/** In the first minutes of a month, nothing has a cost yet, and the page shows no margin. */
const NO_MARGIN = 'none yet';

export const OPERATOR = [
  {
    text: 'Who are the top five customers of the week?',
    async ask(person) {
      await person.click(tab(person.page, 'Activity'));
      await person.click(person.page.getByRole('button', { name: '7 days' }));
      const rows = person.page.locator('table.groups tbody tr');
      const names = [];
      for (let index = 0; index < 5; index += 1) {
        names.push(await groupName(person, rows.nth(index)));
      }
      return names.join(', ');
    },
    expected({ charges, accounts, today }) {
      const names = new Map(accounts.map(({ id, name }) => [id, name]));
      const week = charges.filter(({ created_at: at }) => at >= today - 6 * DAY_MS);
      return ranked(week, ({ account_id: id }) => names.get(id))
        .slice(0, 5)
        .map(([name]) => name)
        .join(', ');
    },
  },
  {
    text: 'What margin do I make this month?',
    async ask(person) {
      await answer(person.page, 'Failed in the last hour').waitFor();
      const margin = answer(person.page, 'Margin this month');
      if ((await margin.count()) === 0) return NO_MARGIN;
      return person.readsExactly(margin.locator('data').first());
    },
    expected({ charges, now }) {
      const date = new Date(now);
      const month = Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
      const its = charges.filter(({ created_at: at }) => at >= month);
      if (its.length === 0) return NO_MARGIN;
      return usdOf(sumOf(its) - its.reduce((sum, { cost }) => sum + unitsOf(cost), 0n));
    },
  },
  {
    text: 'Which requests failed, and why?',
    async ask(person) {
      const figure = answer(person.page, 'Failed in the last hour');
      const count = await person.readsExactly(figure.locator('data').first());
      await person.click(figure.getByRole('link'));
      const row = person.page.locator('tr[data-request]').first();
      return `${count}, last ${await person.reads(row.locator('.when.wraps'))}`;
    },
    expected(facts) {
      // Sums are kept for five minutes each, of which the last is not over.
      const period = HOUR_MS / 12;
      const from = Math.ceil((facts.now + 1) / period) * period - HOUR_MS;
      const failed = facts.requests.filter(
        ({ error_type: type, endedAt }) => type !== null && endedAt >= from,
      );
      const last = failed.sort((a, b) => b.endedAt - a.endedAt)[0];
      const count = failed.reduce((sum, each) => sum + each.count, 0);
      return `${String(count)}, last ${last.error_type}: ${last.message}`;
    },
  },
  {
    text: 'Who is about to run out?',
    async ask(person) {
      const rows = person.page.locator('[data-runs-out]');
      const names = [];
      for (let index = 0; index < (await rows.count()); index += 1) {
        names.push(await person.reads(rows.nth(index).getByRole('link').first()));
      }
      return names.sort().join(', ');
    },
    expected(facts) {
      const { accounts, now } = facts;
      return accounts
        .filter((account) => (endOfMoney(facts, account)?.getTime() ?? Infinity) < now + 3 * DAY_MS)
        .map(({ name }) => name)
        .sort()
        .join(', ');
    },
  },
  {
    text: 'Block this abuser now.',
    async ask(person) {
      const row = person.page.locator('[data-unusual]', { hasText: ABUSER });
      await person.click(row.getByRole('link', { name: 'suspend it' }));
      await person.click(person.page.getByRole('button', { name: 'Suspend', exact: true }));
      await person.click(person.page.getByRole('button', { name: 'Suspend the account' }));
      return person.reads(person.page.getByRole('dialog').getByRole('status'));
    },
    expected: ({ named }) => `${ABUSER} is now ${named(ABUSER).state}.`,
    after: ({ admin, facts }) =>
      admin('POST', `/admin/accounts/${facts.named(ABUSER).id}/resume`, {}),
  },
  {
    text: 'Refund 5 USD.',
    async ask(person) {
      await person.finds(`paid out 5 ${REFUNDED}`);
      await person.click(person.page.getByRole('button', { name: 'Take back 5 USD' }));
      const done = person.page.getByRole('dialog').getByRole('status');
      await person.reads(done);
      return person.readsExactly(done.locator('data'));
    },
    expected({ named, adjustments }) {
      const { id, balance } = named(REFUNDED);
      const last = adjustments.filter(({ account_id: account }) => account === id).at(-1);
      const isBooked = last?.reason === 'refund' && unitsOf(last.delta) === -5n * 10n ** 14n;
      return isBooked ? usdOf(unitsOf(balance)) : 'nothing is booked';
    },
  },
  {
    text: 'What does this customer see?',
    async ask(person) {
      await person.finds(WATCHED);
      const [opened] = await Promise.all([
        person.page.context().waitForEvent('page'),
        person.click(person.page.getByRole('button', { name: 'See what the customer sees' })),
      ]);
      person.page = opened;
      await person.page.locator('#balance').waitFor();
      return person.readsExactly(person.page.locator('#balance data'));
    },
    expected: ({ named }) => usdOf(unitsOf(named(WATCHED).balance)),
  },
  {
    text: 'Is the upstream well, and which one? Which version?',
    async ask(person) {
      const rows = person.page.locator('[data-upstream]');
      const names = [];
      for (let index = 0; index < (await rows.count()); index += 1) {
        const row = rows.nth(index);
        const requests = await person.readsExactly(row.locator('td.n data'));
        names.push(`${await person.reads(row.locator('th'))} ${requests}`);
      }
      const version = await person.reads(person.page.getByText(/Version \S+\.$/));
      return `${names.sort().join(', ')}; ${/Version (.*)\.$/.exec(version)?.[1]}`;
    },
    expected({ requests, now }) {
      const period = HOUR_MS / 12;
      const from = Math.ceil((now + 1) / period) * period - HOUR_MS;
      const counts = new Map([
        ['primary', 0],
        ['second', 0],
      ]);
      for (const { upstream_account: name, endedAt, count } of requests) {
        if (name !== null && endedAt >= from) counts.set(name, (counts.get(name) ?? 0) + count);
      }
      const upstreams = [...counts].map(([name, count]) => `${name} ${String(count)}`);
      const manifest = new URL('../../apps/gateway/package.json', import.meta.url);
      return `${upstreams.sort().join(', ')}; ${JSON.parse(readFileSync(manifest, 'utf8')).version}`;
    },
  },
];
