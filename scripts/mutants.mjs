#!/usr/bin/env node
/**
 * Breaks the code in one place at a time, and lists the places where no test notices.
 *
 * `npm run mutants -- [--seed 1] [--count 200] [--report FILE] [--only FILE]`
 *
 * `--seed` repeats a choice. `--only` runs the mutants of a report again, each first with the test that caught it.
 *
 * All mutants are in the code, each with a switch, so that the project is built only once. First each file of test/unit
 * and test/system runs alone without a mutant, which tells its time and the mutants that it reaches; a file that fails is
 * left out. In test/unit, and then in test/system, each mutant meets the FEW files that reach it and the fewest others.
 * Those that survive meet all files that reach them, in groups: if a file fails, it meets each half of the group, down to
 * a single mutant. What fails with a single one runs again alone, except for test/unit, since a busy machine may be the
 * reason. A run that takes three times as long as expected counts as a failure. Two copies of the project work side by
 * side. The report is written after each verdict.
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
const FEW = 3;
/** Mutants that are on together, and files in a run with them. */
const GROUP = 8;
const FILES = 16;
const AT_ONCE = 2;
const SLOWER = 3;
const SPARE_MS = 30_000;
const EXIT_USAGE = 64;

/** The module of the switches in a copy: each process reads which mutants are on, or says once which ones it reaches. */
const toSwitchModule = (folder) => `
import { appendFileSync, readFileSync } from 'node:fs';
const on = new Set(JSON.parse(readFileSync(${JSON.stringify(path.join(folder, 'mutants-on'))}, 'utf8')));
const reached = new Set();
export function isOn(number) {
  if (on.size > 0) return on.has(number);
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
    only: { type: 'string' },
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
  mutant.by = undefined;
  if (tests.has(file)) await meet(copy, [file], [mutant]);
});
if (open().length > 0) {
  const all = PROJECTS.flatMap((name) => filesIn(copies[0], `test/${name}`, '.test.ts'));
  const others = all.filter((file) => !known.has(file));
  await each(others, measure);
  for (const project of PROJECTS) {
    say(`${open().length} mutants are left for test/${project}`);
    await each(open(), (mutant, copy) => meet(copy, reaching([mutant], project).slice(0, FEW), [mutant]));
    const files = new Map(open().map((mutant) => [mutant, reaching([mutant], project).length]));
    // Neighbours meet about the same files.
    const inOrder = open().toSorted((a, b) => files.get(a) - files.get(b));
    await each(inParts(inOrder, GROUP), async (group, copy) => {
      for (const part of inParts(reaching(group, project), FILES)) await meet(copy, part, group.filter(isOpen));
    });
  }
  for (const mutant of open()) finish(mutant, 'survived');
}
const survivors = mutants.filter(({ verdict }) => verdict === 'survived');
const caught = PROJECTS.map((name) => `${mutants.filter(({ by }) => by?.includes(`test/${name}/`)).length} by ${name}`);
say(`\n${mutants.length - survivors.length} caught (${caught.join(', ')}), ${survivors.length} survived`);
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
  const names = readdirSync(path.join(root, folder), { recursive: true }).filter((name) => name.endsWith(ending));
  return names.sort().map((name) => `${folder}/${name}`);
}

function readReport() {
  const { mutants: all } = JSON.parse(readFileSync(values.only, 'utf8'));
  const [possible, gone] = [true, false].map((is) => all.filter((one) => isPossible(read(one.file), one) === is));
  for (const mutant of gone) say(`left out, since the code has changed: ${describe(mutant)}`);
  return possible.map((mutant) => ({ ...mutant, verdict: undefined }));
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
    cpSync(path.join(ROOT, name), path.join(copy, name), { recursive: true });
  }
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'));
  writeFileSync(path.join(copy, 'is-on.mjs'), toSwitchModule(copy));
  for (const file of new Set(mutants.map((mutant) => mutant.file))) {
    const own = mutants.filter((mutant) => mutant.file === file);
    const module = path.relative(path.dirname(file), 'is-on.mjs');
    // On the same line: line numbers stay.
    writeFileSync(path.join(copy, file), `import { isOn } from '${module}'; ${withSwitches(read(file), own)}`);
  }
  switchOn(copy, []);
  const { code, output } = await run(copy, ['npm', 'run', 'build', '--silent']);
  if (code !== 0) throw new Error(`the build fails without a mutant: ${output}`);
  return copy;
}

/** These are on in processes that start from now on; if there are none, processes write down which ones they reach. */
function switchOn(copy, group) {
  writeFileSync(path.join(copy, 'mutants-on'), JSON.stringify(group.map(({ number }) => number)));
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
    switchOn(copy, []);
    const { code, ms } = await run(copy, toCommand([file]));
    const reached = readFileSync(path.join(copy, 'mutants-reached'), 'utf8').split('\n');
    if (code === 0) tests.set(file, { ms, reached: new Set(reached.filter(Boolean).map(Number)) });
  }
  if (!tests.has(file)) say(`left out: ${file} fails without a mutant`);
}

/** The files of a project that reach a mutant of the group; first those that reach the fewest mutants. */
function reaching(group, project) {
  const found = [...tests].filter(([file, { reached }]) => {
    return file.startsWith(`test/${project}/`) && group.some(({ number }) => reached.has(number));
  });
  return found.sort(([, a], [, b]) => a.reached.size - b.reached.size).map(([file]) => file);
}

/** Runs the files with the whole group on, and finds those of the group that they catch. */
async function meet(copy, files, group) {
  if (files.length === 0 || group.length === 0) return;
  switchOn(copy, group);
  const { code, failed, by } = await run(copy, toCommand(files, group.length > 1), toLimit(files));
  if (code === 0) return;
  if (group.length > 1) {
    for (const some of failed.length === 0 ? [files] : failed.map((file) => [file])) {
      const able = group.filter(({ number }) => some.some((file) => tests.get(file).reached.has(number)));
      for (const part of inParts(able, Math.ceil(group.length / 2))) await meet(copy, some, part.filter(isOpen));
    }
    return;
  }
  const [first] = failed;
  const again = first === undefined ? files : [first];
  const isFirm = first?.includes('/unit/') || (await run(copy, toCommand(again), toLimit(again))).code !== 0;
  const others = files.filter((file) => !again.includes(file));
  if (isFirm) finish(group[0], 'caught', by);
  else await meet(copy, others, group);
}

/** Adds to a mutant its verdict, and the test that caught it. */
function finish(mutant, verdict, by) {
  Object.assign(mutant, { verdict, by, files: PROJECTS.map((name) => reaching([mutant], name).length) });
  say(`${mutants.length - open().length}/${mutants.length} ${verdict}: ${describe(mutant)}`);
  mkdirSync(path.dirname(values.report), { recursive: true });
  writeFileSync(values.report, `${JSON.stringify({ seed, mutants }, undefined, 2)}\n`);
}

function isOpen({ verdict }) {
  return verdict === undefined;
}

function open() {
  return mutants.filter(isOpen);
}

function inParts(items, size) {
  const parts = [];
  for (let from = 0; from < items.length; from += size) parts.push(items.slice(from, from + size));
  return parts;
}

function toCommand(files, isToEnd = false) {
  const options = ['--run', '--project', files[0].split('/')[1], ...(isToEnd ? [] : ['--bail', '1'])];
  return [process.execPath, 'node_modules/vitest/vitest.mjs', ...options, ...files];
}

/** The quickest file shows how long vitest takes to start. */
function toLimit(files) {
  const start = Math.min(...[...tests.values()].map(({ ms }) => ms));
  const work = files.reduce((sum, file) => sum + tests.get(file).ms - start, 0);
  return SLOWER * (start + work / AT_ONCE) + SPARE_MS;
}

/** Runs a command in a copy. `failed` are the files of tests that failed, and `by` is the first test, or `time limit`. */
async function run(cwd, command, limitMs) {
  const [program, ...args] = command;
  const env = { ...process.env, NO_COLOR: '1' };
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  const begun = Date.now();
  let [output, late] = ['', false];
  const end = () => {
    late = true;
    endGroup(child);
  };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const limit = limitMs === undefined ? undefined : setTimeout(end, limitMs);
  child.once('exit', () => endGroup(child));
  const code = await new Promise((resolve) => child.once('close', (status) => resolve(status ?? 1)));
  clearTimeout(limit);
  running.delete(child);
  const failures = late ? [] : [...output.matchAll(/ FAIL +(.*)/g)].map(([, test]) => test);
  const by = late ? 'time limit' : (failures[0] ?? 'no test, but its command failed');
  const failed = [...new Set(failures.map((test) => testOf({ by: test })))].filter((file) => file !== undefined);
  return { code, ms: Date.now() - begun, output, failed, by };
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
