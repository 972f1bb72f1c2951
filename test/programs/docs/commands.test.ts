/**
 * Every command in the documents: each line of blocks marked `sh`. command-table.ts says how it is tested. Commands of the sidecar, curl
 * and the like are run, in a sandbox (sandbox.ts) with a real sidecar in front of a sample control system; commands of `kubectl exec`, too.
 * The commands before a block of `json` or `text` must print its content, except for numbers, times and names (shape.ts).
 */
import { describe, expect, it } from 'vitest';
import { listDocuments } from '../../support/docs/documents.ts';
import { faultsOf, isRunnable, runDocument, stepsInSentences, stepsOf } from './run-document.ts';

const SLOW_MS = 300_000;
const documents = listDocuments();

describe('the commands in the documents', () => {
  it('are all known, also within sentences, and correct as far as can be seen without running them', () => {
    const steps = documents.flatMap(stepsOf);
    expect(steps.flatMap(faultsOf)).toEqual([]);
    expect(steps.filter(isRunnable).length).toBeGreaterThan(15);
    expect(documents.flatMap(stepsInSentences).flatMap(faultsOf)).toEqual([]);
  });

  const runnable = documents
    .filter((document) => stepsOf(document).some(isRunnable))
    .map((document) => [document.file, document] as const);

  it.each(runnable)('do what the text says, in %s', { timeout: SLOW_MS }, async (_, document) => {
    expect(await runDocument(document)).toEqual([]);
  });
});
