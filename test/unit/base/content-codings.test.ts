import { expect, it } from 'vitest';
import { parseCodings } from '../../../src/base/content-codings.ts';

it.each([
  [undefined, []],
  [' , ', []],
  ['Identity', []],
  ['gzip', ['gzip']],
  ['BR', ['br']],
  ['identity,\tX-GZip ', ['x-gzip']],
  ['gzip, br', ['gzip', 'br']],
  ['gzip;q=1', ['gzip;q=1']],
  ['identity br', ['identity br']],
])('the field %j names %j', (field, codings) => {
  expect(parseCodings(field)).toEqual(codings);
});
