/** A client may send 60,000 members in a list of its head: all others wait while it is read. */
import { describe, expect, it } from 'vitest';
import { AddressRanges } from '../../src/base/address.ts';
import { systemClock } from '../../src/base/clock.ts';
import { parseCodings } from '../../src/base/content-codings.ts';
import { Classifier } from '../../src/measure/classify/classifier.ts';
import { CometRoutes } from '../../src/measure/classify/comet-classifier.ts';
import { DeniedPaths } from '../../src/measure/classify/denied-paths.ts';
import { extractRawPath, parseSegments } from '../../src/measure/classify/path.ts';
import { UnclassifiedRequests } from '../../src/measure/record/unclassified-requests.ts';
import { companionsOf } from '../../src/measure/sessions/companions.ts';
import { Credentials } from '../../src/measure/sessions/credentials.ts';
import { negotiate, negotiateCoding } from '../../src/monitor/negotiate.ts';
import { parseCallbackQuery } from '../../src/protocol/bayeux/request-body.ts';
import { clientAddressOf } from '../../src/protocol/http1/client-address.ts';
import { RequestReader } from '../../src/protocol/http1/request-reader.ts';
import { parseExtensions } from '../../src/protocol/websocket/extensions.ts';
import { stringsMadeBy } from '../support/protocol/string-work.ts';

const HEAD_BYTES = 60_000;
/** For the longest walk through trusted addresses; all else makes some hundred. */
const MAX_STRINGS = 5_000;
const TRUSTED = new AddressRanges(['10.0.0.0/8', 'fd00::/8']);
const FAR = { remoteAddress: '192.0.2.7' };

const rest = { prefix: 'api/rest/v0', rules: [], defaultRules: true };
const classifier = new Classifier({ applications: ['smartWeb'], rest });
const routes = new CometRoutes(['smartWeb'], 'api/cometd', 'j_security_check');
const unclassified = new UnclassifiedRequests(['smartWeb'], systemClock);
const denied = DeniedPaths.of(['/manager/html', '/a/b']) as DeniedPaths;
const credentials = new Credentials([], 'JSESSIONID');

/** Full of `member`, each `{}` a number of its own. */
function listOf(member: string): string {
  let list = '';
  for (let nth = 0; list.length < HEAD_BYTES; nth += 1) list += member.replace('{}', String(nth));
  return Buffer.from(list, 'latin1').toString('latin1');
}

function fieldsOf(field: string, value: string) {
  const lines: Record<string, string> = { authorization: 'Basic YTpi', [field]: value };
  return { target: '/', field: (name: string) => lines[name], fields: (name: string) => [lines[name] ?? ''] };
}

function readHead(lines: string): unknown {
  const reader = new RequestReader(2 * HEAD_BYTES);
  reader.append(Buffer.from(`GET / HTTP/1.1\r\nHost: a\r\n${lines}\r\n\r\n`, 'latin1'));
  return reader.nextHead();
}

function readPath(path: string): void {
  const target = `/smartWeb/api/rest/v0/d2${path}`;
  denied.denies(path, FAR);
  denied.denies(`http://a${path}`, FAR);
  classifier.classify('GET', target);
  routes.find('POST', target);
  unclassified.add(target, () => false, 1, 1);
  companionsOf({ ...fieldsOf('x', ''), target }, 'JSESSIONID');
}

const X_FORWARDED_FOR = ['10.0.0.1,', 'fd00::1,', ',', 'x,'];
const COOKIES = [';', 'a=b;', ' ', 'JSESSIONID;', 'xJSESSIONID=1;'];
const PATHS = '/ /. /a/.. /%2e /%2e%2e /; /a;b %2f \\ ; % /a //a /%c4%8c'.split(' ');

const WORK: Readonly<Record<string, readonly [work: (list: string) => unknown, ...members: string[]]>> = {
  'X-Forwarded-For': [(list) => clientAddressOf('x-forwarded-for', [list], TRUSTED), ...X_FORWARDED_FOR],
  Forwarded: [(list) => clientAddressOf('forwarded', [list], TRUSTED), ';', 'a=b;', 'a="b";', '"', '\\"'],
  Connection: [(list) => readHead(`Connection: ${list}`), ',', 'a,', ' ,', 'close,'],
  'Connection of an upgrade': [(list) => readHead(`Upgrade: h2c\r\nConnection: ${list}`), ',', 'a,', 'upgrade,a,'],
  'Transfer-Encoding': [(list) => readHead(`Transfer-Encoding: ${list}`), ',', 'a,', 'chunked,'],
  Cookie: [(list) => credentials.cookieTokenOf(fieldsOf('cookie', list)), ...COOKIES],
  'Cookie beside a credential': [
    (list) => credentials.claimOf(fieldsOf('cookie', list)),
    'JSESSIONID={};',
    'a=b;',
    ',',
  ],
  'parameters of a path': [
    (list) => credentials.claimOf({ ...fieldsOf('x', ''), target: `/${list}` }),
    ...[';jsessionid={}', ';'],
  ],
  'a path': [readPath, ...PATHS],
  'a query': [(list) => parseCallbackQuery(list), '&', 'a&', '%zz&', 'm%65ss=1&', '+&'],
  'Content-Encoding': [(list) => parseCodings(list), ',', 'a,', 'identity,'],
  'Sec-WebSocket-Extensions': [(list) => parseExtensions([list]), ',', ';', 'a,', 'a;b=c;'],
  'Accept-Encoding': [(list) => negotiateCoding(list), ',', ';', 'gzip;q=0.1,'],
  Accept: [(list) => negotiate(list), ',', ';', 'text/plain;q=0.1,'],
};

describe.each(Object.entries(WORK))('%s of 60 kB', (_, [work, ...members]) => {
  it.each(members)('makes few strings, however many %j it has', (member) => {
    const list = listOf(member);
    expect(stringsMadeBy(() => work(list))).toBeLessThan(MAX_STRINGS);
  });
});

it('a walk ends after 200 trusted addresses of IPv6, and at an element of Forwarded with more than 32 pairs', () => {
  const walk = (before: number) => `fd00::3${',fd00::2'.repeat(before)}`;
  expect(clientAddressOf('x-forwarded-for', [walk(199)], TRUSTED)).toBe('fd00::3');
  expect(clientAddressOf('x-forwarded-for', [walk(200)], TRUSTED)).toBe('fd00::2');
  const element = (pairs: number) => `for=192.0.2.1;${'a=b;'.repeat(pairs - 1)}, for=10.0.0.1`;
  expect(clientAddressOf('forwarded', [element(32)], TRUSTED)).toBe('192.0.2.1');
  expect(clientAddressOf('forwarded', [element(33)], TRUSTED)).toBe('10.0.0.1');
});

it('a call is found after ten thousand segments that it leaves again', () => {
  const path = `${'/a'.repeat(10_000)}${'/..'.repeat(10_000)}/smartWeb/api/rest/v0/d2/rpc/E/P`;
  expect(classifier.classify('POST', path)?.name).toBe('E.P');
  expect(parseSegments('/a'.repeat(10_000))).toHaveLength(256);
});

it('Content-Encoding with nine members is an unknown coding, and lists of the monitoring port are read up to 64', () => {
  expect(parseCodings(`${'identity,'.repeat(7)}gzip`)).toEqual(['gzip']);
  expect(parseCodings(`${'identity,'.repeat(8)}gzip`)).toEqual(['unreadable']);
  expect(negotiateCoding(`${'x,'.repeat(63)}gzip`)).toBe('gzip');
  expect(negotiateCoding(`${'x,'.repeat(64)}gzip`)).toBeUndefined();
});

describe('random lists are read as by a plain reading', () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const textOf = (pieces: readonly string[]) =>
    Array.from({ length: random(12) }, () => pieces[random(pieces.length)]).join('');

  it.each<[what: string, pieces: string[], read: (text: string) => unknown, plain: (text: string) => unknown]>([
    [
      'segments',
      ['/', '.', '..', '%2e', '%2E', 'a', '%', '%4', '%c4%8c', '\xc4', '%2f', ';b', ';'],
      (path) => parseSegments(extractRawPath(`/${path}`) ?? ''),
      (path) => {
        const names: string[] = [];
        for (const segment of `/${path}`.replace(/;[^/]*/g, '').split('/')) {
          let name = segment;
          try {
            const isBad = /%(?![0-9a-f]{2})/i.test(segment);
            const bytes = segment.replace(/%([0-9a-f]{2})/gi, (_, hex) =>
              String.fromCharCode(Number.parseInt(hex, 16)),
            );
            if (!isBad) name = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(bytes, 'latin1'));
          } catch {
            // It stays as it is.
          }
          if (name === '..' && names.pop() === undefined) return undefined;
          if (!['', '.', '..'].includes(name)) names.push(name);
        }
        return names;
      },
    ],
    [
      'denied paths',
      ['/', '.', '..', '%2e', '%2f', '\\', ';', 'a', '%61', 'b', '/a/', '/b', '%zz', '%5C'],
      (path) => denied.denies(`/${path}`, FAR),
      (path) => {
        const decoded = (text: string) =>
          text.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
        const isRegular = !/[%;\\]|\/[/.]/.test(`/${path}`);
        if (isRegular || !/\\|%(?:2f|3b|5c)|(?:\.|%2e){2}/i.test(path)) {
          const segments = `/${path}`
            .replace(/;[^/]*/g, '')
            .split('/')
            .map(decoded);
          return (
            segments
              .filter((segment) => !['', '.'].includes(segment))
              .slice(0, 2)
              .join('/') === 'a/b'
          );
        }
        const segments = decoded(path).split(/[/\\;]/);
        const first = segments.indexOf('a');
        return first >= 0 && segments.includes('b', first);
      },
    ],
  ])('%s', (_, pieces, read, plain) => {
    for (let nth = 0; nth < 3_000; nth += 1) {
      const text = textOf(pieces);
      expect(read(text), JSON.stringify(text)).toEqual(plain(text));
    }
  });
});
