import type { ChannelFamily } from './channel-tree.ts';

/** A family of channels as a rule writes it. */
export interface FamilyPattern {
  /** `/plant/{part1}/{name}` */
  readonly text: string;
  /** Captures that people would know something by, in order: `['part1', 'name']`. */
  readonly names: readonly string[];
  readonly hasCaptures: boolean;
  readonly hasWildcard: boolean;
  /** Segments that are shown as they are. */
  readonly words: readonly string[];
  readonly isService: boolean;
}

export function toPattern({ segments }: ChannelFamily): FamilyPattern {
  const names = segments.filter((segment) => segment.kind === 'capture' && !segment.isRandom).length;
  const ids = segments.filter((segment) => segment.kind === 'capture' && segment.isRandom).length;
  const captures: string[] = [];
  let id = 0;
  let text = '';
  for (const segment of segments) {
    if (segment.kind !== 'capture') {
      text += `/${segment.text}`;
    } else if (segment.isRandom) {
      id += 1;
      text += `/{id${ids === 1 ? '' : id}}`;
    } else {
      const name = captures.length + 1 === names ? 'name' : `part${captures.length + 1}`;
      captures.push(name);
      text += `/{${name}}`;
    }
  }
  const words = segments.flatMap((segment) => (segment.kind === 'text' ? [segment.text] : []));
  return {
    text,
    names: captures,
    hasCaptures: names + ids > 0,
    hasWildcard: segments.some(({ kind }) => kind === 'wildcard'),
    words,
    isService: words[0] === 'service' && segments[0]?.kind === 'text',
  };
}

/** `{part1}.{name}`; `alarms` for the channel `/plant/alarms`; undefined where only ids could tell one from another. */
export function toChannelName({ names, words, hasCaptures }: FamilyPattern): string | undefined {
  if (names.length > 0) return names.map((name) => `{${name}}`).join('.');
  return hasCaptures ? undefined : words.at(-1);
}
