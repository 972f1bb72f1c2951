/**
 * Every command in the documents: each line of blocks marked `sh`. command-table.ts says how it is tested. Commands of the sidecar, curl
 * and the like are run, in a sandbox (sandbox.ts) with a real sidecar in front of a sample control system.
 *
 * The commands before a block of `json` or `text` must print its content, except for numbers, times and names (shape.ts).
 *
 * Commands of `kubectl exec` are run as well, beside the sidecar of the sandbox.
 *
 * Commands in backticks within sentences are checked in the same way, but not run. D2S_LIST_COMMANDS=1 prints how each is tested.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { listDocuments } from '../../support/docs/documents.ts';
import { faultsOf, isRunnable, runDocument, type Step, stepsInSentences, stepsOf } from './run-document.ts';

const SLOW_MS = 300_000;
const documents = listDocuments();

const report: string[] = [];
afterAll(() => {
  if (process.env.D2S_LIST_COMMANDS !== undefined) process.stdout.write(`${[...new Set(report)].sort().join('\n')}\n`);
});

const check = (steps: readonly Step[]) => steps.flatMap((step) => faultsOf(step, report));
describe('the commands in the documents', () => {
  it('are all known, and correct as far as can be seen without running them', () => {
    const steps = documents.flatMap(stepsOf);
    expect(check(steps)).toEqual([]);
    expect(steps.filter(isRunnable).length).toBeGreaterThan(15);
  });

  it('are known within sentences, too', () => {
    expect(check(documents.flatMap(stepsInSentences))).toEqual([]);
  });

  const runnable = documents
    .filter((document) => stepsOf(document).some(isRunnable))
    .map((document) => [document.file, document] as const);

  it.each(runnable)('do what the text says, in %s', { timeout: SLOW_MS }, async (_, document) => {
    expect(await runDocument(document)).toEqual([]);
  });
});
