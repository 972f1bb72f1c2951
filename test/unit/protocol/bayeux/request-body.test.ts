import { expect, it } from 'vitest';
import { MAX_PARAMETERS, parseCallbackQuery } from '../../../../src/protocol/bayeux/request-body.ts';
import { costOf } from '../../../support/protocol/cost.ts';
import { parseCallbackMessages, parseRequestText, parseResponseText } from './read-all.ts';

const FORM = 'application/x-www-form-urlencoded';
const A = '{"channel":"/a"}';
const B = '[{"channel":"/b"},{"channel":"/c"}]';
const enc = encodeURIComponent;
const channels = (messages: readonly { channel: string }[] | undefined) => messages?.map(({ channel }) => channel);

it.each([
  ['JSON', 'application/json', B, ['/b', '/c']],
  ['JSON with a parameter', 'APPLICATION/JSON; charset="utf-8"', B, ['/b', '/c']],
  ['a form', FORM, `message=${enc(A)}`, ['/a']],
  ['a form with several', FORM, `x=1&message=${enc(B)}&&y&message=${enc(A)}&`, ['/b', '/c', '/a']],
  // There are servers that do not look at the type.
  ['a form that is JSON', FORM, B, ['/b', '/c']],
  ['plain text that is a form', 'text/plain', `message=${enc(A)}`, ['/a']],
  ['a form with bad escapes', FORM, 'message={"channel":"/100%","data":"%7B+"}', ['/100%']],
  ['a form with a broken message', FORM, `message=${enc(A)}&message=`, undefined],
  ['a form without a value', FORM, 'message', undefined],
])('the body of a POST of the type of %s is read', (_, type, body, expected) => {
  expect(channels(parseRequestText(type, body))).toEqual(expected);
});

it('the body of a POST is a form only where the type says so exactly', () => {
  // As JSON it is one message; as a form it would be another.
  const both = '{"channel":"/json","data":"&message=%7B%22channel%22:%22/form%22%7D&"}';
  expect(channels(parseRequestText('application/json', both))).toEqual(['/json']);
  expect(channels(parseRequestText(`${FORM}2`, both))).toEqual(['/json']);
  expect(channels(parseRequestText(FORM, both))).toEqual(['/form']);
});

it('the body of a POST has plus signs for spaces and escapes in names and values', () => {
  const text = 'm%65ssage=%7B%22channel%22:%22/a%22,%22data%22:%22a+b%2B%C4%8C%22%7D';
  expect(parseRequestText(FORM, text)?.[0]?.data).toBe('a b+Č');
});

it('the body of a POST has a bound on its parameters, and as a form on its length', () => {
  const last = `message=${enc(A)}`;
  expect(parseRequestText(FORM, '&'.repeat(MAX_PARAMETERS - 1) + last)).toHaveLength(1);
  expect(parseRequestText(FORM, '&'.repeat(MAX_PARAMETERS) + last)).toBeUndefined();
  expect(parseRequestText(FORM, `${last}&x=${'y'.repeat(65_000)}`)).toHaveLength(1);
  expect(parseRequestText(FORM, `${last}&x=${'y'.repeat(66_000)}`)).toBeUndefined();
});

it.each([
  ['parameters', 'x&'],
  ['escapes', '%&'],
  ['letters in a name', 'y'],
])('the body of a POST of many %s is searched once: it costs no more than messages', (_, unit) => {
  const read = (type: string, piece: string) =>
    costOf(() => parseRequestText(type, piece.repeat(1_000_000 / piece.length)));
  expect(parseRequestText(FORM, unit.repeat(500_000))).toBeUndefined();
  // The square of the length would cost ten thousand times as much, and more.
  expect(read(FORM, unit)).toBeLessThan(100 * read('application/json', '{"channel":"/a"}'));
});

it.each([
  ['the CometD client', `/smartWeb/api/cometd/connect?jsonp=_cometd_jsonp_0&message=${enc(B)}`, '_cometd_jsonp_0'],
  ['faye', `/cometd?${new URLSearchParams({ message: B, jsonp: '__jsonp1__' })}`, '__jsonp1__'],
])('a query of callback-polling is read as %s writes it', (_, target, callback) => {
  expect(parseCallbackQuery(target.slice(target.indexOf('?') + 1))?.callback).toBe(callback);
  expect(channels(parseCallbackMessages(target))).toEqual(['/b', '/c']);
});

it('a query of callback-polling has a default for the callback, and may hold several messages, and letters that are not escaped', () => {
  expect(parseCallbackQuery(`message=${enc(A)}`)?.callback).toBe('jsonpcallback');
  expect(parseCallbackQuery(`jsonp=&message=${enc(A)}`)?.callback).toBe('jsonpcallback');
  const target = Buffer.from(`/cometd?message=${A}&message={"channel":"/d2/object/Č"}`).toString('latin1');
  expect(channels(parseCallbackMessages(target))).toEqual(['/a', '/d2/object/Č']);
});

it.each(['/smartWeb/api/cometd', '/cometd?jsonp=cb', '/cometd?jsonp=cb&message=', '/message=[]'])(
  '%s has no query of callback-polling',
  (target) => {
    expect(parseCallbackMessages(target)).toBeUndefined();
  },
);

const JSON_TEXT = '[{"channel":"/meta/connect","successful":true},{"channel":"/a","data":") ;"}]';
const responded = (body: string, callback?: string) => channels(parseResponseText(body, callback));

it('a response is JSON, also in spite of a callback', () => {
  expect(responded(JSON_TEXT)).toEqual(['/meta/connect', '/a']);
  expect(responded(`cb(${JSON_TEXT})`)).toBeUndefined();
  expect(responded(JSON_TEXT, 'cb')).toEqual(['/meta/connect', '/a']);
});

it.each([
  ['of faye', `/**/__jsonp1__(${JSON_TEXT});`, '__jsonp1__'],
  ['with space and a longer comment', `\r\n/* * x */ cb (\n${JSON_TEXT}\n)\n ;\n`, 'cb'],
  ['by a dotted name', `/**/window.a$.b_1(${JSON_TEXT});`, 'window.a$.b_1'],
])('a response is a call of the callback %s', (_, body, callback) => {
  expect(responded(body, callback)?.[0]).toBe('/meta/connect');
});

it.each([
  ['another callback', `other(${JSON_TEXT});`],
  ['an open comment', `/* cb(${JSON_TEXT});`],
  ['no end', `cb(${JSON_TEXT}`],
  ['two arguments', `cb(${JSON_TEXT},1)`],
  ['more after it', `cb(${JSON_TEXT}); alert(1)`],
  ['a page', '<html>cb([])</html>'],
])('a response is not Bayeux with %s', (_, body) => {
  expect(responded(body, 'cb')).toBeUndefined();
});
