import type { Random } from './random.ts';

/** `text` with one change: some of it removed or copied elsewhere, another octet, or one of `snippets` added or put in its place. */
export function changed(text: string, snippets: readonly string[], random: Random): string {
  const at = random.below(text.length + 1);
  const from = random.below(text.length + 1);
  const removed = random.pick([0, 0, 1, random.below(6)]);
  const added = random.pick([
    ...[random.pick(snippets), random.pick(snippets), '', String.fromCharCode(random.below(256))],
    text.slice(from, from + random.below(40)),
  ]);
  return text.slice(0, at) + added + text.slice(at + removed);
}
