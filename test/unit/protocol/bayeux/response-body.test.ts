import { expect, it } from 'vitest';
import { parseResponseText } from './read-all.ts';

const JSON_TEXT = '[{"channel":"/meta/connect","successful":true},{"channel":"/a","data":") ;"}]';
const channels = (body: string, callback?: string) => parseResponseText(body, callback)?.map(({ channel }) => channel);

it('a response is JSON', () => {
  expect(channels(JSON_TEXT)).toEqual(['/meta/connect', '/a']);
  expect(channels(`cb(${JSON_TEXT})`)).toBeUndefined();
});

it.each([
  ['of faye', `/**/__jsonp1__(${JSON_TEXT});`, '__jsonp1__'],
  ['without comment and semicolon', `cb(${JSON_TEXT})`, 'cb'],
  ['with space and a longer comment', `\r\n/* * x */ cb (\n${JSON_TEXT}\n)\n ;\n`, 'cb'],
  ['by a dotted name', `/**/window.a$.b_1(${JSON_TEXT});`, 'window.a$.b_1'],
  ['with a single message', 'cb({"channel":"/meta/connect"})', 'cb'],
])('a response is a call of the callback %s', (_, body, callback) => {
  expect(channels(body, callback)?.[0]).toBe('/meta/connect');
});

it('a response may be JSON in spite of a callback', () => {
  expect(channels(JSON_TEXT, 'cb')).toEqual(['/meta/connect', '/a']);
});

it.each([
  ['another callback', `other(${JSON_TEXT});`],
  ['an open comment', `/* cb(${JSON_TEXT});`],
  ['no end', `cb(${JSON_TEXT}`],
  ['two arguments', `cb(${JSON_TEXT},1)`],
  ['more after it', `cb(${JSON_TEXT}); alert(1)`],
  ['only a closing parenthesis', 'cb)'],
  ['a page', '<html>cb([])</html>'],
])('a response is not Bayeux with %s', (_, body) => {
  expect(channels(body, 'cb')).toBeUndefined();
});
