/** Codings of the stored page files, the best one first. */
export const CODINGS = ['br', 'gzip'] as const;

export type Coding = (typeof CODINGS)[number];

/**
 * The best coding that `field`, an Accept-Encoding, accepts, e.g. `gzip` for `gzip, deflate, br;q=0`. Undefined means
 * unencoded, even if the client does not accept that. RFC 9110 §12.5.3.
 */
export function negotiateCoding(field: string | undefined, kept: readonly Coding[] = CODINGS): Coding | undefined {
  const weights = weightsOf(field ?? '');
  const weightOf = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0;
  let best: Coding | undefined;
  for (const coding of kept) {
    if (weightOf(coding) > (best === undefined ? 0 : weightOf(best))) best = coding;
  }
  return best;
}

/** Members of a list in a request's field, and parameters of a member, that are read; the rest is ignored. */
export const MAX_MEMBERS = 64;

function weightsOf(field: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const element of field.split(',', MAX_MEMBERS)) {
    const [coding = '', ...parameters] = element.split(';', MAX_MEMBERS).map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    if (coding !== '') weights.set(coding, weight === undefined ? 1 : toWeight(weight.slice(2)));
  }
  return weights;
}

/** An unreadable weight counts as 0: unencoded is always safe. */
function toWeight(text: string): number {
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}
