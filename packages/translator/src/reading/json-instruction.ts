/**
 * A sentence for the system prompt.
 *
 * @param value - The form that the text of an answer must have, up to a colon or the end of a line.
 */
export function jsonInstruction(value: string): string {
  return `Whenever you reply with text, the whole text must be one valid JSON ${value}no Markdown code fence, nothing before or after it.`;
}
