import { expect, it } from 'vitest';
import { MAX_PARAMETERS } from '../../../../src/protocol/bayeux/parameters.ts';
import { parseCallbackQuery } from '../../../../src/protocol/bayeux/request-body.ts';
import { parseCallbackMessages, parseRequestText } from './read-all.ts';

const FORM = 'application/x-www-form-urlencoded';
const A = '{"channel":"/a"}';
const B = '[{"channel":"/b"},{"channel":"/c"}]';
const enc = encodeURIComponent;
const channels = (messages: readonly { channel: string }[] | undefined) => messages?.map(({ channel }) => channel);

it.each([
  'application/json',
  'application/json;charset=UTF-8',
  'text/json',
  'APPLICATION/JSON; charset="utf-8"',
  'text/plain',
  undefined,
])('the body of a POST is JSON with the type %s', (type) => {
  expect(channels(parseRequestText(type, B))).toEqual(['/b', '/c']);
});

it.each([[FORM], [`${FORM}; charset=UTF-8`], ['Application/X-WWW-Form-Urlencoded']])(
  'the body of a POST is a form with the type %s',
  (type) => {
    expect(channels(parseRequestText(type, `message=${enc(A)}`))).toEqual(['/a']);
  },
);

it('the body of a POST may hold a message, an array, or several of both as parameters of a form', () => {
  expect(channels(parseRequestText(FORM, `message=${enc(B)}`))).toEqual(['/b', '/c']);
  expect(channels(parseRequestText(FORM, `message=${enc(A)}&message=${enc(A)}`))).toEqual(['/a', '/a']);
  expect(channels(parseRequestText(FORM, `x=1&message=${enc(B)}&&y&message=${enc(A)}&`))).toEqual(['/b', '/c', '/a']);
});

it('the body of a POST is read whatever the type says, since there are servers that do not look at it', () => {
  expect(channels(parseRequestText(FORM, B))).toEqual(['/b', '/c']);
  expect(channels(parseRequestText('text/plain', `message=${enc(A)}`))).toEqual(['/a']);
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

it('the body of a POST is not Bayeux when one of its messages is not', () => {
  expect(parseRequestText(FORM, `message=${enc(A)}&message=`)).toBeUndefined();
  expect(parseRequestText(FORM, 'message')).toBeUndefined();
  expect(parseRequestText(FORM, 'user=ana&password=x')).toBeUndefined();
  expect(parseRequestText(FORM, '')).toBeUndefined();
});

it('the body of a POST leaves bad escapes alone', () => {
  expect(parseRequestText(FORM, 'message={"channel":"/100%","data":"%7B+"}')?.[0]).toEqual({
    channel: '/100%',
    data: '{ ',
  });
});

it('the body of a POST has a bound on its parameters, and as a form on its length', () => {
  const last = `message=${enc(A)}`;
  expect(parseRequestText(FORM, '&'.repeat(MAX_PARAMETERS - 1) + last)).toHaveLength(1);
  expect(parseRequestText(FORM, '&'.repeat(MAX_PARAMETERS) + last)).toBeUndefined();
  expect(parseRequestText(FORM, `${last}&x=${'y'.repeat(65_000)}`)).toHaveLength(1);
  expect(parseRequestText(FORM, `${last}&x=${'y'.repeat(66_000)}`)).toBeUndefined();
});

it('the body of a POST is searched once, also when it is hostile', () => {
  const started = performance.now();
  expect(parseRequestText(FORM, 'x&'.repeat(500_000))).toBeUndefined();
  expect(parseRequestText(FORM, '%&'.repeat(500_000))).toBeUndefined();
  expect(parseRequestText(FORM, `${'y'.repeat(1_000_000)}=${'%'.repeat(1_000_000)}`)).toBeUndefined();
  // Some milliseconds; the square of the length would take minutes.
  expect(performance.now() - started).toBeLessThan(2_000);
});

it('a query of callback-polling is read as the CometD client writes it', () => {
  const target = `/smartWeb/api/cometd/connect?jsonp=_cometd_jsonp_0&message=${enc(B)}`;
  const request = parseCallbackQuery(target.slice(target.indexOf('?') + 1));
  expect(request?.callback).toBe('_cometd_jsonp_0');
  expect(channels(parseCallbackMessages(target))).toEqual(['/b', '/c']);
});

it('a query of callback-polling is read as faye writes it', () => {
  const target = `/cometd?${new URLSearchParams({ message: B, jsonp: '__jsonp1__' })}`;
  expect(parseCallbackQuery(target.slice(target.indexOf('?') + 1))?.callback).toBe('__jsonp1__');
  expect(channels(parseCallbackMessages(target))).toEqual(['/b', '/c']);
});

it('a query of callback-polling has a default for the callback', () => {
  expect(parseCallbackQuery(`message=${enc(A)}`)?.callback).toBe('jsonpcallback');
  expect(parseCallbackQuery(`jsonp=&message=${enc(A)}`)?.callback).toBe('jsonpcallback');
});

it('a query of callback-polling may hold several messages, and letters that are not escaped', () => {
  const target = Buffer.from(`/cometd?message=${A}&message={"channel":"/d2/object/Č"}`).toString('latin1');
  expect(channels(parseCallbackMessages(target))).toEqual(['/a', '/d2/object/Č']);
});

it.each([
  '/smartWeb/api/cometd',
  '/cometd?',
  '/cometd?jsonp=cb',
  '/cometd?jsonp=cb&message=',
  '/cometd?messages=[]',
  '/message=[]',
])('%s has no query of callback-polling', (target) => {
  expect(parseCallbackMessages(target)).toBeUndefined();
});
