/**
 * A cache point, spelled as the native format has it: `cache_control` of a block, tool or request.
 */
export interface CacheControl {
  type: 'ephemeral';
  ttl?: '5m' | '1h' | undefined;
}
