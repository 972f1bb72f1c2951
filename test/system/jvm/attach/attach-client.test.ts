import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  ATTACH_COMMANDS,
  type AttachCommand,
  askJvm,
  formatRequest,
  isListening,
  MAX_ANSWER_BYTES,
} from '../../../../src/jvm/attach/attach-client.ts';
import { deferTo, temporaryFolder } from '../../../support/deferred.ts';

const NEVER = new AbortController().signal;
const defer = deferTo(afterEach);

/** A socket whose server does this with each connection and its request. */
async function serve(
  onRequest: (socket: Socket, request: string) => void,
  when: 'asked' | 'at once' = 'asked',
): Promise<string> {
  const path = join(temporaryFolder(defer), 'socket');
  const server = createServer((socket) => {
    defer(() => socket.destroy());
    socket.on('error', () => undefined);
    if (when === 'at once') onRequest(socket, '');
    else socket.once('data', (request) => onRequest(socket, request.toString('latin1')));
  }).listen(path);
  defer(() => server.close());
  await once(server, 'listening');
  return path;
}

function failureOf(path: string, command: AttachCommand = 'VM.flags', signal = NEVER): Promise<unknown> {
  return askJvm(path, command, signal).then(
    () => expect.fail('it answered'),
    (cause: unknown) => cause,
  );
}

describe('askJvm', () => {
  it.each(['GC.heap_dump /tmp/x', 'VM.flags\0x'] as unknown as AttachCommand[])(
    'does not send %j, which is not on the list of commands',
    async (command) => {
      const requests: string[] = [];
      const path = await serve((_, request) => requests.push(request));
      expect(() => formatRequest(command)).toThrow('not on the list');
      expect(String(await failureOf(path, command))).toContain('not on the list');
      expect(requests).toEqual([]);
    },
  );

  it.each(ATTACH_COMMANDS)('sends %s with two empty arguments in protocol 1', async (command) => {
    const path = await serve((socket, request) => socket.end(`0\n${request.replaceAll('\0', '|')}\n`));
    expect(await askJvm(path, command, NEVER)).toBe(`1|jcmd|${command}|||\n`);
  });

  it.each([
    ['an exception', '-1\njava.lang.SecretException: password=x', 'result -1'],
    ['the beginning of an answer', '0\n-XX:MaxHeapSize=4294967', 'cut short'],
    ['no result', 'HTTP/1.1 400 Bad Request\r\n', 'no result code'],
  ])('rejects %s without repeating it', async (_, answer, told) => {
    const error = await failureOf(await serve((socket) => socket.end(answer)));
    expect(error).toMatchObject({ code: 'D2S_ERR_JVM_FORMAT', message: expect.stringContaining(told) });
    expect(String(error)).not.toMatch(/password|HTTP/);
  });

  it('accepts an answer of the largest size, but no byte more', async () => {
    const longest = 'x'.repeat(MAX_ANSWER_BYTES - 3);
    const path = await serve((socket, request) => socket.end(`0\n${longest}${request.includes('flags') ? '' : 'x'}\n`));
    expect(await askJvm(path, 'VM.flags', NEVER)).toHaveLength(longest.length + 1);
    expect(await failureOf(path, 'GC.heap_info')).toMatchObject({ code: 'D2S_ERR_JVM_FORMAT' });
  });

  const flood = (socket: Socket) => void (socket.destroyed || socket.write('x'.repeat(10_000), () => flood(socket)));

  it.each([
    ['never stops answering', 'D2S_ERR_JVM_FORMAT', flood],
    ['has answered half by the deadline', 'D2S_ERR_JVM_TIMEOUT', (socket: Socket) => void socket.write('0\nhalf')],
  ])('closes the connection to a server that %s', async (_, code, answer) => {
    const deadline = new AbortController();
    let closed: Promise<unknown> | undefined;
    const path = await serve((socket) => {
      closed = new Promise((resolve) => socket.once('close', resolve));
      answer(socket);
      if (answer !== flood) deadline.abort();
    });
    expect(await failureOf(path, 'VM.flags', deadline.signal)).toMatchObject({ code });
    await closed;
  });

  it('does not start after its deadline, and says that there is nothing to connect to', async () => {
    const late = await failureOf('/nowhere', 'VM.flags', AbortSignal.abort());
    expect(late).toMatchObject({ code: 'D2S_ERR_JVM_TIMEOUT' });
    expect(await failureOf('/nowhere')).toMatchObject({ code: 'D2S_ERR_JVM_UNREACHABLE' });
    await expect(isListening('/nowhere', NEVER)).rejects.toMatchObject({ code: 'D2S_ERR_JVM_UNREACHABLE' });
  });
});
