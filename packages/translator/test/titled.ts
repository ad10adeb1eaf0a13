/** Vectors with the titles of their tests: the file's name, and what the vector shows. */
export function titled<Vector extends { readonly why: string }>(
  vectors: readonly (readonly [name: string, vector: Vector])[],
): (readonly [title: string, vector: Vector])[] {
  return vectors.map(([name, vector]) => [`${name}: ${vector.why}`, vector]);
}
