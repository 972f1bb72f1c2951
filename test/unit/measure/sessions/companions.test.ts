import { expect, it } from 'vitest';
import { companionsOf } from '../../../../src/measure/sessions/companions.ts';

const PATH = '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Test';
const BASIC = 'Basic YW5uYTp3cm9uZw==';

interface Sent {
  readonly target?: string;
  readonly cookie?: readonly string[];
  readonly authorization?: readonly string[];
  readonly key?: readonly string[];
}

function companions({ target = PATH, cookie = [], authorization = [BASIC], key = [] }: Sent, cookieName?: string) {
  const all: Record<string, readonly string[]> = { cookie, authorization, 'x-api-key': key };
  const fields = (name: string) => all[name] ?? [];
  return companionsOf({ target, field: (name) => fields(name)[0], fields }, cookieName ?? 'JSESSIONID');
}

it.each<[string, Sent]>([
  ['with nothing beside it', {}],
  ['beside other cookies', { cookie: ['lang=sk; theme=dark', 'consent=1'] }],
  ['beside a query', { target: `${PATH}?a=1;jsessionid=1` }],
  ['beside the same line again', { authorization: [BASIC, BASIC] }],
  ['that is a key', { authorization: [], key: ['key-1'] }],
])('a credential stands alone %s', (_, sent) => {
  expect(companions(sent)).toBeUndefined();
});

// What Tomcat 10 takes for a session, and what others might.
it.each<[string, Sent, string[]]>([
  ['in a cookie', { cookie: ['JSESSIONID=A1'] }, ['A1']],
  ['behind other cookies', { cookie: ['lang=sk;JSESSIONID=A1;x=y'] }, ['A1']],
  ['in two lines', { cookie: ['JSESSIONID=B2', 'JSESSIONID=A1'] }, ['A1', 'B2']],
  ['in quotes', { cookie: ['JSESSIONID="A1"'] }, ['A1']],
  ['between odd blanks', { cookie: ['a=b;\t JSESSIONID \t=  A1  '] }, ['A1']],
  ['behind a comma', { cookie: ['$Version=1, JSESSIONID=A1'] }, ['A1']],
  ['in a cookie of single sign-on', { cookie: ['JSESSIONIDSSO=A1'] }, ['A1']],
  ['in another case of letters', { cookie: ['jsessionid=A1'] }, ['A1']],
  ['without a value', { cookie: ['JSESSIONID'] }, []],
  ['in the path', { target: `${PATH};jsessionid=A1?x=1` }, ['A1']],
  ['as another parameter of the path', { target: `${PATH};v=1` }, []],
  ['in absolute-form', { target: `http://plant.example${PATH};jsessionid=A1` }, ['A1']],
])('the login beside a credential is found %s', (_, sent, logins) => {
  expect(companions(sent)).toEqual({ logins, apiKeys: [], authorizations: [] });
});

it('the login beside a credential is found by the name in the configuration', () => {
  const sent = { cookie: ['JSESSIONID=A1; SID=B2'], target: `${PATH};sid=C3` };
  expect(companions(sent, 'SID')?.logins).toEqual(['B2', 'C3']);
  expect(companions({ cookie: ['JSESSIONID=A1'] }, 'SID')).toBeUndefined();
});

it.each<[string, Sent, string[], string[]]>([
  ['a key beside Basic', { key: ['key-1'] }, ['key-1'], []],
  ['a further line of Basic', { authorization: [BASIC, 'Basic Ym9iOng='] }, [], ['Basic Ym9iOng=']],
  ['a further key', { authorization: [], key: ['key-1', 'key-2'] }, ['key-2'], []],
  ['another scheme beside a key', { authorization: ['Bearer abc'], key: ['key-1'] }, [], ['Bearer abc']],
])('another credential is found as %s', (_, sent, apiKeys, authorizations) => {
  expect(companions(sent)).toEqual({ logins: [], apiKeys, authorizations });
});
