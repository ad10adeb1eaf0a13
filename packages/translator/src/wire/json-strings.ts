/** Finds where the string ends that begins at `opening`; -1 if it does not end. */
export function closingQuote(json: string, opening: number): number {
  for (let at = json.indexOf('"', opening + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let escape = at;
    while (json[escape - 1] === '\\') escape -= 1;
    if ((at - escape) % 2 === 0) return at;
  }
  return -1;
}
