/**
 * Derives the keys of PKCS #12 files from passphrases while other work goes on. node-forge derives them in JavaScript, which held the event
 * loop for 11 s at 600,000 iterations; OpenSSL does it at once as well.
 *
 * `parseWithKeys` runs a parser of node-forge. Where the parser needs a key, it is interrupted; the key is derived in
 * Node's thread pool, or in short slices, and the parser starts again, now with that key.
 */
import { createHash, hash, pbkdf2 } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import forge from 'node-forge';

/** The file asks for more work than any tool's default. Its message begins with a verb. */
export class CostlyKeyError extends Error {}

/** For one file. OpenSSL and Windows use 2,000 to 10,000; OWASP recommends 600,000. A few seconds of one processor. */
const MAX_ITERATIONS = 5_000_000;
/** About 2 ms. */
const SLICE_ITERATIONS = 1_000;
const BYTE = 0xff;

/** forge.md */
interface Digest {
  /** E.g. `sha256`. */
  readonly algorithm: string;
  readonly digestLength: number;
  readonly blockLength: number;
}

/** The functions of node-forge that derive keys; its types lack some. */
interface Derivations {
  readonly pkcs5: {
    pbkdf2: (passphrase: string, salt: string, iterations: number, bytes: number, md: Digest) => string;
  };
  readonly pbe: { generatePkcs12Key: Pkcs12Derivation };
  readonly pkcs12: { generateKey: Pkcs12Derivation };
}

type Pkcs12Derivation = (
  passphrase: string | null | undefined,
  salt: forge.util.ByteBuffer,
  id: number,
  iterations: number,
  bytes: number,
  md?: Digest | null,
) => forge.util.ByteBuffer;

interface Wanted {
  readonly id: string;
  readonly iterations: number;
  readonly derive: () => Promise<Buffer>;
}

const library = forge as unknown as Derivations;
const decodeLatin1 = (text: string) => Buffer.from(text, 'latin1');

/** Rejects with what `parse` throws, and with CostlyKeyError. `parse` is called once more for each key. */
export async function parseWithKeys<T>(parse: () => T): Promise<T> {
  const keys = new Map<string, Buffer>();
  let iterations = 0;
  for (;;) {
    let wanted: Wanted | undefined;
    const take = (one: Wanted): Buffer => {
      const key = keys.get(one.id);
      if (key !== undefined) return key;
      wanted = one;
      throw new Error('a key is missing');
    };
    try {
      return withDerivations(take, parse);
    } catch (error) {
      // TypeScript does not see that `take` assigns it.
      const next = wanted as Wanted | undefined;
      if (next === undefined) throw error;
      iterations += next.iterations;
      checkIterations(iterations);
      keys.set(next.id, await next.derive());
    }
  }
}

/** Throws CostlyKeyError. */
export function checkIterations(count: number): void {
  if (count <= MAX_ITERATIONS) return;
  throw new CostlyKeyError(`asks for ${count} iterations to derive its keys, expected at most ${MAX_ITERATIONS}`);
}

/** Replaces the functions of node-forge while `parse` runs, which is synchronous. */
function withDerivations<T>(take: (wanted: Wanted) => Buffer, parse: () => T): T {
  const { pkcs5, pbe, pkcs12 } = library;
  const original = { pbkdf2: pkcs5.pbkdf2, generateKey: pkcs12.generateKey };
  const ofPkcs12 = createPkcs12Derivation(take);
  pkcs5.pbkdf2 = (passphrase, salt, iterations, bytes, { algorithm }) => {
    const derive = () => promisify(pbkdf2)(decodeLatin1(passphrase), decodeLatin1(salt), iterations, bytes, algorithm);
    const id = JSON.stringify(['pbkdf2', passphrase, salt, iterations, bytes, algorithm]);
    return take({ id, iterations, derive }).toString('latin1');
  };
  pbe.generatePkcs12Key = ofPkcs12;
  pkcs12.generateKey = ofPkcs12;
  try {
    return parse();
  } finally {
    pkcs5.pbkdf2 = original.pbkdf2;
    pbe.generatePkcs12Key = original.generateKey;
    pkcs12.generateKey = original.generateKey;
  }
}

function createPkcs12Derivation(take: (wanted: Wanted) => Buffer): Pkcs12Derivation {
  return (passphrase, salt, id, iterations, bytes, md) => {
    if (iterations < 1) throw new Error('no iterations');
    const digest = md ?? (forge.md.sha1.create() as unknown as Digest);
    const saltBytes = decodeLatin1(salt.bytes());
    const parts = ['pkcs12', passphrase ?? null, saltBytes.toString('latin1'), id, iterations, bytes, digest.algorithm];
    const secret = passphrase == null ? Buffer.alloc(0) : Buffer.from(`${passphrase}\0`, 'utf16le').swap16();
    const derive = () => derivePkcs12Key(digest, { secret, salt: saltBytes }, { id, iterations, bytes });
    // A key that is longer than the digest takes all iterations again.
    const rounds = iterations * Math.ceil(bytes / digest.digestLength);
    const key = take({ id: JSON.stringify(parts), iterations: rounds, derive });
    return forge.util.createBuffer(key.toString('latin1'));
  };
}

/** RFC 7292 appendix B.2, in slices. */
async function derivePkcs12Key(
  { algorithm, blockLength }: Digest,
  { secret, salt }: { readonly secret: Buffer; readonly salt: Buffer },
  { id, iterations, bytes }: { readonly id: number; readonly iterations: number; readonly bytes: number },
): Promise<Buffer> {
  const diversifier = Buffer.alloc(blockLength, id);
  const input = Buffer.concat([repeated(salt, blockLength), repeated(secret, blockLength)]);
  const key: Buffer[] = [];
  for (let length = 0; length < bytes; ) {
    let digest = createHash(algorithm).update(diversifier).update(input).digest();
    for (let done = 1; done < iterations; done += 1) {
      digest = hash(algorithm, digest, 'buffer');
      if (done % SLICE_ITERATIONS === 0) await setImmediate();
    }
    key.push(digest);
    length += digest.length;
    addToBlocks(input, repeated(digest, blockLength).subarray(0, blockLength));
  }
  return Buffer.concat(key).subarray(0, bytes);
}

/** Copies of `bytes` that fill whole blocks. */
function repeated(bytes: Buffer, blockLength: number): Buffer {
  const length = blockLength * Math.ceil(bytes.length / blockLength);
  return length === 0 ? Buffer.alloc(0) : Buffer.alloc(length, bytes);
}

/** Adds `block` and 1 to each block of `input`, as big-endian numbers. */
function addToBlocks(input: Buffer, block: Buffer): void {
  for (let start = 0; start < input.length; start += block.length) {
    let carry = 1;
    for (let index = block.length - 1; index >= 0; index -= 1) {
      carry += (input[start + index] as number) + (block[index] as number);
      input[start + index] = carry & BYTE;
      carry >>= 8;
    }
  }
}
