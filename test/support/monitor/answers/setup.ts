/**
 * Runs in every test file: checks each answer of a monitoring server, in this process and in those that it starts,
 * against the OpenAPI document. A violation fails its test.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, expect } from 'vitest';
import { complaintsAbout } from './answer-check.ts';
import { RecordedAnswers } from './recorded-answers.ts';

const RECORDER = path.join(import.meta.dirname, 'record-answers.mjs');

const folder = mkdtempSync(path.join(tmpdir(), 'd2s-answers-'));
process.env.D2S_ANSWERS_FOLDER = folder;
const option = `--import=${pathToFileURL(RECORDER).href}`;
const options = process.env.NODE_OPTIONS ?? '';
// Files of tests that share a process share its environment.
if (!options.includes(option)) process.env.NODE_OPTIONS = `${options} ${option}`;
await import(RECORDER);

const recorded = new RecordedAnswers(folder);

function checkNew(): void {
  expect(recorded.takeNew().flatMap(complaintsAbout), 'what does not fit the OpenAPI document').toEqual([]);
}

afterEach(checkNew);

afterAll(() => {
  try {
    checkNew();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
