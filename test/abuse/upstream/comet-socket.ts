import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { FrameReader, OPCODES, toFrame } from '../../chaos/wire/frames.ts';
import { HONEST_CREDENTIAL } from '../plant.ts';
import type { Bayeux } from './bayeux.ts';
import { isKnown } from './site.ts';

/** RFC 6455 section 1.3. */
const ACCEPT_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Number of answered messages on a connection; unlimited for the honest user. */
const MAX_ANSWERED = 8;

/**
 * A WebSocket, accepted for every client: the Bayeux handshake authenticates. It answers some plain messages, up to the
 * first frame that is compressed or fragmented. From then on it reads and drops, so that it is never slower than the sidecar.
 */
export function acceptCometSocket(request: IncomingMessage, socket: Duplex, bayeux: Bayeux): void {
  const { 'sec-websocket-key': key = '', 'sec-websocket-extensions': offered = '' } = request.headers;
  const isCompressed = offered.includes('permessage-deflate');
  socket.on('error', () => socket.destroy());
  socket.on('end', () => socket.end());
  const accept = createHash('sha1').update(`${key}${ACCEPT_GUID}`).digest('base64');
  const fields = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
    ...(isCompressed ? ['Sec-WebSocket-Extensions: permessage-deflate'] : []),
  ];
  socket.write(`${fields.join('\r\n')}\r\n\r\n`);
  const frames = new FrameReader(true);
  let left = request.headers.authorization === HONEST_CREDENTIAL ? Number.POSITIVE_INFINITY : MAX_ANSWERED;
  const onData = (chunk: Buffer): void => {
    try {
      for (const { opcode, payload } of frames.read(chunk)) {
        if (opcode !== OPCODES.text) continue;
        left -= 1;
        if (left < 0) throw new Error('answered enough');
        const { messages, delayMs } = bayeux.answer(payload.toString('utf8'), isKnown(request));
        const send = () => socket.write(toFrame(OPCODES.text, Buffer.from(JSON.stringify(messages()))));
        if (delayMs === 0) send();
        else setTimeout(send, delayMs);
      }
    } catch {
      socket.off('data', onData);
      socket.resume();
    }
  };
  socket.on('data', onData);
}
