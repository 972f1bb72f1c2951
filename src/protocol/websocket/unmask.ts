/**
 * Copies `source[from, to)` to the beginning of `target` without the masking of RFC 6455 §5.3. `mask` is the masking key
 * as one number, its first byte in the highest position, e.g. 0x37fa213d; 0 if nothing is masked. `phase` is the number of
 * payload bytes of the frame that came before. `source` belongs to the traffic and is not changed.
 */
export function copyUnmasked(
  source: Buffer,
  { from, to }: { readonly from: number; readonly to: number },
  target: Buffer,
  mask: number,
  phase: number,
): void {
  if (mask === 0) {
    source.copy(target, 0, from, to);
    return;
  }
  for (let i = 0; i < to - from; i += 1) {
    target[i] = (source[from + i] as number) ^ (mask >>> (24 - 8 * ((phase + i) & 3)));
  }
}
