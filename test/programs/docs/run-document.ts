/** Sorts the commands of a document by command-table.ts, and runs them in order. */
import type { Document, Fence, Piece } from '../../support/docs/documents.ts';
import { faultOfShown } from '../../support/docs/shape.ts';
import { type CommandLine, type SimpleCommand, toCommandLines } from '../../support/docs/shell.ts';
import { hasProgram } from '../../support/programs.ts';
import { findWay, type Way } from './command-table.ts';
import { Sandbox } from './sandbox.ts';

export interface Step {
  readonly place: string;
  readonly line: CommandLine;
  readonly ways: readonly (Way | undefined)[];
}

/** Programs whose commands are checked within sentences, too; keys.test.ts checks those of d2-sidecar. */
const IN_SENTENCES =
  /^(?:\w+=\S+ )?(?:npm|npx|node|docker|kubectl|helm|kustomize|systemctl|sudo|apt|apt-get|journalctl|\.ci\/run)(?: |$)/;

const BY_DEFAULT = 'd2-sidecar --upstream http://127.0.0.1:8080/smartWeb --listen 127.0.0.1:8081';
const ENDS_IT = /\b(?:drain|shutdown)\b/;
/** Lines between a block of commands and one that shows their output. */
const MAX_LINES_BETWEEN = 5;

/** The user does not matter here. */
const withoutSudo = (text: string) => text.replace(/\bsudo (?:-u \S+ )?/g, '');

function toText({ variables, words }: SimpleCommand): string {
  return withoutSudo([...variables, ...words].join(' '));
}

function toSteps({ place, text }: Piece): readonly Step[] {
  const [file, first] = place.split(':');
  return toCommandLines(text).map((line) => ({
    place: `${file}:${Number(first) + line.line}`,
    line,
    ways: line.simple.map((command) => findWay(toText(command))),
  }));
}

export function stepsOf({ fences }: Document): readonly Step[] {
  return fences.filter(({ language }) => language === 'sh').flatMap(toSteps);
}

export function stepsInSentences({ codes }: Document): readonly Step[] {
  return codes.filter(({ text }) => IN_SENTENCES.test(text) && /[ /]/.test(text)).flatMap(toSteps);
}

/** The faults of a line found without running it. */
export function faultsOf({ place, line, ways }: Step): readonly string[] {
  return line.simple.flatMap((command, i) => {
    const way = ways[i];
    const text = toText(command);
    if (way === undefined) return [`${place}: ${text}: command-table.ts has no row for it`];
    const words = command.words[0] === 'sudo' ? command.words.slice(command.words[1] === '-u' ? 3 : 1) : command.words;
    const fault = typeof way === 'function' ? way(words) : undefined;
    return fault === undefined ? [] : [`${place}: ${text}: ${fault}`];
  });
}

export const isRunnable = (step: Step) => isRun(step) || toServed(step) !== undefined || toInner(step) !== undefined;

function toInner({ line }: Step): string | undefined {
  return /^(?:kubectl|docker) exec .*?(d2-sidecar [a-z].*)$/.exec(withoutSudo(line.text))?.[1];
}

const isRun = ({ ways }: Step) => ways.every((way) => way === 'run');

function hasPrograms({ line }: Step): boolean {
  const programs = line.simple.map((command) => withoutSudo(command.words.join(' ')).split(' ')[0] ?? '');
  return programs.every((program) => /^(?:d2-sidecar|node)$/.test(program) || hasProgram(program));
}

const toServed = ({ ways }: Step) => ways.find((way) => way === 'SIGTERM' || way === 'SIGINT');

export async function runDocument({ fences }: Document): Promise<readonly string[]> {
  const run = new DocumentRun();
  try {
    await run.sandbox.prepare();
    for (const fence of fences) await run.take(fence);
    await run.finish();
  } catch (error) {
    run.faults.push(String(error));
  } finally {
    await run.sandbox.close();
  }
  return run.faults;
}

class DocumentRun {
  readonly sandbox = new Sandbox();
  readonly faults: string[] = [];
  #printed: { readonly outputs: readonly string[]; readonly end: number } | undefined;
  #started = BY_DEFAULT;

  async take(fence: Fence): Promise<void> {
    const first = Number(fence.place.split(':')[1]);
    const before = this.#printed;
    this.#printed = undefined;
    if (fence.language === 'sh') {
      const outputs: string[] = [];
      for (const step of toSteps(fence)) outputs.push(...(await this.#step(step)));
      if (outputs.length > 0) this.#printed = { outputs, end: first + fence.text.split('\n').length };
    }
    if (!['json', 'text'].includes(fence.language) || before === undefined) return;
    if (first - before.end > MAX_LINES_BETWEEN) return;
    this.#tell(fence.place, faultOfShown(fence.language, fence.text, before.outputs));
    // One command may be shown in several pieces.
    this.#printed = { ...before, end: first + fence.text.split('\n').length };
  }

  async finish(): Promise<void> {
    const code = await this.sandbox.stop();
    if (code !== undefined && code !== 0) this.#tell(this.#started, `ended with ${code}`);
  }

  async #step(step: Step): Promise<readonly string[]> {
    const { place, line } = step;
    const served = toServed(step);
    const text = toInner(step) ?? withoutSudo(line.text);
    if (served !== undefined) {
      await this.sandbox.serve(text);
      if (served === 'SIGTERM') this.#started = text;
      else if ((await this.sandbox.stop(served)) !== 0) this.#tell(place, `${text}: did not end with 0`);
      return [];
    }
    if (toInner(step) === undefined && !(isRun(step) && hasPrograms(step))) return [];
    if (!this.sandbox.isServing) await this.sandbox.serve(this.#started);
    const { code, stdout, stderr } = await this.sandbox.run(text);
    if (code !== 0) this.#tell(place, `${text}: exit code ${code}: ${stderr}`);
    // The next command gets a running sidecar.
    if (ENDS_IT.test(text)) await this.sandbox.stop('SIGKILL');
    return [stdout, stderr];
  }

  #tell(place: string, fault: string | undefined): void {
    if (fault !== undefined) this.faults.push(`${place}: ${fault}`);
  }
}
