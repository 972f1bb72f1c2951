import { expect, it } from 'vitest';
import { findHeadEnd } from '../../../../src/protocol/http1/characters.ts';

/** All texts of that length out of CR, LF and a letter. */
function textsOf(length: number): string[] {
  if (length === 0) return [''];
  return textsOf(length - 1).flatMap((text) => ['\r', '\n', 'a'].map((letter) => text + letter));
}

it('the end of a head is found where it is, in each text of up to 9 letters, from each offset to each end', () => {
  for (const text of [...textsOf(9), ...textsOf(4)]) {
    const bytes = Buffer.from(text, 'latin1');
    for (const from of [0, 1, 2, 3]) {
      for (const to of [text.length - 1, text.length]) {
        const at = bytes.subarray(0, to).indexOf('\r\n\r\n', from);
        if (findHeadEnd(bytes, from, to) !== (at === -1 ? -1 : at + 4)) expect.fail(JSON.stringify([text, from, to]));
      }
    }
  }
});
