#!/usr/bin/env node
/**
 * Breaks the code in one place at a time, and lists the places where no test notices.
 *
 * `npm run mutants -- [--seed 1] [--count 200] [--report FILE] [--tests DIR] [--only FILE [--survivors]]`
 *
 * `--seed` repeats a choice. `--tests` takes test/ from another checkout. `--only` runs the mutants of a report again,
 * with `--survivors` only those that survived: do the tests of another checkout catch them?
 *
 * A mutant runs in a copy of the project: first `vitest related` in the unit tests, then, if it survived, the build and
 * the system tests in SYSTEM_TESTS. A run that takes three times as long as without a mutant counts as caught. A system
 * test that fails runs again alone, since a busy machine may be the reason; if it passes then, the others go on. A mutant
 * that does not build is replaced by another one. The report is written after each mutant. Exit code 1 if the tests
 * fail without a mutant. 200 mutants take many hours.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { parseAst } from 'rolldown/parseAst';

const ROOT = path.resolve(import.meta.dirname, '..');
const NOT_COPIED = new Set([
  '.git',
  'node_modules',
  'build',
  'coverage',
  'dist',
  'dist-bench',
  'dist-chaos',
  'dist-abuse',
]);

/** What is mutated -> the parts of paths in test/system that run it. */
const SYSTEM_TESTS = {
  'src/proxy':
    'aborts data-path faults/ fuzz/ large-bodies limits/ proxy/ rolling-restart running-calls tls told-users wire/',
  'src/measure':
    'access-log comet consumers/ export/ fuzz/ learn limits/ monitor/ report restarts running-calls secrets state/',
  'src/metrics': 'consumers/ export/ live-page monitor/ report restarts sidecar/ state/',
  'src/monitor/access': 'config/ monitor/ reload secrets tls',
};

const SWAPPED = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '&&': ['||'],
  '||': ['&&'],
};
const REMOVED = new Set(['AssignmentExpression', 'AwaitExpression', 'CallExpression', 'UpdateExpression']);
const CONDITIONAL = new Set(['ConditionalExpression', 'DoWhileStatement', 'IfStatement', 'WhileStatement']);
/** These only wrap an expression; every other node of TypeScript is a type. */
const WRAPPERS = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSParameterProperty', 'TSSatisfiesExpression']);
const LOGS = new Set(['CallExpression', 'ExpressionStatement']);
const LOG_CALL = /^(?:\w+\.)*#?logger\??\.\w+\(/;

const VITEST = [process.execPath, 'node_modules/vitest/vitest.mjs'];
const SLOWER = 3;
const SPARE_MS = 30_000;
const EXIT_USAGE = 64;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '200' },
    report: { type: 'string', default: 'build/mutants.json' },
    tests: { type: 'string', default: ROOT },
    only: { type: 'string' },
    survivors: { type: 'boolean', default: false },
  },
});
const [seed, count] = [Number(values.seed), Number(values.count)];
if (!Number.isInteger(seed) || !Number.isInteger(count) || count < 1) {
  process.stderr.write('mutants: --seed and --count must be whole numbers\n');
  process.exit(EXIT_USAGE);
}

const say = (line) => void process.stdout.write(`${line}\n`);
const copy = mkdtempSync(path.join(tmpdir(), 'd2s-mutants-'));
let running;
process.once('exit', () => {
  endGroup(running);
  // Processes that are ending may still write.
  rmSync(copy, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

for (const name of readdirSync(ROOT)) {
  if (NOT_COPIED.has(name)) continue;
  cpSync(path.join(name === 'test' ? values.tests : ROOT, name), path.join(copy, name), { recursive: true });
}
symlinkSync(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'));
process.exit(await main());

async function main() {
  const candidates = values.only === undefined ? shuffle(listAll(), seed) : readReport(values.only);
  const wanted = values.only === undefined ? Math.min(count, candidates.length) : candidates.length;
  say(`${wanted} of ${candidates.length} mutants, seed ${seed}; first the tests without a mutant`);
  const limits = {};
  for (const step of ['unit', 'build', 'system']) {
    const { code, ms, output } = step === 'system' ? await runSystem() : await run(toCommand(step));
    if (code !== 0) {
      process.stderr.write(`${output}\nmutants: ${step} fails without a mutant\n`);
      return 1;
    }
    say(`${step}: ${toSeconds(ms)}`);
    limits[step] = SLOWER * ms + SPARE_MS;
  }
  const results = [];
  for (const mutant of candidates) {
    if (results.length === wanted) break;
    const result = { ...mutant, ...(await tryOne(mutant, limits)) };
    say(`${results.length + 1}/${wanted} ${result.verdict}, ${toSeconds(result.ms)}: ${describe(result)}`);
    if (result.verdict === 'invalid') continue;
    results.push(result);
    writeReport(results);
  }
  const survivors = results.filter(({ verdict }) => verdict === 'survived');
  say(`\n${results.length - survivors.length} caught, ${survivors.length} survived; report: ${values.report}`);
  for (const survivor of survivors) say(`${describe(survivor)}\n    ${survivor.source}`);
  return 0;
}

/** The verdict on a mutant (`caught`, `survived`, `invalid`), the test that caught it, and the time. */
async function tryOne({ file, start, end, was, is }, limits) {
  const target = path.join(copy, file);
  const text = readFileSync(target, 'utf8');
  const mutated = `${text.slice(0, start)}${is}${text.slice(end)}`;
  const begun = Date.now();
  const finish = (verdict, by) => ({ verdict, by, ms: Date.now() - begun });
  if (text.slice(start, end) !== was || !isValid(mutated)) return finish('invalid');
  try {
    writeFileSync(target, mutated);
    const unit = await run(toCommand('unit', file), limits.unit);
    if (unit.code !== 0) return finish('caught', unit.by);
    if ((await run(toCommand('build'), limits.build)).code !== 0) return finish('invalid');
    const system = await runSystem(file, limits.system);
    return system.code === 0 ? finish('survived') : finish('caught', system.by);
  } finally {
    writeFileSync(target, text);
  }
}

/** A test that fails runs again alone. If it passes then, the result is that of the others. */
async function runSystem(file, limitMs) {
  for (const passing = []; ; ) {
    const result = await run(toCommand('system', file, passing), limitMs);
    const [failed] = /test\/\S+\.test\.ts/.exec(result.by) ?? [];
    if (result.code === 0 || failed === undefined || passing.includes(failed)) return result;
    if ((await run([...VITEST, '--run', failed], limitMs)).code !== 0) return result;
    passing.push(failed);
  }
}

/** The command of a step for a mutated file, or for all files; `excluded` are files of tests. */
function toCommand(step, file, excluded = []) {
  if (step === 'build') return ['npm', 'run', 'build', '--silent'];
  const rooms = Object.keys(SYSTEM_TESTS).filter((room) => file === undefined || file.startsWith(`${room}/`));
  const filters = new Set(rooms.flatMap((room) => SYSTEM_TESTS[room].split(' ')));
  const options = ['--run', '--project', step, '--bail', '1', '--reporter', 'dot'];
  const excluding = excluded.map((name) => `--exclude=${name}`);
  if (step === 'system')
    return [...VITEST, ...[...filters].map((part) => `test/system/${part}`), ...options, ...excluding];
  return file === undefined ? [...VITEST, ...options] : [...VITEST, 'related', file, ...options];
}

/** Runs a command in the copy. `by` is the first test that failed, or `time limit`. */
async function run([program, ...args], limitMs) {
  const begun = Date.now();
  const env = { ...process.env, NO_COLOR: '1' };
  const child = spawn(program, args, { cwd: copy, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  running = child;
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  let late = false;
  const end = () => {
    late = true;
    endGroup(child);
  };
  const limit = limitMs === undefined ? undefined : setTimeout(end, limitMs);
  child.once('exit', () => endGroup(child));
  const code = await new Promise((resolve) => child.once('close', (status) => resolve(status ?? 1)));
  clearTimeout(limit);
  running = undefined;
  const [, failed = 'no test, but its command failed'] = / FAIL +(.*)/.exec(output) ?? [];
  return { code, ms: Date.now() - begun, output, by: late ? 'time limit' : failed };
}

/** Ends a command and all that it has started: they are one process group. */
function endGroup(child) {
  if (child?.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

function isValid(text) {
  try {
    parseAst(text, { lang: 'ts' });
    return true;
  } catch {
    return false;
  }
}

function listAll() {
  return Object.keys(SYSTEM_TESTS).flatMap((room) =>
    readdirSync(path.join(ROOT, room), { recursive: true })
      .filter((name) => name.endsWith('.ts'))
      .sort()
      .flatMap((name) => listMutants(`${room}/${name}`)),
  );
}

/** All mutants of a file: `was`, the text between `start` and `end`, becomes `is`. */
function listMutants(file) {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  const found = [];
  const textOf = ({ start, end }) => text.slice(start, end);
  const add = ({ start, end }, ...changes) => {
    const before = text.slice(0, start).split('\n');
    const source = text.split('\n')[before.length - 1].trim();
    const place = { file, line: before.length, start, end, was: text.slice(start, end), source };
    for (const is of changes) found.push({ ...place, is });
  };
  const visit = (node) => {
    if (typeof node.type !== 'string' || node.type === 'ImportDeclaration') return;
    if (node.type.startsWith('TS') && !WRAPPERS.has(node.type)) return;
    if (LOG_CALL.test(textOf(node)) && LOGS.has(node.type)) return;
    mutate(node);
    for (const child of Object.values(node).flat()) if (child !== null && typeof child === 'object') visit(child);
  };
  const mutate = (node) => {
    const { type, left, right, test, expression, argument, value } = node;
    if ((type === 'BinaryExpression' || type === 'LogicalExpression') && SWAPPED[node.operator] !== undefined) {
      const isText = node.operator === '+' && [left, right].some((side) => /^['"`]/.test(textOf(side)));
      const gap = { start: left.end, end: right.start };
      const change = (operator) => textOf(gap).replace(node.operator, operator);
      if (!isText) add(gap, ...SWAPPED[node.operator].map(change));
    }
    if (CONDITIONAL.has(type)) add(test, `!(${textOf(test)})`);
    const isRemovable = type === 'ExpressionStatement' && REMOVED.has(expression.type);
    if (isRemovable && expression.callee?.type !== 'Super') add(node, ';');
    if (type === 'ReturnStatement' && argument && textOf(argument) !== 'undefined') add(argument, 'undefined');
    if (type === 'ArrowFunctionExpression' && node.expression) add(node.body, 'undefined');
    if (type === 'Literal' && typeof value === 'boolean') add(node, String(!value));
    if (type === 'Literal' && typeof value === 'number') add(node, String(value + 1));
  };
  visit(parseAst(text, { lang: 'ts' }));
  return found;
}

/** Fisher and Yates, with mulberry32 as the source of chance. */
function shuffle(items, start) {
  let state = start;
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  for (let last = items.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [items[last], items[other]] = [items[other], items[last]];
  }
  return items;
}

function readReport(file) {
  const { mutants } = JSON.parse(readFileSync(file, 'utf8'));
  return mutants.filter(({ verdict }) => !values.survivors || verdict === 'survived');
}

function writeReport(mutants) {
  mkdirSync(path.dirname(values.report), { recursive: true });
  writeFileSync(values.report, `${JSON.stringify({ seed, mutants }, undefined, 2)}\n`);
}

function describe({ file, line, was, is, by }) {
  const short = (text) => text.replace(/\s+/g, ' ').trim().slice(0, 60);
  return `${file}:${line} ${short(was)} -> ${short(is)}${by === undefined ? '' : ` (${by})`}`;
}

function toSeconds(ms) {
  return `${(ms / 1_000).toFixed(1)} s`;
}
