import type { z } from 'zod';

/** Keys of a rule that the configuration refuses, without doubles: a key may fail by itself and in the whole rule. */
export function wrongKeys(schema: z.ZodType, rule: object): string[] {
  const issues = schema.safeParse(rule).error?.issues ?? [];
  return [...new Set(issues.map(({ path }) => path.join('.')))];
}
