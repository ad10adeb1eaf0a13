/** Parts of the shapes of responses. */

import { z } from 'zod';

export const usd = z
  .string()
  .regex(/^-?\d+(\.\d{1,14})?$/)
  .meta({ id: 'Usd', description: 'USD, exact to 14 decimals', examples: ['12.5'] });
export const time = z.string().meta({ id: 'Time', format: 'date-time', description: 'UTC' });
export const text = z.string();
export const count = z.int().min(0);
export const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable();

export function listOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: orNull(text),
  });
}
