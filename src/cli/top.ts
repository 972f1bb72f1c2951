/**
 * `d2-sidecar top`: running calls, the slowest calls, and the verdict of the live page, in a terminal. Asks the running
 * sidecar over the control socket every two seconds.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { SidecarError } from '../base/errors.ts';
import type { Environment } from '../config/environment.ts';
import { askSidecar } from './ask-sidecar.ts';
import type { FlagsOf } from './command-line.ts';
import { requestTop } from './control/control-client.ts';
import type { TopDocument } from './control/protocol.ts';
import type { Output } from './output.ts';
import { formatTop } from './top-lines.ts';

/** Standard input and output of the process. */
export interface Terminal {
  readonly stdin: Pick<NodeJS.ReadStream, 'isTTY' | 'setRawMode' | 'on' | 'off' | 'resume' | 'pause'>;
  readonly stdout: Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'rows' | 'on' | 'off'>;
}

const REFRESH_MS = 2_000;
/** Lines of `--once` may have any length: they are for files and other programs. */
const ANY_WIDTH = 10_000;
const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const CLEAR_LINE = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';
const CTRL_C = '\x03';

/**
 * Throws D2S_ERR_CONTROL if no sidecar runs or the sidecar ends. Without a terminal it prints once, as with `isOnce`.
 */
export async function top(
  { flags, isOnce }: FlagsOf<'top'>,
  env: Environment,
  output: Output,
  terminal: Terminal,
): Promise<number> {
  const { socket, first } = await askSidecar(flags, env, output, async (socket) => {
    return { socket, first: await requestTop(socket) };
  });
  if (isOnce || !terminal.stdin.isTTY || !terminal.stdout.isTTY) {
    output.out(`${formatTop(first, ANY_WIDTH).join('\n')}\n`);
    return 0;
  }
  return await show(socket, first, output, terminal);
}

async function show(socket: string, first: TopDocument, output: Output, { stdin, stdout }: Terminal): Promise<number> {
  let shown = first;
  const draw = () => {
    const { columns, rows } = stdout;
    const lines = [...formatTop(shown, columns).slice(0, Math.max(1, rows - 1)), 'q quits'.slice(0, columns)];
    output.out(`${HOME}${lines.map((line) => line + CLEAR_LINE).join('\r\n')}${CLEAR_BELOW}`);
  };
  const quit = new AbortController();
  const onKey = (bytes: Buffer) => {
    if (['q', 'Q', CTRL_C].includes(bytes.toString('latin1'))) quit.abort();
  };
  stdin.setRawMode(true);
  stdin.on('data', onKey);
  stdin.resume();
  stdout.on('resize', draw);
  output.out(ENTER);
  try {
    for (;;) {
      draw();
      await delay(REFRESH_MS, undefined, { signal: quit.signal }).catch(() => undefined);
      if (quit.signal.aborted) return 0;
      shown = await requestTop(socket);
    }
  } catch (cause) {
    if (!(cause instanceof SidecarError)) throw cause;
    throw new SidecarError(cause.code, `${cause.message}; the sidecar has ended, or was replaced`, { cause });
  } finally {
    stdout.off('resize', draw);
    stdin.off('data', onKey);
    stdin.setRawMode(false);
    stdin.pause();
    output.out(LEAVE);
  }
}
