/** A number with its noun, such as `1 model` or `3 models`. */
export function countText(count: number, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? '' : 's'}`;
}
