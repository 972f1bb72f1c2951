import type { Writable } from 'node:stream';
import * as ws from 'ws';
import type { Said } from './websocket-corpus.ts';

export interface WsReading {
  readonly messages: readonly { readonly data: Buffer; readonly isBinary: boolean }[];
  readonly error: string | undefined;
  /** A compressed stream ended within a message (BFINAL). That receiver drops the rest of the message, ours does not. */
  readonly hasEndedStream: boolean;
}

type Inflate = { readonly _readableState: { readonly ended: boolean } } | null;

interface PerMessageDeflate {
  readonly _inflate: Inflate;
  accept(offers: readonly object[]): object;
  cleanup(): void;
  decompress(data: Buffer, fin: boolean, callback: (error: Error | null, data?: Buffer) => void): void;
}

// The package exports both, its types do not.
const Receiver = Reflect.get(ws, 'Receiver') as new (options: object) => Writable;
const Deflate = Reflect.get(ws, 'PerMessageDeflate') as new (options: object) => PerMessageDeflate;

/** For what `from` sends, at one of its ends. */
export function createDeflate(from: Said['from'], agreed: Said['deflate'], isServer: boolean) {
  if (agreed === undefined) return undefined;
  const deflate = new Deflate({ isServer, threshold: 0 });
  const side = from === 'client' ? 'client' : 'server';
  const offer: Record<string, readonly unknown[]> = { [`${side}_max_window_bits`]: [agreed.windowBits] };
  if (!agreed.contextTakeover) offer[`${side}_no_context_takeover`] = [true];
  deflate.accept([offer]);
  return deflate;
}

export async function readWithWs(said: Said, bytes: Buffer): Promise<WsReading> {
  const deflate = createDeflate(said.from, said.deflate, said.from === 'client');
  const messages: { data: Buffer; isBinary: boolean }[] = [];
  let hasEndedStream = false;
  if (deflate !== undefined) {
    const decompress = deflate.decompress.bind(deflate);
    deflate.decompress = (data, fin, callback) =>
      decompress(data, fin, (error, inflated) => {
        const { _inflate: inflate } = deflate;
        if (inflate === null || inflate._readableState.ended) hasEndedStream = true;
        callback(error, inflated);
      });
  }
  const receiver = new Receiver({
    isServer: said.from === 'client',
    extensions: deflate === undefined ? {} : { 'permessage-deflate': deflate },
    // It would end the connection there; the bytes after such a text matter, too.
    skipUTF8Validation: true,
  });
  receiver.on('message', (data: Buffer, isBinary: boolean) => messages.push({ data: Buffer.from(data), isBinary }));
  receiver.on('error', () => undefined);
  // It unmasks in place.
  const error = await new Promise<unknown>((resolve) => receiver.write(Buffer.from(bytes), resolve));
  receiver.destroy();
  deflate?.cleanup();
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  return { messages, error: code ?? (error instanceof Error ? error.message : undefined), hasEndedStream };
}
