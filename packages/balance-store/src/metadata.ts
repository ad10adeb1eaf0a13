/** Values that an operator attaches to an account or a key. At most 50 pairs and 4 KB as JSON. */
export type Metadata = Readonly<Record<string, string>>;
