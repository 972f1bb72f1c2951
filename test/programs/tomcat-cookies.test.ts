import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { cookieValues } from '../../src/measure/sessions/companions.ts';
import { Random } from '../support/fuzz/random.ts';
import { hasTomcat } from '../support/tomcat/tomcat.ts';

const PARSER = fileURLToPath(new URL('../support/tomcat/cookies/Cookies.java', import.meta.url));
const PARTS = [
  ...'JSESSIONID JSESSIONID= JSESSIONID=a jsessionid=b XJSESSIONID=c JSESSIONIDSSO=d lang=sk $Version=1'.split(' '),
  ...['=', '"', ';', ';', '; ', ',', ' ', '\t', 'x', 'y=z', '\\', '(', '\xe9', '\x7f', '/', '%', '$'],
];

const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64');

it.skipIf(!hasTomcat())('the login cookie is read from any lines as Tomcat reads it', () => {
  const random = new Random(16);
  const inputs = Array.from({ length: 5_000 }, () =>
    Array.from({ length: 1 + random.below(3) }, () =>
      Array.from({ length: 1 + random.below(7) }, () => random.pick(PARTS)).join(''),
    ),
  );
  const input = inputs.map((lines) => lines.map(base64).join(' ')).join('\n');
  const { stdout } = spawnSync('java', ['-cp', '/usr/share/tomcat10/lib/*:/usr/share/tomcat10/bin/*', PARSER], {
    ...{ input, encoding: 'latin1', maxBuffer: 1 << 26 },
  });
  const read = stdout.split('\n');
  expect(read.length).toBe(inputs.length + 1);
  const wrong = inputs.filter((lines, at) => {
    const expected = (read[at]?.match(/\S+/g) ?? []).slice(0, 8);
    return cookieValues(lines, 'JSESSIONID').map(base64).join() !== expected.join();
  });
  expect(wrong).toEqual([]);
});
