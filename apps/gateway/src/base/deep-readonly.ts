/** A value of which nothing may be changed. */
export type DeepReadonly<Value> = Value extends object
  ? { readonly [Member in keyof Value]: DeepReadonly<Value[Member]> }
  : Value;
