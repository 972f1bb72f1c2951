/** A shell that gets one line after the other, so that `umask`, variables and the like apply to later lines. */
import type { ChildProcess } from 'node:child_process';
import type { Ran } from '../install/run.ts';

const TIMEOUT_MS = 120_000;
/** No program prints it. */
const MARK = '--- d2s-guides: the end of a command ---';
const TYPED = 'correct horse battery staple';
/** The operator is root, with or without sudo. The sudoedit change is a block of the guide, which write-block.ts writes. */
const PRELUDE = `
sudo() { if [ "$1" = -u ]; then local user=$2; shift 2; runuser -u "$user" -- "$@"; else "$@"; fi; }
sudoedit() { test -e "$1"; }
echo '${TYPED}' > /tmp/typed
`;

export class Terminal {
  readonly #shell: ChildProcess;
  readonly #printed = { stdout: '', stderr: '' };
  #changed: () => void = () => undefined;

  /** `shell`: a bash that reads its standard input. `folder`: its working directory. */
  constructor(shell: ChildProcess, folder: string) {
    this.#shell = shell;
    for (const name of ['stdout', 'stderr'] as const)
      shell[name]?.setEncoding('utf8').on('data', (text: string) => {
        this.#printed[name] += text;
        this.#changed();
      });
    shell.on('exit', () => this.#changed());
    shell.stdin?.on('error', () => undefined).write(`${PRELUDE}cd ${folder}\n`);
  }

  /** Rejects after a timeout. */
  async run(line: string): Promise<Ran> {
    this.#printed.stdout = '';
    this.#printed.stderr = '';
    const end = `printf '\\n%s %s\\n' '${MARK}' "$?"; printf '\\n%s\\n' '${MARK}' >&2`;
    this.#shell.stdin?.write(`eval '${line.replaceAll("'", "'\\''")}' < /tmp/typed; ${end}\n`);
    await this.#marked(line);
    const [stdout = '', code] = this.#printed.stdout.split(`\n${MARK} `);
    const [stderr = ''] = this.#printed.stderr.split(`\n${MARK}`);
    return { code: Number(code), stdout, stderr };
  }

  async #marked(line: string): Promise<void> {
    const isMarked = () => Object.values(this.#printed).every((text) => text.includes(MARK) && text.endsWith('\n'));
    const fail = (why: string) => new Error(`${line}: ${why}: ${this.#printed.stdout}${this.#printed.stderr}`);
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(fail('does not end')), TIMEOUT_MS);
      const look = () => {
        if (isMarked()) resolve();
        else if (this.#shell.exitCode !== null) reject(fail('it has ended the shell'));
        else return;
        clearTimeout(timer);
      };
      this.#changed = look;
      look();
    });
  }
}
