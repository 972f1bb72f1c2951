import { expect, it } from 'vitest';
import { MessageBatches } from '../../../../src/protocol/bayeux/message-batches.ts';
import { costOf } from '../../../support/protocol/cost.ts';
import { readAll } from './read-all.ts';

const FILLER = 'x'.repeat(100);

/** `count` messages of about 160 characters, the n-th on channel `/n`. */
function manyMessages(count: number): string[] {
  return Array.from({ length: count }, (_, n) =>
    JSON.stringify({ channel: `/${n}`, data: { n, text: `]},"\\${FILLER}` } }),
  );
}

function toBatches(text: string) {
  const batches = new MessageBatches(text);
  const all = [];
  for (let batch = batches.next(); batch !== undefined; batch = batches.next()) all.push(batch);
  return all;
}

it('a long array is read in batches of at most 200 messages, none left out, in order', () => {
  const texts = manyMessages(5_000);
  for (const text of [`[${texts.join(',')}]`, ` \r\n[ ${texts.join(' ,\t')} ]\n`]) {
    const batches = toBatches(text);
    expect(batches.every((batch) => typeof batch !== 'string' && batch.length <= 200)).toBe(true);
    expect(batches.length).toBeGreaterThanOrEqual(25);
    expect(readAll([text])?.map(({ channel }) => channel)).toEqual(texts.map((_, n) => `/${n}`));
  }
});

it('a long array is read around a message that is too long, or has too many brackets', () => {
  const texts = manyMessages(200);
  const long = JSON.stringify({ channel: '/long', data: 'y'.repeat(70_000) });
  const deep = `{"channel":"/deep","data":${'['.repeat(8_192)}${']'.repeat(8_192)}}`;
  const batches = toBatches(`[${texts.join(',')},${long},{"channel":"/between"},${deep},{"channel":"/last"}]`);
  expect(batches.filter((batch) => batch === 'too-complex')).toHaveLength(2);
  const channels = batches.flatMap((batch) => (typeof batch === 'string' ? [] : batch.map(({ channel }) => channel)));
  expect(channels).toEqual([...texts.map((_, n) => `/${n}`), '/between', '/last']);
});

it('a long array ends where it is no JSON: what came before is read', () => {
  const texts = manyMessages(400);
  for (const end of ['', ']x', '}', ',]]', '],']) {
    const batches = toBatches(`[${texts.join(',')}${end}`);
    expect(batches.at(-1), end).toBe('not-bayeux');
    expect(batches.filter((batch) => batch === 'not-bayeux')).toHaveLength(1);
  }
});

it('a long array without any message is not Bayeux, but for an empty one', () => {
  expect(toBatches(`[${'1,'.repeat(10_000)}1]`).at(-1)).toBe('not-bayeux');
  expect(toBatches(`[${' '.repeat(20_000)}]`)).toEqual([[]]);
  expect(toBatches(`[${'1,'.repeat(10_000)}{"channel":"/a"}]`).at(-1)).toHaveLength(1);
});

it('one long message is read up to 64 KiB, and up to 8,192 arrays and objects in it, however deep, with many blanks in front', () => {
  const message = (chars: number) => `{"channel":"/a","data":"${'z'.repeat(chars)}"}`;
  expect(readAll([message(65_000)])).toHaveLength(1);
  expect(toBatches(message(66_000))).toEqual(['too-complex']);
  const deep = (depth: number) =>
    `{"channel":"/a","data":${'['.repeat(depth)}${' '.repeat(10_000)}${']'.repeat(depth)}}`;
  expect(readAll([deep(8_000)])).toHaveLength(1);
  expect(toBatches(deep(8_192))).toEqual(['too-complex']);
  expect(readAll([`${' \t\r\n'.repeat(250_000)}{"channel":"/a"}`])).toHaveLength(1);
});

// The square of the length would cost ten thousand times as much, and more.
it.each(['"', '\\"', '\\\\"', '[', ']', '[]', '{},', '"\\', ',', ' '])(
  'costs less than a hundred times as much as messages of the same length when it is full of %s',
  (unit) => {
    const read = (piece: string) => costOf(() => toBatches(`[${piece.repeat(1_000_000 / piece.length)}]`));
    expect(read(unit)).toBeLessThan(100 * read('{"channel":"/a"},'));
  },
);
