import { ambiguousMessages } from '../../corpus/smuggling.ts';
import { changed } from '../../support/fuzz/changed.ts';
import type { Random } from '../../support/fuzz/random.ts';

/** Requests that the relay reads. */
const REGULAR: readonly string[] = [
  'GET /smartWeb/api/rest/v0/d2/auth/login HTTP/1.1\r\nHost: a\r\n\r\n',
  'POST /d2/rpc/E.Demo/Test?x=1&y=%20 HTTP/1.1\r\nHost: a:80\r\nContent-Length: 5\r\nAccept: */*\r\n\r\nhello',
  'POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  'PUT /c HTTP/1.1\r\nHost: a\r\ntransfer-encoding: Chunked\r\n\r\n3;ext=1;q="a b\\"c"\r\nabc\r\n00A\r\n0123456789\r\n0;last\r\nX-T: 1\r\nY: \r\n\r\n',
  'HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n',
  'DELETE //x//y HTTP/1.1\r\nHost:a\r\nContent-Length:0\r\nX-Empty:\r\nX-Tab:\t v \t\r\n\r\n',
];

const SNIPPETS: readonly string[] = [
  // Single octets.
  ...'\r\n\0 \t:;,"\\=01fF\x7f\x80\xff\x01\x0b#?/*',
  ...['\r\n', '\r\n\r\n', '\n\n', '-1', '+1', '0x1', 'chunked', 'Chunked', 'xchunked', 'identity'],
  ...[' HTTP/1.1', ' HTTP/1.0', ' HTTP/2.0', ' http/1.1', 'HTTP/1.1'],
  ...['GET ', 'QUERY ', 'get ', 'FOO ', 'SOURCE ', 'PRI '],
  ...[
    ...[
      'Transfer-Encoding: chunked',
      'Transfer-Encoding : chunked',
      'Transfer-Encoding:\tchunked',
      'Transfer-Encoding',
    ],
    ...['Content-Length: 1', 'Content-Length: 0', 'Content-Length: +1', 'Content-Length: 1, 1', 'Content-Length:'],
    ...['Content-Length: 18446744073709551616', 'Content-Length: 00001', 'Host: b', 'Expect: 100-continue'],
    ...['Connection: close', 'Connection: keep-alive, Upgrade', 'Upgrade: h2c'],
    ...['X: 1', ' X: 1', 'X : 1', ': 1', 'X\xff: 1', 'ffffffffffffffff', '10000000000000000'],
  ].map((line) => `${line}\r\n`),
  ...['1', '1;a=b', '1; a', '1 ', '1;', '1;a="', '1;a="b"c', '0000000000000000000001'].map(
    (size) => `${size}\r\na\r\n`,
  ),
  ...['', 'Content-Length: 4\r\n', 'Transfer-Encoding: chunked\r\n', 'X: 1\r\n'].map(
    (trailer) => `0\r\n${trailer}\r\n`,
  ),
  '0\r\nX:1\n\r\n',
];

/** One to three messages, mutated up to four times; latin1 text. */
export function mutatedRequests(random: Random): string {
  let text = '';
  for (let i = random.below(3); i >= 0; i -= 1) {
    text += random.chance(0.8) ? random.pick(REGULAR) : random.pick(ambiguousMessages).bytes;
  }
  for (let i = random.below(5); i > 0; i -= 1) text = mutated(text, random);
  return text;
}

/** Cuts a text into pieces at random places; often none, sometimes at every byte. */
export function pieces(text: string, random: Random): Buffer[] {
  const bytes = Buffer.from(text, 'latin1');
  const style = random.below(4);
  if (style === 0) return [bytes];
  const longest = style === 1 ? 1 : style === 2 ? 7 : 60;
  const cut: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + random.below(longest);
    cut.push(bytes.subarray(at, end));
    at = end;
  }
  return cut;
}

/** A text with one change; often at the beginning of a line, where it matters most. */
export function mutated(text: string, random: Random): string {
  if (random.chance(0.8)) return changed(text, SNIPPETS, random);
  const line = text.indexOf('\r\n', random.below(text.length + 1)) + 2;
  return text.slice(0, line) + random.pick(SNIPPETS) + text.slice(line);
}
