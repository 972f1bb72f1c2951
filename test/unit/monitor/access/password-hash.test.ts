import { expect, it } from 'vitest';
import {
  createDecoy,
  createPasswordHash,
  DEFAULT_COST,
  formatPasswordHash,
  isPassword,
  parsePasswordHash,
} from '../../../../src/monitor/access/password-hash.ts';
import { CHEAP } from '../../../support/monitor/access/access-files.ts';

const SALT = Buffer.alloc(16, 1).toString('base64');
const HASH = Buffer.alloc(32, 2).toString('base64');

it('a password hash matches its password and no other, also after reading its text; its decoy costs the same and matches nothing', async () => {
  const text = formatPasswordHash(await createPasswordHash('correct horse', CHEAP));
  expect(text).toMatch(/^scrypt\$16384\$8\$1\$[A-Za-z0-9+/=]{24}\$[A-Za-z0-9+/=]{44}$/);
  const parsed = parsePasswordHash(text)!;
  expect(await isPassword('correct horse', parsed)).toBe(true);
  expect(await isPassword('correct horsf', parsed)).toBe(false);
  expect(await isPassword('', parsed)).toBe(false);
  const [one, other] = await Promise.all([createPasswordHash('x', CHEAP), createPasswordHash('x', CHEAP)]);
  expect(one.salt).not.toEqual(other.salt);
  expect(one.hash).not.toEqual(other.hash);
  const decoy = createDecoy(DEFAULT_COST);
  expect(decoy).toMatchObject(DEFAULT_COST);
  expect(parsePasswordHash(formatPasswordHash(decoy))).toEqual(decoy);
  expect(parsePasswordHash(`scrypt$262144$8$16$${SALT}$${HASH}`), 'the most memory and time').toBeDefined();
  expect(await isPassword('', createDecoy(CHEAP))).toBe(false);
});

it.each([
  ['another algorithm', `bcrypt$16384$8$1$${SALT}$${HASH}`],
  ['an N that is no power of two', `scrypt$16385$8$1$${SALT}$${HASH}`],
  ['too little work', `scrypt$8192$8$1$${SALT}$${HASH}`],
  ['too much memory', `scrypt$1048576$8$1$${SALT}$${HASH}`],
  ['too much time', `scrypt$16384$8$17$${SALT}$${HASH}`],
  ['a short salt', `scrypt$16384$8$1$AAAA$${HASH}`],
  ['a short hash', `scrypt$16384$8$1$${SALT}$AAAA`],
  ['signs that are not base64', `scrypt$16384$8$1$${SALT}$${HASH.replace('A', '-')}*`],
])('a password hash is not read with %s', (_what, text) => {
  expect(parsePasswordHash(text)).toBeUndefined();
});
