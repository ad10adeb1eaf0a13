/** Counts how many items of lists a function reads, of those that it makes itself, too. */

type Method = (this: readonly unknown[], ...args: unknown[]) => unknown;

const WITH_CALLBACK =
  'every filter find findIndex findLast flatMap forEach map reduce some sort toSorted'.split(' ');
const WITHOUT = ['concat', 'flat', 'join', 'reverse', 'slice', 'toReversed', 'toSpliced', 'with'];
const SEARCHES = ['includes', 'indexOf', 'lastIndexOf'];

/**
 * Runs a function whose work is mainly in lists, and counts the items that iterations and the
 * methods of arrays visit. Unlike time, this number is the same in each run.
 */
export function countingReads<Result>(run: () => Result): {
  readonly result: Result;
  readonly reads: number;
} {
  let reads = 0;
  const prototype = Array.prototype as unknown as Record<PropertyKey, Method>;
  const originals = new Map<PropertyKey, Method>();
  const replace = (name: PropertyKey, make: (original: Method) => Method): void => {
    const original = prototype[name];
    if (original === undefined) return;
    originals.set(name, original);
    Object.defineProperty(prototype, name, {
      value: make(original),
      writable: true,
      configurable: true,
    });
  };
  const { apply } = Reflect;

  for (const name of WITH_CALLBACK) {
    replace(name, (original) => {
      return function counted(callback, ...rest) {
        if (typeof callback !== 'function') return apply(original, this, [callback, ...rest]);
        const each = (...args: unknown[]): unknown => {
          reads += 1;
          return apply(callback, rest[0], args);
        };
        return apply(original, this, [each, ...rest]);
      };
    });
  }
  for (const name of SEARCHES) {
    replace(name, (original) => {
      return function counted(...args) {
        const found = apply(original, this, args);
        // At most: a search ends at the item that it finds.
        reads += this.length;
        return found;
      };
    });
  }
  for (const name of WITHOUT) {
    replace(name, (original) => {
      return function counted(...args) {
        reads += this.length;
        return apply(original, this, args);
      };
    });
  }
  for (const name of [Symbol.iterator, 'entries']) {
    replace(name, (original) => {
      return function* counted(this: readonly unknown[]) {
        for (let index = 0; index < this.length; index += 1) {
          reads += 1;
          yield name === 'entries' ? [index, this[index]] : this[index];
        }
        void original;
      };
    });
  }
  try {
    return { result: run(), reads };
  } finally {
    for (const [name, value] of originals) {
      Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
    }
  }
}
