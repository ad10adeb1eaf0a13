/**
 * The tier that served a request, by OpenAI's name; undefined if OpenAI has no such tier.
 * https://platform.claude.com/docs/en/api/service-tiers
 */
export function chatServiceTier(tier: unknown): 'default' | 'priority' | undefined {
  if (tier === 'standard') return 'default';
  return tier === 'priority' ? tier : undefined;
}
