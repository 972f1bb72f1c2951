/** What one message says that others may say too: the scalars that a rule could point to, as hashes, and a fingerprint. */
import { MAX_PARTS } from './bounds.ts';
import { hashOf } from './distinct.ts';
import { looksLikeField } from './looks.ts';

/** A text or number in the data, where a pointer of a rule finds it. */
export interface Scalar {
  /** `/call/method`, into data. */
  readonly pointer: string;
  /** `method`. */
  readonly name: string;
  readonly type: 'text' | 'number';
  /** Of the text, or of the number as text. */
  readonly hash: number;
}

export interface Look {
  /** At most 32, none of them deeper than four fields. */
  readonly scalars: readonly Scalar[];
  /** The same for the same data, as far as it is looked at. */
  readonly fingerprint: number;
}

export function lookAt(data: unknown): Look {
  const scalars: Scalar[] = [];
  let fingerprint = 0;
  let parts = 0;
  const visit = (value: unknown, pointer: string, name: string, depth: number): void => {
    parts += 1;
    if (typeof value === 'object' && value !== null) {
      if (depth >= MAX_POINTER_DEPTH) return;
      for (const key in value) {
        if (parts >= MAX_PARTS) return;
        // Entries of lists have no place of their own that a rule could name.
        const isNamed = !Array.isArray(value) && pointer !== UNNAMED && looksLikeField(key);
        const inner = isNamed ? `${pointer}/${key}` : UNNAMED;
        visit((value as Readonly<Record<string, unknown>>)[key], inner, key, depth + 1);
      }
      return;
    }
    const hash = hashOf(String(value));
    fingerprint = hashOf(`${fingerprint} ${name} ${hash}`);
    if (pointer === UNNAMED || pointer === '' || value === '' || scalars.length >= MAX_SCALARS) return;
    if (typeof value === 'string') scalars.push({ pointer, name, type: 'text', hash });
    else if (typeof value === 'number') scalars.push({ pointer, name, type: 'number', hash });
  };
  visit(data, '', '', 0);
  return { scalars, fingerprint };
}

const UNNAMED = '-';
const MAX_POINTER_DEPTH = 4;
const MAX_SCALARS = 32;
