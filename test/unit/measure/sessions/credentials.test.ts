import { expect, it } from 'vitest';
import type { CredentialFields } from '../../../../src/measure/sessions/credentials.ts';
import { Credentials, isLasting, MAX_USER_NAME_CHARS } from '../../../../src/measure/sessions/credentials.ts';

const fieldsOf = (fields: Record<string, string | readonly string[]>): CredentialFields => ({
  field: (name) => [fields[name] ?? []].flat()[0],
  fields: (name) => [fields[name] ?? []].flat(),
});

function basic(userAndPassword: string | Buffer): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(userAndPassword).toString('base64')}` };
}

const COOKIE = 'JSESSIONID';

const KEYS = [
  { user: 'historian', key: 'key-1' },
  { user: 'čerpadlo', key: 'kľúč' },
];
const credentials = new Credentials(KEYS, COOKIE);

const tokenOf = (fields: Record<string, string>, of = credentials) => of.tokenOf(fieldsOf(fields));
const userNameOf = (fields: Record<string, string>) => credentials.identify(fieldsOf(fields))?.userName;

it.each<[string, Record<string, string>, string | null]>([
  ['of Basic', basic('anna:pass'), 'anna'],
  ['of Basic with colons in the password', basic('anna:p:a:s:s'), 'anna'],
  ['of Basic without a password', basic('anna:'), 'anna'],
  ['of an empty user', basic(':pass'), ''],
  ['of Basic in UTF-8', basic('Žofia:pass'), 'Žofia'],
  ['of Basic in latin1', basic(Buffer.from('Jos\xe9:pass', 'latin1')), 'José'],
  ['of a scheme in any case', { authorization: 'bAsIc YW5uYTpwYXNz' }, 'anna'],
  ['of base64 without padding', { authorization: 'Basic YW5uYTpwYXM' }, 'anna'],
  ['with control characters', basic('an\r\n\x1b[31mna\x7f\x85:pass'), 'an���[31mna��'],
  ['with marks that hide or turn text', basic('an\u202ena\u200b\u2028:pass'), 'an�na��'],
  ['of a key in the configuration', { 'x-api-key': 'key-1' }, 'historian'],
  ['of a key in UTF-8', { 'x-api-key': Buffer.from('kľúč').toString('latin1') }, 'čerpadlo'],
  ['of an unknown key', { 'x-api-key': 'key-2' }, null],
  ['of a key beside another scheme', { authorization: 'Bearer abc', 'x-api-key': 'key-1' }, 'historian'],
])('the user name %s is read: %j', (_, fields, expected) => {
  expect(userNameOf(fields)).toBe(expected);
});

it(`the user name has at most ${MAX_USER_NAME_CHARS} characters, none cut in two`, () => {
  expect(userNameOf(basic(`${'a'.repeat(5_000)}:pass`))).toBe('a'.repeat(MAX_USER_NAME_CHARS));
  const odd = `${'a'.repeat(MAX_USER_NAME_CHARS - 1)}🚰`;
  expect(userNameOf(basic(`${odd}:pass`))).toBe('a'.repeat(MAX_USER_NAME_CHARS - 1));
});

it.each<[string, Record<string, string>]>([
  ['no field', {}],
  ['an empty key', { 'x-api-key': '' }],
  ['a scheme alone', { authorization: 'Basic' }],
  ['another scheme', { authorization: 'Bearer YW5uYTpwYXNz' }],
  ['a scheme that goes on', { authorization: 'Basically YW5uYTpwYXNz' }],
  ['no base64', { authorization: 'Basic anna:pass' }],
  ['base64 with a blank', { authorization: 'Basic YW5u YTpwYXNz' }],
  ['no colon', basic('annapass')],
  ['Basic that cannot be read, even beside a key', { authorization: 'Basic !', 'x-api-key': 'key-1' }],
  ['a megabyte of base64', { authorization: `Basic ${'A'.repeat(1_000_000)}` }],
])('nobody is named by %s', (_, fields) => {
  expect(userNameOf(fields)).toBeUndefined();
});

const keyOf = (fields: Record<string, string>) => credentials.identify(fieldsOf(fields))?.key;

it('the token is that of the whole credential, the key that of the user, however long and odd the name', () => {
  expect(tokenOf(basic('anna:pass'))).toBe(tokenOf(basic('anna:pass')));
  expect(tokenOf(basic('anna:pass'))).not.toBe(tokenOf(basic('anna:other')));
  expect(keyOf(basic('anna:pass'))).toBe(keyOf(basic('anna:other')));
  expect(keyOf(basic('anna:pass'))).not.toBe(keyOf(basic('anne:pass')));
  const long = 'a'.repeat(MAX_USER_NAME_CHARS);
  expect(keyOf(basic(`${long}1:pass`))).not.toBe(keyOf(basic(`${long}2:pass`)));
  expect(keyOf(basic('a\x01:pass'))).not.toBe(keyOf(basic('a\x02:pass')));
  for (const nobody of [{ 'x-api-key': '' }, { authorization: 'Bearer abc' }]) expect(tokenOf(nobody)).toBeUndefined();
  // A user is not the key of the same text.
  expect(keyOf(basic('key-1:pass'))).not.toBe(keyOf({ 'x-api-key': 'key-1' }));
});

it.each([
  ['lang=sk; JSESSIONID=one', 'one'],
  ['  lang=sk;JSESSIONID=one ;x=1', 'one'],
  ['XJSESSIONID=one; jsessionid=two', undefined],
  ['lang=JSESSIONID=one', undefined],
  ['JSESSIONID="one"', 'one'],
  ['lang=sk;\tJSESSIONID = one ', 'one'],
  ['JSESSIONID=; JSESSIONID=one', 'one'],
  ['JSESSIONID=a b; JSESSIONID=one', 'one'],
  ['lang="; JSESSIONID=one', 'one'],
  ['lang=sk,JSESSIONID=one', undefined],
  ['JSESSIONID=', undefined],
])('in "%s" the login’s cookie is %s', (cookie, value) => {
  const token = credentials.cookieTokenOf(fieldsOf({ cookie }));
  expect(token).toBe(value && credentials.setCookieTokenOf([`JSESSIONID=${value}; Path=/`]));
  expect(tokenOf({ cookie })).toBe(token);
});

it('all lines of Cookie are one list, of which the first cookie with a session counts, or the first', () => {
  const tokenOfCookie = (value: string) => credentials.cookieTokenOf(fieldsOf({ cookie: `JSESSIONID=${value}` }));
  const cookie = ['lang=sk', 'JSESSIONID=', 'JSESSIONID=one; x=1', 'JSESSIONID=two', 'JSESSIONID=three'];
  const first = credentials.cookieTokenOf(fieldsOf({ cookie }));
  expect([first, credentials.tokenOf(fieldsOf({ cookie }))]).toEqual([tokenOfCookie('one'), first]);
  const known = [tokenOfCookie('three'), tokenOfCookie('two')];
  const sessions = { knows: (token: string) => known.includes(token) };
  expect(credentials.cookieTokenOf(fieldsOf({ cookie }), sessions)).toBe(tokenOfCookie('two'));
  expect(credentials.cookieTokenOf(fieldsOf({ cookie: cookie.slice(0, 3) }), sessions)).toBe(first);
});

it.each([
  [['lang=sk', 'JSESSIONID=two; Path=/smartWeb; HttpOnly'], 'two'],
  [['JSESSIONID=; Max-Age=0', 'JSESSIONID=one; Path=/', 'JSESSIONID=two; Path=/'], 'two'],
  [['JSESSIONID=; Max-Age=0'], undefined],
  [['lang=sk; JSESSIONID=two'], undefined],
])('of the cookies %j of a response, the last that is not empty counts: %s', (setCookies, value) => {
  const token = value && credentials.cookieTokenOf(fieldsOf({ cookie: `JSESSIONID=${value}` }));
  expect(credentials.setCookieTokenOf(setCookies)).toBe(token);
});

it('a cookie counts only without another credential', () => {
  const cookie = 'JSESSIONID=one';
  expect(tokenOf({ cookie, ...basic('anna:pass') })).toBe(tokenOf(basic('anna:pass')));
  expect(tokenOf({ cookie, 'x-api-key': 'key-1' })).toBe(tokenOf({ 'x-api-key': 'key-1' }));
});

it('tokens are hashes that another process computes differently, unless it adopts the key of the previous one; those of passwords do not last', () => {
  const token = tokenOf(basic('anna:pass')) ?? '';
  expect(token).toMatch(/^[0-9a-f]{64}$/);
  expect(tokenOf({ 'x-api-key': 'key-1' })).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  expect(tokenOf(basic('anna:pass'), new Credentials([], COOKIE))).not.toBe(token);
  const next = new Credentials([{ user: 'historian', key: 'key-1' }], COOKIE);
  next.adopt(credentials.secret);
  const key = fieldsOf({ 'x-api-key': 'key-1' });
  expect(next.tokenOf(key)).toBe(credentials.tokenOf(key));
  expect(next.identify(key)).toEqual({ key: next.tokenOf(key), userName: 'historian' });
  const lasting = [token, next.tokenOf(key) ?? '', credentials.clientTokenOf('client-1')].map(isLasting);
  expect(lasting).toEqual([false, true, true]);
});

const holder = { certificateUser: 'ann', certificateSubject: 'CN=authority\n\nCN=ann' };
const none = fieldsOf({});

it('the certificate of a connection names who sends a request that names nobody, distinguished by its whole subject', () => {
  const { key, userName } = credentials.identify(none, holder) ?? {};
  expect(userName).toBe('ann');
  expect(credentials.tokenOf(none, holder)).toMatch(/^.{44}$/);
  expect([credentials.identify(none), credentials.tokenOf(none)]).toEqual([undefined, undefined]);
  const other = { ...holder, certificateSubject: 'CN=another\n\nCN=ann' };
  expect(credentials.identify(none, other)?.key).not.toBe(key);
  expect(credentials.tokenOf(none, other)).not.toBe(credentials.tokenOf(none, holder));
  expect(credentials.identify(fieldsOf(basic('ann:x')))?.key).not.toBe(key);
});

it.each<[string, Record<string, string>, string | undefined]>([
  ['Basic', basic('anna:pass'), 'anna'],
  ['an application key', { 'x-api-key': 'key-1' }, 'historian'],
  ['a login cookie, which alone names nobody,', { cookie: `${COOKIE}=abc` }, 'ann'],
  ['unreadable Basic', { authorization: 'Basic ?' }, undefined],
])('the certificate of a connection comes after %s', (_what, fields, userName) => {
  expect(credentials.identify(fieldsOf(fields), holder)?.userName).toBe(userName);
  expect(credentials.tokenOf(fieldsOf(fields), holder)).toBe(credentials.tokenOf(fieldsOf(fields)));
});
