/**
 * The customers of the demo. `perDay` is how many sessions of coding agents and how many single
 * requests of a service a working day has; days count back from today.
 */

const LONG_NAME =
  'The Consolidated Institute for Applied Language Technology, Documentation and Long Names of ' +
  'Every Kind, Limited';

const MODELS = {
  'claude-sonnet-5-5': 5,
  'claude-opus-5-5': 3,
  'claude-haiku-5-5': 4,
  'claude-fable-5-2': 1,
};
const CHEAP = { 'claude-haiku-5-5': 6, 'claude-sonnet-5-5': 1 };

/** Credits are in USD; `expiresInDays` counts from the credit. */
export const CUSTOMERS = [
  {
    name: 'Northwind Labs',
    keys: ['platform team', 'production', 'staging', 'ci'],
    models: MODELS,
    perDay: { sessions: 2.2, singles: 14 },
    credits: [
      { usd: '400', daysAgo: 61 },
      { usd: '400', daysAgo: 20 },
      { usd: '80', daysAgo: 5, source: 'promotional', expiresInDays: 16 },
    ],
    // Somebody let an agent run over a whole repository.
    busy: { daysAgo: 9, times: 9 },
  },
  {
    name: 'Aster Robotics',
    keys: ['lead', 'production'],
    models: MODELS,
    perDay: { sessions: 1.6, singles: 12 },
    // Its money lasts for about two days more.
    credits: [{ usd: '200', daysAgo: 61 }],
    lastsDays: 2,
  },
  {
    name: 'مختبرات النيل',
    keys: ['الإنتاج'],
    models: MODELS,
    perDay: { sessions: 0.9, singles: 5 },
    credits: [{ usd: '300', daysAgo: 58 }],
  },
  {
    name: 'מעבדות כרמל',
    keys: ['מפתח ראשי', 'production'],
    models: CHEAP,
    perDay: { sessions: 0.3, singles: 12 },
    credits: [{ usd: '120', daysAgo: 50 }],
  },
  {
    name: LONG_NAME,
    keys: ['production', 'a key whose name is long as well, because somebody wrote its purpose'],
    models: CHEAP,
    perDay: { sessions: 0.2, singles: 5 },
    credits: [{ usd: '90', daysAgo: 45 }],
  },
  {
    name: 'Meridian Bank',
    keys: ['production', 'risk', 'research', 'support desk'],
    models: { 'claude-opus-5-5': 4, 'claude-sonnet-5-5': 3, 'claude-fable-5-2': 2 },
    perDay: { sessions: 1.2, singles: 10 },
    credits: [{ usd: '12000000', daysAgo: 60 }],
  },
  {
    name: 'Pocket',
    keys: ['phone'],
    models: CHEAP,
    perDay: { sessions: 0, singles: 1.5 },
    credits: [{ usd: '1', daysAgo: 40 }],
  },
  {
    name: 'Overdrawn Ltd',
    keys: ['production'],
    models: { 'claude-opus-5-5': 1 },
    perDay: { sessions: 0.8, singles: 2 },
    credits: [{ usd: '30', daysAgo: 40 }],
  },
  {
    name: 'Trial',
    keys: ['first steps'],
    models: MODELS,
    perDay: { sessions: 0.15, singles: 1 },
    credits: [
      { usd: '2', daysAgo: 35, source: 'promotional', expiresInDays: 14 },
      { usd: '5', daysAgo: 6, source: 'promotional', expiresInDays: 14 },
    ],
  },
  {
    name: 'Two Hundred Keys',
    keys: Array.from({ length: 200 }, (_, index) => `tenant ${String(index + 1).padStart(3, '0')}`),
    models: CHEAP,
    perDay: { sessions: 0, singles: 40 },
    credits: [{ usd: '250', daysAgo: 55 }],
  },
  { name: 'Not used yet', keys: ['production'], models: CHEAP, credits: [] },
  {
    // New, and from its second hour on it tries how much it can take.
    name: 'Quick Cash',
    keys: ['a', 'b', 'c', 'd', 'e', 'f'],
    models: { 'claude-opus-5-5': 1 },
    perDay: { sessions: 0, singles: 0 },
    credits: [{ usd: '20', daysAgo: 0.6, source: 'promotional', expiresInDays: 30 }],
    abuse: { hours: 5, requests: 420 },
  },
  {
    name: 'Fresh Start',
    keys: ['laptop'],
    models: MODELS,
    perDay: { sessions: 0, singles: 0 },
    credits: [{ usd: '10', daysAgo: 0.2 }],
  },
];
