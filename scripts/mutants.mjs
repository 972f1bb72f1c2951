#!/usr/bin/env node
/**
 * Breaks the code in one place at a time, and lists the places where no test notices.
 *
 * `npm run mutants -- [--seed 1] [--count 200] [--report FILE] [--only FILE [--survivors]] [--tests DIR] [--through CMD]`
 *
 * `--seed` repeats a choice. `--only` runs the mutants of a report again, each first with the test that caught it; with
 * `--survivors` only those that no test caught, or that were not reached. `--tests` takes test/ from another checkout.
 * `--through` starts every run of tests by another program, e.g. `nice`.
 *
 * All mutants are in the code, each with a switch, so that the project is built only once. First each file of test/unit
 * and test/system runs alone without a mutant, which tells its time and the mutants that it reaches; a file that fails is
 * left out. A mutant then meets the files that reach it: test/unit first, the quickest of test/system first. A file that
 * fails runs again alone, since a busy machine may be the reason; if it passes then, the others go on. A run that takes
 * three times as long as expected counts as caught. Two copies of the project work side by side. The report is written
 * after each mutant.
 */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { isPossible, listMutants, shuffle, withSwitches } from './mutant-switches.mjs';

const ROOT = path.resolve(import.meta.dirname, '..');
const MUTATED = ['src/proxy', 'src/measure', 'src/metrics', 'src/monitor/access'];
const NOT_COPIED = /^(?:\.git|node_modules|build|coverage|dist.*)$/;
const COPIES = 2;
const PROJECTS = ['unit', 'system'];
/** Files of test/system in a run: the first one that fails ends it. */
const SYSTEM_FILES = 12;
const AT_ONCE = 2;
const SLOWER = 3;
const SPARE_MS = 30_000;
const EXIT_USAGE = 64;

/** The module of the switches in a copy: each process reads which mutant is on, or says once which ones it reaches. */
const toSwitchModule = (folder) => `
import { appendFileSync, readFileSync } from 'node:fs';
const on = readFileSync(${JSON.stringify(path.join(folder, 'mutant-on'))}, 'utf8');
const reached = new Set();
export function isOn(number) {
  if (on !== '') return Number(on) === number;
  if (reached.has(number)) return false;
  reached.add(number);
  try {
    appendFileSync(${JSON.stringify(path.join(folder, 'mutants-reached'))}, number + '\\n');
  } catch {}
  return false;
}
`;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '200' },
    report: { type: 'string', default: 'build/mutants.json' },
    tests: { type: 'string', default: ROOT },
    only: { type: 'string' },
    survivors: { type: 'boolean', default: false },
    through: { type: 'string' },
  },
});
const [seed, count] = [Number(values.seed), Number(values.count)];
if (!Number.isInteger(seed) || !Number.isInteger(count) || count < 1) {
  process.stderr.write('mutants: --seed and --count must be whole numbers\n');
  process.exit(EXIT_USAGE);
}

const say = (line) => void process.stdout.write(`${line}\n`);
const copies = [];
const running = new Set();
process.once('exit', () => {
  for (const child of running) endGroup(child);
  // Processes that are ending may still write.
  for (const copy of copies) rmSync(copy, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const mutants = (values.only === undefined ? choose() : readReport()).map((mutant, number) => ({ ...mutant, number }));
say(`${mutants.length} mutants, seed ${seed}`);
for (let made = 0; made < COPIES; made += 1) copies.push(await makeCopy());
/** What runs without a mutant: file of tests -> its time and the mutants that it reaches. */
const tests = new Map();

const known = new Set(mutants.map(testOf).filter((file) => file !== undefined));
await each([...known], measure);
await each(mutants, async (mutant, copy) => {
  const file = testOf(mutant);
  if (tests.has(file)) await tryOne(mutant, copy, [[file]]);
  else mutant.verdict = undefined;
});
const open = mutants.filter(({ verdict }) => verdict !== 'caught');
if (open.length > 0) {
  const all = PROJECTS.flatMap((name) => filesIn(copies[0], `test/${name}`, '.test.ts'));
  await each(
    all.filter((file) => !known.has(file)),
    measure,
  );
  say(`left out, since they fail without a mutant: ${all.filter((file) => !tests.has(file)).join(', ') || 'none'}`);
  await each(open, (mutant, copy) => tryOne(mutant, copy, toRuns(mutant)));
}
const survivors = mutants.filter(({ verdict }) => verdict === 'survived');
const caught = PROJECTS.map((name) => `${mutants.filter(({ by }) => by?.includes(`test/${name}/`)).length} by ${name}`);
say(
  `\n${mutants.length - survivors.length} caught (${caught.join(', ')}), ${survivors.length} survived: ${values.report}`,
);
for (const survivor of survivors) say(`${describe(survivor)}\n    ${survivor.source}`);
process.exit();

function choose() {
  const files = MUTATED.flatMap((room) => filesIn(ROOT, room, '.ts'));
  const candidates = files.flatMap((file) => listMutants(read(file)).map((mutant) => ({ file, ...mutant })));
  const chosen = [];
  for (const mutant of shuffle(candidates, seed)) {
    if (chosen.length < count && isPossible(read(mutant.file), mutant)) chosen.push(mutant);
  }
  return chosen;
}

function filesIn(root, folder, ending) {
  const names = readdirSync(path.join(root, folder), { recursive: true });
  return names
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`)
    .sort();
}

function readReport() {
  const { mutants: all } = JSON.parse(readFileSync(values.only, 'utf8'));
  const wanted = all.filter(({ verdict }) => !values.survivors || verdict !== 'caught');
  const [possible, gone] = [true, false].map((is) => wanted.filter((one) => isPossible(read(one.file), one) === is));
  for (const mutant of gone) say(`left out, since the code has changed: ${describe(mutant)}`);
  return possible;
}

function read(file) {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

/** A built copy of the project, with all mutants. */
async function makeCopy() {
  const copy = mkdtempSync(path.join(tmpdir(), 'd2s-mutants-'));
  // Some tests start the program as another user.
  chmodSync(copy, 0o755);
  for (const name of readdirSync(ROOT)) {
    if (NOT_COPIED.test(name)) continue;
    cpSync(path.join(name === 'test' ? values.tests : ROOT, name), path.join(copy, name), { recursive: true });
  }
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'));
  writeFileSync(path.join(copy, 'is-on.mjs'), toSwitchModule(copy));
  for (const file of new Set(mutants.map((mutant) => mutant.file))) {
    const text = withSwitches(
      read(file),
      mutants.filter((mutant) => mutant.file === file),
    );
    const module = path.relative(path.dirname(file), 'is-on.mjs');
    // On the same line: line numbers stay.
    writeFileSync(path.join(copy, file), `import { isOn } from '${module}'; ${text}`);
  }
  switchOn(copy, '');
  const { code, output } = await run(copy, ['npm', 'run', 'build', '--silent']);
  if (code !== 0) throw new Error(`the build fails without a mutant: ${output}`);
  return copy;
}

/** `number` is on in processes that start from now on; with an empty one, they write down which mutants they reach. */
function switchOn(copy, number) {
  writeFileSync(path.join(copy, 'mutant-on'), String(number));
  writeFileSync(path.join(copy, 'mutants-reached'), '');
  chmodSync(path.join(copy, 'mutants-reached'), 0o666);
}

/** Each item once, in the copy that is free. */
async function each(items, use) {
  const queue = items.values();
  const work = async (copy) => {
    for (const item of queue) await use(item, copy);
  };
  await Promise.all(copies.map(work));
}

/** Runs a file of tests without a mutant; twice if it fails at first. */
async function measure(file, copy) {
  for (let attempt = 0; attempt < 2 && !tests.has(file); attempt += 1) {
    switchOn(copy, '');
    const { code, ms } = await run(copy, toCommand([file]));
    const reached = readFileSync(path.join(copy, 'mutants-reached'), 'utf8').split('\n');
    if (code === 0) tests.set(file, { ms, reached: new Set(reached.filter(Boolean).map(Number)) });
  }
  if (!tests.has(file)) say(`${file} fails without a mutant`);
}

/** The runs of a mutant: what of test/unit reaches it, and parts of test/system, the quickest first. */
function toRuns({ number }) {
  const reaching = [...tests].filter(([, { reached }]) => reached.has(number)).sort(([, a], [, b]) => a.ms - b.ms);
  const [unit, system] = PROJECTS.map((name) =>
    reaching.map(([file]) => file).filter((file) => file.startsWith(`test/${name}/`)),
  );
  const runs = unit.length === 0 ? [] : [unit];
  for (let from = 0; from < system.length; from += SYSTEM_FILES) runs.push(system.slice(from, from + SYSTEM_FILES));
  return runs;
}

/** Adds to a mutant its verdict (`caught`, `survived`), the test that caught it, the time, and how many files reach it. */
async function tryOne(mutant, copy, runs) {
  const begun = Date.now();
  switchOn(copy, mutant.number);
  mutant.by = undefined;
  for (const files of runs) mutant.by ??= await failureOf(copy, files);
  mutant.verdict = mutant.by === undefined ? 'survived' : 'caught';
  Object.assign(mutant, { ms: Date.now() - begun, files: runs.flat().length });
  const done = mutants.filter(({ verdict }) => verdict !== undefined).length;
  say(`${done}/${mutants.length} ${mutant.verdict}, ${Math.round(mutant.ms / 1_000)} s: ${describe(mutant)}`);
  mkdirSync(path.dirname(values.report), { recursive: true });
  writeFileSync(values.report, `${JSON.stringify({ seed, mutants }, undefined, 2)}\n`);
}

/** The first test of these files that fails, and fails again when its file runs alone; undefined if none. */
async function failureOf(copy, files) {
  for (let rest = files; rest.length > 0; ) {
    const { code, by } = await run(copy, toCommand(rest), toLimit(rest));
    const failed = testOf({ by });
    if (code === 0) return undefined;
    if (failed === undefined || (await run(copy, toCommand([failed]), toLimit([failed]))).code !== 0) return by;
    rest = rest.filter((file) => file !== failed);
  }
  return undefined;
}

function toCommand(files) {
  const [, project] = files[0].split('/');
  return [process.execPath, 'node_modules/vitest/vitest.mjs', '--run', '--project', project, '--bail', '1', ...files];
}

/** The quickest file shows how long vitest takes to start. */
function toLimit(files) {
  const start = Math.min(...[...tests.values()].map(({ ms }) => ms));
  const work = files.reduce((sum, file) => sum + tests.get(file).ms - start, 0);
  return SLOWER * (start + work / AT_ONCE) + SPARE_MS;
}

/** Runs a command in a copy. `by` is the first test that failed, or `time limit`. */
async function run(cwd, command, limitMs) {
  const [program, ...args] = [...(values.through?.split(' ') ?? []), ...command];
  const env = { ...process.env, NO_COLOR: '1' };
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let [output, late, limit, begun] = ['', false, undefined, Date.now()];
  const end = () => {
    late = true;
    endGroup(child);
  };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  // The other program may wait for its turn, so the time counts from the first output.
  child.stdout.once('data', () => {
    begun = Date.now();
    if (limitMs !== undefined) limit = setTimeout(end, limitMs);
  });
  child.once('exit', () => endGroup(child));
  const code = await new Promise((resolve) => child.once('close', (status) => resolve(status ?? 1)));
  clearTimeout(limit);
  running.delete(child);
  const [, failed = 'no test, but its command failed'] = / FAIL +(.*)/.exec(output) ?? [];
  return { code, ms: Date.now() - begun, output, by: late ? 'time limit' : failed };
}

/** Ends a command and all that it has started: they are one process group. */
function endGroup(child) {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** The file of tests that caught a mutant. */
function testOf({ by }) {
  return /test\/\S+\.test\.ts/.exec(by ?? '')?.[0];
}

function describe({ file, line, was, is, by }) {
  const short = (text) => text.replace(/\s+/g, ' ').trim().slice(0, 60);
  return `${file}:${line} ${short(was)} -> ${short(is)}${by === undefined ? '' : ` (${by})`}`;
}
