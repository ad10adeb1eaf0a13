/**
 * Every value of a key that its holder may change, as a call below `/v1/dashboard/keys/{id}`.
 */

const TINY_CAPS = ['0', '0.00000000000001', '0.0001', '0.01'];
const patch = (fields) => /** @type {const} */ (['PATCH', '', fields]);
const post = (action, body = {}) => /** @type {const} */ (['POST', `/${action}`, body]);
const capOf = (period) => (random) => patch({ [`cap_${period}_usd`]: random.pick(TINY_CAPS) });

export const CHANGES = {
  capDay: capOf('day'),
  capWeek: capOf('week'),
  capMonth: capOf('month'),
  capTotal: capOf('total'),
  models: () => patch({ models: ['claude-sonnet-5'] }),
  expiry: (random) =>
    patch({ expires_at: new Date(Date.now() + random.pick([50, 1_000, 1e7])).toISOString() }),
  limits: () => patch({ concurrency: 1, burst: 1, requests_per_minute: 1 }),
  name: () => patch({ name: 'another name' }),
  metadata: () => patch({ metadata: { plan: 'another plan' } }),
  suspend: () => post('suspend'),
  revoke: () => post('revoke'),
  rotate: (random) => post('rotate', { grace_seconds: random.pick([0, 60]) }),
  /** Changed by an operator: a holder may not change it. */
  scope: () => patch({}),
};

/** @returns the call that changes a value back, if it can be changed back */
export function undoOf(name) {
  switch (name) {
    case 'capDay':
      return patch({ cap_day_usd: null });
    case 'capWeek':
      return patch({ cap_week_usd: null });
    case 'capMonth':
      return patch({ cap_month_usd: null });
    case 'capTotal':
      return patch({ cap_total_usd: null });
    case 'models':
      return patch({ models: null });
    case 'expiry':
      return patch({ expires_at: null });
    case 'suspend':
      return post('resume');
    default:
      return undefined;
  }
}
