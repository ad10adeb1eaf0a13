/**
 * A sentence for the system prompt.
 *
 * @param value - Continues "one valid JSON". Names the form that the text of an answer must have,
 * and ends with a colon and a space, or with a line break.
 */
export function jsonInstruction(value: string): string {
  return `Whenever you reply with text, the whole text must be one valid JSON ${value}no Markdown code fence, nothing before or after it.`;
}
