/** Planted faults, one per run, which prove that the accounts would notice a sidecar with the same fault. */
export const LIE_KINDS = [
  'answer-byte',
  'answer-head',
  'answer-short',
  'answer-of-another',
  'poll-byte',
  'echo-byte',
  'echo-twice',
  'request-byte',
  'message-byte',
  'lost',
  'doubled',
] as const;

export type LieKind = (typeof LIE_KINDS)[number];

export class Lies {
  readonly #kind: LieKind | undefined;
  #left: number;

  /** The lie is told once, at the `at`th opportunity. */
  constructor(kind?: LieKind, at = 1) {
    this.#kind = kind;
    this.#left = at;
  }

  /** Whether to lie now. Must be called at every opportunity for that kind. */
  tells(kind: LieKind): boolean {
    if (kind !== this.#kind) return false;
    this.#left -= 1;
    return this.#left === 0;
  }
}

/** A copy with one wrong byte in the middle; empty stays empty. */
export function withWrongByte(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  const at = copy.length >> 1;
  if (copy.length > 0) copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}
