/** Ids in lists: one line each, also on a phone. */

/** The last characters differ most, because ids begin with the time at which they were made. */
const END = 6;

/**
 * An id, of which a narrow screen shows the beginning and the end. The whole id is what is copied,
 * and what a screen reader reads.
 */
export function Id({ of }: { readonly of: string }) {
  return (
    <span class="id short-id" title={of}>
      <span>{of.slice(0, -END)}</span>
      {of.slice(-END)}
    </span>
  );
}
