/**
 * Runs in every test file: checks each answer of a monitoring server, in this process and in those that it starts,
 * against the OpenAPI document. A violation fails its test.
 */
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, expect } from 'vitest';
import { complaintsAbout } from './answer-check.ts';
import { COUNTS_FILE, FOLDER_VARIABLE } from './global-setup.ts';
import { RecordedAnswers } from './recorded-answers.ts';

const root = process.env[FOLDER_VARIABLE];
if (root === undefined) throw new Error('test/support/monitor/answers/global-setup.ts has not run');

const RECORDER = path.join(import.meta.dirname, 'record-answers.mjs');

const folder = mkdtempSync(path.join(root, 'answers-'));
process.env.D2S_ANSWERS_FOLDER = folder;
const option = `--import=${pathToFileURL(RECORDER).href}`;
const options = process.env.NODE_OPTIONS ?? '';
// Files of tests that share a process share its environment.
if (!options.includes(option)) process.env.NODE_OPTIONS = `${options} ${option}`;
await import(RECORDER);

const recorded = new RecordedAnswers(folder);
let count = 0;

function checkNew(): void {
  const answers = recorded.takeNew();
  count += answers.length;
  expect(answers.flatMap(complaintsAbout), 'what does not fit the OpenAPI document').toEqual([]);
}

afterEach(checkNew);

afterAll(() => {
  try {
    checkNew();
  } finally {
    appendFileSync(path.join(root, COUNTS_FILE), `${count}\n`);
    rmSync(folder, { recursive: true, force: true });
  }
});
