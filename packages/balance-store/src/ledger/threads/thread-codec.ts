/**
 * Encodes values that are sent between threads as text. A message port would create copied objects
 * with the classes of the process's main realm, and test runners run code in another realm. Objects
 * that are decoded from text have the classes of the code that decodes them.
 */

/**
 * Values that JSON lacks, each as an object with one of these members. An object of the ledger that
 * has a member with such a name, as metadata may, is sent as `$members`.
 */
interface Tags {
  readonly $bigint: string;
  readonly $date: number;
  readonly $bytes: string;
  readonly $undefined: true;
  readonly $members: readonly (readonly [name: string, value: unknown])[];
}

export function encode(value: unknown): string {
  return JSON.stringify(tag(value));
}

export function decode(encoded: unknown): unknown {
  return untag(JSON.parse(String(encoded)));
}

function tag(value: unknown): unknown {
  if (value === undefined) return { $undefined: true } satisfies Partial<Tags>;
  if (typeof value === 'bigint') return { $bigint: value.toString() } satisfies Partial<Tags>;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) {
    return { $bytes: Buffer.from(value).toString('base64') } satisfies Partial<Tags>;
  }
  if (Array.isArray(value)) return value.map(tag);
  // Not `instanceof`: a date may come from another realm.
  if (Object.prototype.toString.call(value) === '[object Date]') {
    return { $date: (value as Date).getTime() } satisfies Partial<Tags>;
  }
  const members = Object.entries(value).map(([name, member]) => [name, tag(member)] as const);
  if (members.some(([name]) => name.startsWith('$'))) {
    return { $members: members } satisfies Partial<Tags>;
  }
  return Object.fromEntries(members);
}

function untag(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const tagged = value as Partial<Tags>;
  if (tagged.$bigint !== undefined) return BigInt(tagged.$bigint);
  if (tagged.$date !== undefined) return new Date(tagged.$date);
  if (tagged.$bytes !== undefined) return Buffer.from(tagged.$bytes, 'base64');
  if (tagged.$undefined !== undefined) return undefined;
  if (tagged.$members !== undefined) {
    return Object.fromEntries(tagged.$members.map(([name, member]) => [name, untag(member)]));
  }
  if (Array.isArray(value)) return value.map(untag);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, untag(member)]));
}
