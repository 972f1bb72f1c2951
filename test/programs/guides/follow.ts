/** Follows a guide like its reader, block by block: types its commands into a shell of a machine, and writes blocks into the files that the guide names. */
import type { Document } from '../../support/docs/documents.ts';
import { faultOfShown } from '../../support/docs/shape.ts';
import { type CommandLine, toCommandLines } from '../../support/docs/shell.ts';
import { type Block, toBlocks } from '../../support/guides/guide.ts';
import type { Machine } from '../../support/guides/machine.ts';
import { writeBlock } from '../../support/guides/write-block.ts';
import type { Plant } from './plant.ts';

const NOT_RUN: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/^npm (?:ci|run build)$/, 'the machine has no network; the checkout was built before'],
  [/^npx vitest\b/, 'it is the project that is tested by it, not the installation'],
];
const SERVES = /^(?:sudo )?systemctl (?:enable --now|start|restart|try-restart) d2-sidecar\b/;
const STARTS_TOMCAT = /^(?:sudo )?systemctl (?:start|restart) tomcat10\b/;

/** Its exit code says whose fault it is; a higher one that there is none to ask. */
const VERDICT = /^d2-sidecar verdict$/;
const VERDICT_CODE = 2;
/** The operator is root, with or without sudo. The sudoedit change is a block of the guide, which write-block.ts writes. */
const PRELUDE = `sudo() { if [ "$1" = -u ]; then local user=$2; shift 2; runuser -u "$user" -- "$@"; else "$@"; fi; }
sudoedit() { test -e "$1"; }
`;

export interface Part {
  readonly section?: string;
  /** Lines left out, since they are run later. */
  readonly without?: RegExp;
}

export class Follower {
  /** The result of each command, e.g. `docs/tomcat.md:33: run: d2-sidecar health`. */
  readonly told: string[] = [];
  readonly #machine: Machine;
  readonly #plant: Plant;
  readonly #user: string;
  readonly #folder: string | undefined;
  #umask = '';
  #isForeground = false;

  /** `user` types in `folder`, by default in the checkout. */
  constructor(machine: Machine, plant: Plant, user = 'root', folder?: string) {
    this.#machine = machine;
    this.#plant = plant;
    this.#user = user;
    this.#folder = folder;
  }

  /** Throws the first failure, with its place. */
  async follow(document: Document, part: Part = {}): Promise<void> {
    let printed: string[] = [];
    let section: string | undefined;
    const isTaken = ({ section: heading }: Block) => part.section === undefined || heading === part.section;
    for (const block of toBlocks(document).filter(isTaken)) {
      if (block.section !== section) await this.#leave();
      section = block.section;
      if (block.language === 'sh') printed = await this.#type(block, part.without);
      else if (['text', 'json'].includes(block.language)) checkShown(block, printed);
      else if (['yaml', 'xml', 'ini'].includes(block.language)) {
        await this.#write(block);
        printed = [];
      }
    }
    await this.#leave();
  }

  /** Ctrl-C for a sidecar in the foreground, which has to end with 0. */
  async #leave(): Promise<void> {
    if (!this.#isForeground) return;
    this.#isForeground = false;
    await this.#machine.succeed(`systemctl kill --signal INT foreground
while systemctl is-active --quiet foreground; do sleep 0.1; done; ! systemctl is-failed --quiet foreground`);
  }

  async #type({ place, text }: Block, without: RegExp | undefined): Promise<string[]> {
    const printed: string[] = [];
    const [file, first] = place.split(':');
    for (const line of toCommandLines(text).filter((one) => !without?.test(one.text))) {
      const here = `${file}:${Number(first) + line.line}`;
      try {
        printed.push(...(await this.#perform(line, here)));
      } catch (error) {
        throw new Error(`${here}: ${line.text}: ${String(error)}`);
      }
    }
    return printed;
  }

  async #perform({ text, simple }: CommandLine, place: string): Promise<readonly string[]> {
    const tell = (what: string) => this.told.push(`${place}: ${what}: ${text}`);
    const reasonOf = (command: string) => NOT_RUN.find(([pattern]) => pattern.test(command))?.[1];
    const reason = simple.map((command) => reasonOf(command.text)).find(Boolean);
    if (reason !== undefined) tell(`not run (${reason})`);
    else if (/^d2-sidecar(?: --|$)/.test(text)) {
      tell('run in the foreground');
      const user = await this.#plant.user();
      await this.#machine.succeed(`systemd-run --quiet --unit foreground --uid ${user} --gid ${user} ${text}`);
      this.#isForeground = true;
      const isReady = async () => (await this.#machine.run('d2-sidecar health --ready')).code === 0;
      await this.#plant.until(isReady, `${text}: it is not ready`);
      await this.#plant.call();
    } else {
      tell('run');
      return await this.#run(text);
    }
    return [];
  }

  async #run(text: string): Promise<readonly string[]> {
    if (text.startsWith('umask ')) this.#umask = `${text}\n`;
    const line = `${PRELUDE}${this.#umask}${text}`;
    const { code, stdout, stderr } = await this.#machine.run(line, '', this.#user, this.#folder);
    const isVerdict = code !== null && code <= VERDICT_CODE && VERDICT.test(text);
    if (code !== 0 && !isVerdict) {
      const service = /\bsystemctl .* ([\w-]+)$/.exec(text)?.[1];
      const log = service === undefined ? '' : await this.#machine.logOf(service);
      throw new Error(`exit code ${code}: ${stdout}${stderr}${log}`);
    }
    if (STARTS_TOMCAT.test(text)) await this.#plant.untilReady();
    if (SERVES.test(text)) await this.#plant.callService();
    return [stdout, stderr];
  }

  async #write(block: Block): Promise<void> {
    const file = await writeBlock(this.#machine, block);
    this.told.push(`${block.place}: ${file === undefined ? 'belongs into no file' : `written into ${file}`}`);
  }
}

function checkShown({ place, language, text }: Block, printed: readonly string[]): void {
  const fault = printed.length === 0 ? undefined : faultOfShown(language, text, printed);
  if (fault !== undefined) throw new Error(`${place}: ${fault}`);
}
