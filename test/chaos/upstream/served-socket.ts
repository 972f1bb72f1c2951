import type net from 'node:net';
import { toUpgraded } from '../../support/load/heads.ts';
import { reset } from '../../support/load/sockets.ts';
import { FrameReader, frame, OPCODES } from '../../support/protocol/websocket/frames.ts';
import { fieldOf, type Head } from '../../system/wire/message-reader.ts';
import type { Ledger } from '../truth/ledger.ts';
import { isWithin, messageOf, planSocket, REFUSAL_BODY } from '../truth/socket-plan.ts';

/** Answers a handshake by its plan; returns what takes the bytes of the WebSocket, and throws for malformed frames. */
export function serveSocket(socket: net.Socket, seed: number, ledger: Ledger, id: string, head: Head) {
  const plan = planSocket(seed, id);
  const { fault, faultAfter } = plan;
  const frames = new FrameReader(true);
  let received = 0;
  let isOver = fault === 'reset-before' || fault === 'refuse';

  const breakOffIfDue = (): void => {
    if (!isWithin(fault) || received < faultAfter) return;
    isOver = true;
    if (fault === 'reset-within') reset(socket);
    else if (fault === 'close-within') socket.end();
    else socket.end(frame({ opcode: OPCODES.binary, payload: `a part for ${id}` }).subarray(0, -3));
  };
  const onMessage = (opcode: number, payload: Buffer): void => {
    const wanted = plan.isComet ? OPCODES.text : OPCODES.binary;
    if (opcode !== wanted || !payload.equals(messageOf(seed, plan, 'up', received))) {
      ledger.note('W', id, `message ${received} of its client: opcode ${opcode}, ${payload.length} bytes`);
      socket.destroy();
      return;
    }
    ledger.note('M', id, String(received));
    received += 1;
    socket.write(frame({ opcode, payload: messageOf(seed, plan, 'down', received - 1) }));
    breakOffIfDue();
  };

  if (fault === 'reset-before') reset(socket);
  else if (fault === 'refuse') {
    const fields = `X-Chaos: ${id}\r\nContent-Length: ${REFUSAL_BODY.length}\r\nConnection: close\r\n`;
    socket.end(`HTTP/1.1 403 Forbidden\r\n${fields}\r\n${REFUSAL_BODY}`);
  } else if (fault !== 'never') {
    socket.write(toUpgraded(fieldOf(head, 'sec-websocket-key') ?? '', `X-Chaos: ${id}`));
    breakOffIfDue();
  }
  return (chunk: Buffer): void => {
    for (const { opcode, payload } of isOver ? [] : frames.read(chunk)) {
      if (isOver) return;
      if (opcode === OPCODES.close) {
        isOver = true;
        socket.end(frame({ opcode: OPCODES.close, payload }));
      } else if (opcode !== OPCODES.pong) onMessage(opcode, payload);
    }
  };
}
