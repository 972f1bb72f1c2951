/**
 * Runs the system tests many times while busy loops load all cores, and lists every test that failed.
 *
 * `npm run test:steady -- [--times 20] [FILTER...]`: each FILTER is a part of a path, e.g. `wire/`. Exit code 1 if a
 * test failed. 20 times take an hour or two, so each time prints a line.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  options: { times: { type: 'string', default: '20' } },
  allowPositionals: true,
});
const times = Number(values.times);
if (!Number.isInteger(times) || times < 1) {
  process.stderr.write(`--times must be a whole number of at least 1, not ${values.times}\n`);
  process.exit(2);
}

const VITEST = path.resolve('node_modules/vitest/vitest.mjs');
const folder = mkdtempSync(path.join(tmpdir(), 'steady-'));
const loops = Array.from({ length: availableParallelism() }, () =>
  spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
);
const end = () => {
  for (const loop of loops) loop.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
};
process.once('exit', end);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/** Name of a test, and how often it failed. */
const failed = new Map();
for (let time = 1; time <= times; time += 1) {
  const begun = Date.now();
  const names = await runOnce(path.join(folder, `${time}.json`));
  for (const name of names) failed.set(name, (failed.get(name) ?? 0) + 1);
  process.stdout.write(`${time} of ${times}: ${names.length} failed, ${Math.round((Date.now() - begun) / 1000)} s\n`);
}
for (const [name, count] of failed) process.stdout.write(`${count} of ${times}  ${name}\n`);
process.stdout.write(failed.size === 0 ? 'No test failed.\n' : `${failed.size} tests failed at least once.\n`);
process.exit(failed.size === 0 ? 0 : 1);

async function runOnce(report) {
  const args = ['run', '--project', 'system', '--reporter=json', `--outputFile=${report}`, ...positionals];
  const child = spawn(process.execPath, [VITEST, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  const code = await new Promise((resolve) => child.once('close', resolve));
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const names = testResults.flatMap(({ name, status, assertionResults }) => {
    const file = path.relative('.', name);
    const tests = assertionResults
      .filter((test) => test.status === 'failed')
      .map((test) => `${file}: ${test.fullName}`);
    return tests.length === 0 && status === 'failed' ? [file] : tests;
  });
  return names.length === 0 && code !== 0 ? [`vitest ended with code ${code}`] : names;
}
