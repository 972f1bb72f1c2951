/**
 * Describes bugs in this program. The message and the other members of an unexpected error are never shown: parsers put
 * their input into them, and that may be a client's password. The kind of error, and where it was thrown, are enough.
 */
import { LogOutput } from '../base/log-output.ts';
import { EXIT_FAILED } from './output.ts';

const STANDARD_ERROR = 2;

const NAME = /^[A-Za-z][A-Za-z0-9]{0,63}$/;
const CODE = /^[A-Z][A-Z0-9_]{0,63}$/;
/** A line of `Error.stack`: function, file, line and column, in V8's format. */
const FRAME =
  /^ {4}at (?:[\w$.#<>[\] -]{1,200} \()?(?:(?:file:|node:|\/|[A-Z]:\\)[^\s()]{1,400}:\d+:\d+|<anonymous>|index \d+)\)?$/;

const MAX_FRAMES = 20;
const MAX_WARNING_FRAMES = 3;
const MAX_CAUSES = 3;

/** Describes a thrown value without its message: `TypeError ERR_X, caused by SyntaxError`, then lines of the stack. */
export function describeError(thrown: unknown, maxFrames = MAX_FRAMES): string {
  return [describeKinds(thrown), ...parseFrames(thrown).slice(0, maxFrames)].join('\n');
}

/** From now on, prints unhandled errors and warnings without their messages. An error ends the process with code 1. */
export function reportCrashes(): void {
  // A pipe that is full or closed must not keep the process from ending, and a warning must not end it.
  const output = new LogOutput(STANDARD_ERROR, () => process.stderr);
  process.on('uncaughtException', (thrown: unknown) => {
    output.write(`d2-sidecar: ended by an unexpected error: ${describeError(thrown)}\n`);
    process.exit(EXIT_FAILED);
  });
  // Node's own listener prints messages: a deprecated call may be shown with the URL that it was given.
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    output.write(`d2-sidecar: warning: ${describeError(warning, MAX_WARNING_FRAMES)}\n`);
  });
}

function describeKinds(thrown: unknown): string {
  const kinds: string[] = [];
  for (let one = thrown; kinds.length <= MAX_CAUSES; one = one.cause) {
    if (!(one instanceof Error)) {
      if (kinds.length === 0) kinds.push(`a value of the type ${typeof one}`);
      break;
    }
    const name = NAME.test(one.name) ? one.name : 'Error';
    const code = 'code' in one && typeof one.code === 'string' && CODE.test(one.code) ? ` ${one.code}` : '';
    kinds.push(`${name}${code}`);
  }
  return kinds.join(', caused by ');
}

function parseFrames(thrown: unknown): string[] {
  if (!(thrown instanceof Error) || typeof thrown.stack !== 'string') return [];
  const { message, stack } = thrown;
  // The message comes before the frames, and may have lines that look like frames.
  const messageAt = stack.indexOf(message);
  const frames = messageAt < 0 ? stack : stack.slice(messageAt + message.length);
  return frames.split('\n').filter((line) => FRAME.test(line));
}
