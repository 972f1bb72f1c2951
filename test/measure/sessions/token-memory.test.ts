import { expect, it } from 'vitest';
import { Credentials } from '../../../src/measure/sessions/credentials.ts';
import { TokenMemory } from '../../../src/measure/sessions/token-memory.ts';

const credentials = new Credentials([], 'JSESSIONID');
const fieldsOf = (fields: Record<string, string>) => ({ field: (name: string) => fields[name] });
const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` });

/** Credentials that count how often they are asked. */
function counting(): { readonly asked: () => number; readonly memory: TokenMemory } {
  let asked = 0;
  const counted = Object.assign(Object.create(credentials) as Credentials, {
    tokenOf: (fields: ReturnType<typeof fieldsOf>) => {
      asked += 1;
      return credentials.tokenOf(fields);
    },
  });
  return { asked: () => asked, memory: new TokenMemory(counted) };
}

it('tells what the credentials tell, whatever was sent before', () => {
  const memory = new TokenMemory(credentials);
  const sent = [
    basic('anna:pass'),
    basic('anna:pass'),
    basic('anna:pasS'),
    {},
    { 'x-api-key': 'k1' },
    { authorization: 'Bearer t', 'x-api-key': 'k1' },
    { authorization: 'Bearer t', 'x-api-key': 'k2' },
    { authorization: 'Bearer t', cookie: 'JSESSIONID=1' },
    { authorization: 'Bearer t', cookie: 'JSESSIONID=2' },
    basic('anna:pass'),
    { ...basic('anna:pass'), 'x-api-key': 'k1' },
  ];
  for (const fields of sent)
    expect(memory.tokenOf(fieldsOf(fields))?.token).toBe(credentials.tokenOf(fieldsOf(fields)));
});

it('hashes a credential that is sent again and again once, also behind thousands of others', () => {
  const { asked, memory } = counting();
  const anna = fieldsOf(basic('anna:pass'));
  for (let i = 0; i < 40_000; i += 1) {
    memory.tokenOf(anna);
    memory.tokenOf(fieldsOf(basic(`user${i}:pass`)));
  }
  expect(asked()).toBe(40_001);
});

it('forgets what has not been sent for long', () => {
  const { asked, memory } = counting();
  const anna = fieldsOf(basic('anna:pass'));
  memory.tokenOf(anna);
  for (let i = 0; i < 40_000; i += 1) memory.tokenOf(fieldsOf(basic(`user${i}:pass`)));
  memory.tokenOf(anna);
  expect(asked()).toBe(40_002);
});

it('tells credentials apart whose fingerprints are alike in what the table is asked for', () => {
  const memory = new TokenMemory(credentials);
  // Three such pairs are to be expected: each new one meets up to 32,768 others, in 2^30 places.
  for (let i = 0; i < 100_000; i += 1) {
    const fields = fieldsOf(basic(`user${i}:pass`));
    if (memory.tokenOf(fields)?.token !== credentials.tokenOf(fields)) expect.fail(`user${i} is taken for another`);
  }
});
