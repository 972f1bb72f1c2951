/** Small inputs that cause much work: bodies and messages of Comet that inflate, or parse, to large data. */
import zlib from 'node:zlib';
import { OBJECT_PREFIX } from '../plant.ts';

/** 4.2 MB: 16 kB as a message of permessage-deflate, some 124 bytes in two codings of gzip. */
export function nestedArrays(): string {
  return `[${`${'['.repeat(98)}${']'.repeat(98)},`.repeat(21_290)}0]`;
}

export function doubleGzipBomb(): Buffer {
  return zlib.gzipSync(zlib.gzipSync(nestedArrays()));
}

/** A subscription to this many channels, e.g. `/d2/object/00000a`. */
export function subscription(channels: number): string {
  const names = Array.from({ length: channels }, (_, i) => `"${OBJECT_PREFIX}${i.toString(36)}"`);
  return `[{"channel":"/meta/subscribe","clientId":"none","id":"1","subscription":[${names.join(',')}]}]`;
}

export function manyMessages(count: number): string {
  const data = '"data":{"eventName":"E","rpcName":"P"}';
  const messages = Array.from({ length: count }, (_, i) => `{"channel":"/service/d2/rpc","id":"${i}",${data}}`);
  return `[${messages.join(',')}]`;
}
