/** Ids in lists: one line each, also on a phone. */

/**
 * The last characters differ most, because the ids that the gateway makes begin with a prefix and
 * the time of their creation.
 */
const END = 6;

/**
 * An id. A narrow screen shows only its beginning and its end, but copying and screen readers still
 * get the whole id.
 */
export function Id({ of }: { readonly of: string }) {
  return (
    <span class="id short-id" title={of}>
      <span>{of.slice(0, -END)}</span>
      {of.slice(-END)}
    </span>
  );
}
