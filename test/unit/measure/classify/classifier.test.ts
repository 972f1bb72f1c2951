import { expect, it } from 'vitest';
import type { RestRule } from '../../../../src/config/rules/rest-rules.ts';
import { Classifier, type ClassifierConfig, MAX_CACHED_PATHS } from '../../../../src/measure/classify/classifier.ts';

const REST = { prefix: 'api/rest/v0', rules: [], defaultRules: true };
const BASE = '/smartWeb/api/rest/v0';

function classifierOf(config: Partial<ClassifierConfig> = {}): Classifier {
  return new Classifier({ applications: ['smartWeb'], rest: REST, ...config });
}

/** A request-target as it arrives: UTF-8 bytes, each of them a latin1 character. */
const onTheWire = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

/** `kind name` of the call, or undefined. */
function read(classifier: Classifier, method: string, target: string): string | undefined {
  const call = classifier.classify(method, target);
  // Twice, so that the cached call is compared with the first one.
  expect(classifier.classify(method, target)).toEqual(call);
  return call && `${call.kind} ${call.name}`;
}

const builtIn = classifierOf();

it.each<[string, string, string | undefined]>([
  ['POST', 'd2/rpc/E.SmartWebApiTutorial/TestInOut', 'rpc E.SmartWebApiTutorial.TestInOut'],
  ['POST', 'd2/rpc/interface/E.Demo/I.Valve/Open', 'rpc E.Demo.I.Valve.Open'],
  ['POST', 'd2/rpc/java/E.Demo/TestInOut', 'rpc E.Demo.TestInOut'],
  ['POST', 'd2/rpc/java/interface/E.Demo/I.Valve/Open', 'rpc E.Demo.I.Valve.Open'],
  ['POST', 'd2/rpc/japi/SELF.EVH/Restart', 'rpc SELF.EVH.Restart'],
  ['POST', 'd2/rpc/japi/interface/E.Demo/I.Valve/Open', 'rpc E.Demo.I.Valve.Open'],
  ['GET', 'd2/sba/E.Files/Download?fileName=a.pdf&param=1', 'sba E.Files.Download'],
  ['POST', 'd2/sba/E.Files/Upload?fileName=a.pdf', 'sba E.Files.Upload'],
  ['GET', 'd2/archive/H.Level?beginTime=1&endTime=2', 'object H.Level'],
  ['GET', 'd2/object/M.Level', 'object M.Level'],
  ['GET', 'd2/auth/login', 'session login'],
  ['GET', 'd2/auth/logout', 'session logout'],
  // Servers run HEAD as GET.
  ['HEAD', 'd2/sba/E.Files/Download?fileName=a.pdf', 'sba E.Files.Download'],
  ['HEAD', 'd2/rpc/E.Demo/TestInOut', undefined],
  // A similar path, but another method, a segment less or more, or an interface of the server itself.
  ['GET', 'd2/rpc/E.Demo/TestInOut', undefined],
  ['DELETE', 'd2/rpc/E.Demo/TestInOut', undefined],
  ['POST', 'd2/object/M.Level', undefined],
  ['post', 'd2/rpc/E.Demo/TestInOut', undefined],
  ['POST', 'd2/rpc/E.Demo', undefined],
  ['POST', 'd2/rpc/E.Demo/TestInOut/more', undefined],
  ['POST', 'D2/RPC/E.Demo/TestInOut', undefined],
  ['GET', 'admin/d2/sessions', undefined],
  ['GET', '', undefined],
])('the built-in rules classify %s %s as %s', (method, path, expected) => {
  expect(read(builtIn, method, `${BASE}/${path}`)).toBe(expected);
});

const same = 'rpc E.Demo.Test';

it.each<[string, string | undefined, string]>([
  [`${BASE}/d2/rpc/E.Demo/Test/`, same, 'a trailing slash'],
  [`${BASE}/d2/rpc/E.Demo/Test?a=/x/../y`, same, 'a query that looks like a path'],
  [`${BASE}/d2/rpc;a=1/E.Demo;jsessionid=SECRET;b=2/Test?x=1`, same, 'path parameters anywhere'],
  [`/smartWeb;v=1/api/rest/v0/d2/rpc/E.Demo/Test;`, same, 'an empty path parameter'],
  [`/other/..${BASE}/d2/rpc/E.Demo/Test`, same, 'dot segments that leave another application'],
  [`${BASE}/d2/x/..;jsessionid=SECRET/rpc/E.Demo/Test`, same, 'double dots with a parameter'],
  [`${BASE}/d2/x/%2e%2E/rpc/%2E/E.Demo/Test`, same, 'escaped dots'],
  [`${BASE}/d2/r%70c/E%2EDemo/%54est`, same, 'unnecessary escapes'],
  [`http://plant.example:8080${BASE}/d2/rpc/E.Demo/Test?x=1`, same, 'absolute-form'],
  [`${BASE}/d2/rpc/E.Demo/..`, undefined, 'double dots at the end'],
  [`/..${BASE}/d2/rpc/E.Demo/Test`, undefined, 'a path above the root'],
  [`${BASE}/d2/rpc/%252e%252e/Test`, 'rpc %2e%2e.Test', 'double escapes, decoded once,'],
  [`${BASE}/d2/rpc/E.Demo%3Bx=1/Test`, 'rpc E.Demo;x=1.Test', 'an escaped semicolon'],
  [`${BASE}/d2/rpc/E.Demo%2FA/Test`, 'rpc E.Demo/A.Test', 'an escaped slash, which separates no segments,'],
  [`${BASE}/d2/rpc/E.Demo%3FA/Test`, 'rpc E.Demo?A.Test', 'an escaped question mark, which begins no query,'],
  [`${BASE}/d2/rpc/E.%C4%8Cerpadlo/Zapni%20v%C5%A1e`, 'rpc E.Čerpadlo.Zapni vše', 'escaped UTF-8'],
  [onTheWire(`${BASE}/d2/rpc/E.Če%72padlo/%F0%9F%9A%B0`), 'rpc E.Čerpadlo.🚰', 'raw UTF-8 beside escaped'],
  [`${BASE}/d2/rpc/E.%zz/Test`, 'rpc E.%zz.Test', 'an invalid escape, unchanged,'],
  [`${BASE}/d2/rpc/E.%C4/Test`, 'rpc E.%C4.Test', 'escapes of invalid UTF-8, unchanged,'],
  [`${BASE}/d2/rpc/E.\xe8/Te%73t`, 'rpc E.\xe8.Test', 'a segment with invalid UTF-8, unchanged,'],
  [`${BASE}/d2/rpc/E.%1B%5B31m/%E2%80%AETest`, 'rpc E.\ufffd[31m.\ufffdTest', 'escaped ESC and U+202E'],
  [`${BASE}/d2/rpc/E.\x9b/Te%0D%0Ast`, 'rpc E.\ufffd.Te\ufffd\ufffdst', 'raw C1 characters and line ends'],
  [`${BASE}/d2/rpc/E.%F3%A0%81%81/Te%E2%80%8Bst`, 'rpc E.\ufffd.Te\ufffdst', 'tags and zero-width characters'],
  ['*', undefined, 'the asterisk form'],
  ['plant.example:443', undefined, 'an authority'],
  ['', undefined, 'an empty target'],
  ['http://plant.example', undefined, 'absolute-form without a path'],
  ['/smartWebs/api/rest/v0/d2/rpc/E.Demo/Test', undefined, 'a longer word in place of the application'],
  ['/api/rest/v0/d2/rpc/E.Demo/Test', undefined, 'a path outside of all applications'],
])('the classifier reads %j as %s: %s', (target, expected) => {
  expect(read(builtIn, 'POST', target)).toBe(expected);
});

it('the classifier removes a session id in the path before it names or caches a call', () => {
  const call = builtIn.classify('POST', `${BASE}/d2/rpc/E.Secret/Test`);
  const before = builtIn.cachedPaths;
  for (const base of [`/;jsessionid=SECRET${BASE}`, BASE.replace('/api', ';jsessionid=SECRET/api')]) {
    expect(builtIn.classify('POST', `${base}/d2/rpc/E.Secret/Test`)).toEqual(call);
  }
  for (let i = 0; i < 50; i += 1) {
    // The same object: the cache knows the path without the parameter.
    expect(builtIn.classify('POST', `${BASE}/d2/rpc/E.Secret/Test;jsessionid=SECRET${i}`)).toBe(call);
  }
  expect(builtIn.cachedPaths).toBe(before + 1); // `//smartWeb/...`
});

it.each<[string[], string, string | undefined]>([
  [['north', 'south'], '/north', 'north'],
  [['north', 'south'], '/south', 'south'],
  [['north', 'south'], '/east', undefined],
  [[''], '', ''],
  [['', 'north'], '/north', 'north'],
  [['plant', 'plant/north'], '/plant', 'plant'],
  [['plant', 'plant/north'], '/plant/north', 'plant/north'],
  [['Čistička'], '/%C4%8Cisti%C4%8Dka', 'Čistička'],
  [['Čistička'], onTheWire('/Čistička'), 'Čistička'],
  [['%C4%8Cistá'], onTheWire('/Čistá'), '%C4%8Cistá'],
])('with the applications %j, the path "%s" belongs to %j', (applications, path, expected) => {
  const call = classifierOf({ applications }).classify('GET', `${path}/api/rest/v0/d2/object/M.A`);
  expect(call?.application).toBe(expected);
});

const own: RestRule[] = [
  { methods: ['POST'], path: 'd2/rpc/{event}/Ping', kind: 'none', name: '' },
  { methods: ['POST', 'PUT'], path: 'plant/{area}/write%20value/{point}', kind: 'object', name: '{point}@{area}' },
  { methods: ['POST'], path: 'v2/logon', kind: 'session', name: 'login' },
  { methods: ['POST'], path: 'd2/rpc/java/{event}/{method}', kind: 'rpc', name: 'java:{event}.{method}' },
];

it('configured rules precede the built-in rules, and are the only ones when those are disabled', () => {
  const classifier = classifierOf({ rest: { ...REST, rules: own } });
  expect(read(classifier, 'POST', `${BASE}/d2/rpc/E.Demo/Ping`)).toBeUndefined();
  expect(read(classifier, 'PUT', `${BASE}/plant/west/write%20value/M.A`)).toBe('object M.A@west');
  expect(read(classifier, 'POST', `${BASE}/v2/logon`)).toBe('session login');
  expect(read(classifier, 'POST', `${BASE}/d2/rpc/java/E/T`)).toBe('rpc java:E.T');
  expect(read(classifier, 'POST', `${BASE}/d2/rpc/E.Demo/Pong`)).toBe('rpc E.Demo.Pong');
  const alone = classifierOf({ rest: { ...REST, rules: own, defaultRules: false } });
  expect(read(alone, 'POST', `${BASE}/v2/logon`)).toBe('session login');
  expect(read(alone, 'POST', `${BASE}/d2/rpc/E.Demo/Pong`)).toBeUndefined();
  const withoutPrefix = classifierOf({ applications: [''], rest: { ...REST, prefix: '' } });
  expect(read(withoutPrefix, 'GET', '/d2/object/M.A')).toBe('object M.A');
});

it('configured rules for GET match HEAD as well, and rules for HEAD match only HEAD', () => {
  const rules: RestRule[] = [
    { methods: ['HEAD'], path: 'd2/object/Probe', kind: 'none', name: '' },
    { methods: ['GET'], path: 'plant/{point}', kind: 'object', name: '{point}' },
    { methods: ['POST'], path: 'plant/{point}', kind: 'rpc', name: '{point}' },
  ];
  const classifier = classifierOf({ rest: { ...REST, rules } });
  expect(read(classifier, 'HEAD', `${BASE}/plant/M.A`)).toBe('object M.A');
  expect(read(classifier, 'HEAD', `${BASE}/d2/object/Probe`)).toBeUndefined();
  expect(read(classifier, 'GET', `${BASE}/d2/object/Probe`)).toBe('object Probe');
});

const odata: RestRule = { methods: ['GET'], path: '/odata/{set}', kind: 'rpc', name: 'OData.{set}' };
const withSlash = classifierOf({ rest: { ...REST, rules: [odata] } });

it.each([
  ['OData.Pumps', ['/smartWeb/odata/Pumps', '/smartWeb/%6fdata//Pumps/', '/smartWeb/api/rest/v0/odata/Pumps']],
  [undefined, ['/odata/Pumps', '/other/odata/Pumps', '/smartWeb/odata/P/7', '/smartWeb/d2/object/H.Level']],
  ['H.Level', ['/smartWeb/api/rest/v0/d2/object/H.Level']],
])(
  'a rule with a slash in front begins below the application or rest.prefix: %s is the name of %j',
  (name, targets) => {
    expect(targets.map((target) => withSlash.classify('GET', target)?.name)).toEqual(targets.map(() => name));
  },
);

const hot = `${BASE}/d2/rpc/E.Hot/Call`;

it('the cache returns the same call for a path with any query, and keeps neither paths that are not calls nor long ones', () => {
  const classifier = classifierOf();
  expect(classifier.classify('POST', `${hot}?a=1`)).toBe(classifier.classify('POST', `${hot}?b=2`));
  for (let i = 0; i < 1_000; i += 1) classifier.classify('POST', `${BASE}/unknown/path/${i}`);
  const method = 'm'.repeat(10_000);
  // Statistics count it as `(other)`; a running call keeps no more of it.
  expect(read(classifier, 'POST', `${BASE}/d2/rpc/E/${method}`)).toBe(`rpc ${`E.${method}`.slice(0, 1_024)}`);
  expect(classifier.cachedPaths).toBe(1);
});

it('the cache stays bounded, and finds a used path during a scan of 100,000 calls', () => {
  const classifier = classifierOf();
  const call = classifier.classify('POST', hot);
  for (let i = 1; i < 100_000; i += 1) {
    const isFull = classifier.cachedPaths === MAX_CACHED_PATHS;
    classifier.classify('POST', `${BASE}/d2/rpc/E.Scan/M${i}`);
    expect(classifier.cachedPaths).toBe(isFull ? 1 : 1 + (i % MAX_CACHED_PATHS));
    if (i < MAX_CACHED_PATHS) expect(classifier.classify('POST', hot)).toBe(call);
  }
  expect(classifier.classify('POST', hot)).toEqual(call);
});
