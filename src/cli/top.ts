/**
 * `d2-sidecar top`: running calls, the slowest calls, and the verdict of the live page, in a terminal. Asks the running
 * sidecar over the control socket every two seconds.
 */
import { SidecarError } from '../base/errors.ts';
import type { Environment } from '../config/environment.ts';
import type { FlagsOf } from './command-line.ts';
import { requestTop } from './control/control-client.ts';
import { findSocket } from './drain.ts';
import type { Output } from './output.ts';
import { type TopDocument, toTopLines } from './top-lines.ts';

/** Standard input and output of the process, or a substitute in tests. */
export interface Terminal {
  readonly isTerminal: boolean;
  readonly columns: number;
  readonly rows: number;
  /** Calls `onKey` with each key until the returned function is called. */
  readKeys(onKey: (key: string) => void): () => void;
  /** Calls `onResize` after each change of the size until the returned function is called. */
  watchSize(onResize: () => void): () => void;
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
  const socket = await findSocket(flags, env);
  const ask = async () => JSON.parse(await requestTop(socket)) as TopDocument;
  if (isOnce || !terminal.isTerminal) {
    output.out(`${toTopLines(await ask(), ANY_WIDTH).join('\n')}\n`);
    return 0;
  }
  return await show(ask, output, terminal);
}

async function show(ask: () => Promise<TopDocument>, output: Output, terminal: Terminal): Promise<number> {
  let shown = await ask();
  let wake: () => void = () => undefined;
  let isOver = false;
  const draw = () => {
    const lines = toTopLines(shown, terminal.columns).slice(0, Math.max(1, terminal.rows - 1));
    const help = 'q quits'.slice(0, terminal.columns);
    output.out(`${HOME}${[...lines, help].map((line) => line + CLEAR_LINE).join('\r\n')}${CLEAR_BELOW}`);
  };
  const stopKeys = terminal.readKeys((key) => {
    if (key !== 'q' && key !== 'Q' && key !== CTRL_C) return;
    isOver = true;
    wake();
  });
  const stopSize = terminal.watchSize(draw);
  output.out(ENTER);
  try {
    while (!isOver) {
      draw();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, REFRESH_MS);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      if (!isOver) shown = await ask();
    }
    return 0;
  } catch (cause) {
    if (!(cause instanceof SidecarError)) throw cause;
    throw new SidecarError(cause.code, `${cause.message}; the sidecar has ended, or was replaced`, { cause });
  } finally {
    stopKeys();
    stopSize();
    output.out(LEAVE);
  }
}

export function processTerminal(): Terminal {
  const { stdin, stdout } = process;
  return {
    isTerminal: stdin.isTTY === true && stdout.isTTY === true,
    get columns() {
      return stdout.columns;
    },
    get rows() {
      return stdout.rows;
    },
    readKeys: (onKey) => {
      const onData = (bytes: Buffer) => onKey(bytes.toString('latin1'));
      stdin.setRawMode(true).on('data', onData).resume();
      return () => {
        stdin.off('data', onData).setRawMode(false).pause();
      };
    },
    watchSize: (onResize) => {
      stdout.on('resize', onResize);
      return () => void stdout.off('resize', onResize);
    },
  };
}
